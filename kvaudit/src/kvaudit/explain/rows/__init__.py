"""Rows: how many and which a decoder holds, beside those of a correct witness, and what the wrong ones are."""

from .counts import expect_rows
from .described import Forensics, Grid, Of, Wrong
from .look import compare_rows, forensics, why_silent

__all__ = ["Forensics", "Grid", "Of", "Wrong", "expect_rows", "forensics", "compare_rows", "why_silent"]
