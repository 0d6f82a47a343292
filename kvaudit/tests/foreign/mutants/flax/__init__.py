"""Mistakes in the decoder after Flax and MLX."""
