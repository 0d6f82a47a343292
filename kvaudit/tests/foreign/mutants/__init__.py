"""Mistakes that are really made in such code, each a small override.

`seen` has those in what a token sees and where it stands, `kept` those in what is kept and what happens to it.
"""
