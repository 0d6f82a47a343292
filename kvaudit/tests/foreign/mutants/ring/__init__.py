"""Mistakes in the decoder after Mistral's reference code."""
