"""The HTML edition: the solved lessons as a website. `python -m helpers html` is its command line.

`build` makes it, and runs as a program of its own in a Python that has the extra `html`; `links` follows every link and
needs the standard library only. From outside: `build.build`, `links.report`.
"""
