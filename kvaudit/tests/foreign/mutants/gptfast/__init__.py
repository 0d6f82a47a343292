"""Mistakes in the decoder after gpt-fast."""
