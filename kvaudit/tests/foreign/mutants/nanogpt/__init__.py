"""Mistakes in the decoder after nanoGPT."""
