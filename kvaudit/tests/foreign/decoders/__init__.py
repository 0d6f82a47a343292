"""Correct decoders, one module each, with their references."""
