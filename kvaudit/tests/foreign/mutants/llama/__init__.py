"""Mistakes in the decoder after the LLaMA reference code."""
