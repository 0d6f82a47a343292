"""Mistakes in the decoder after transformers."""
