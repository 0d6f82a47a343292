"""The pictures of the lessons: each says its finding in its title and has its numbers as a table under it.

From outside: the names below for lines, traces and masks, the modules `heads`, `speed` and `bench` for those subjects.
"""

from . import heads, speed
from .curves import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    RED,
    Plot,
    canvas,
    kv_work,
    lines,
    masks,
    trace,
    visible_ranges,
)
from .speed import Table

__all__ = [
    "BLACK",
    "BLUE",
    "GREEN",
    "ORANGE",
    "RED",
    "Plot",
    "Table",
    "canvas",
    "heads",
    "kv_work",
    "lines",
    "masks",
    "speed",
    "trace",
    "visible_ranges",
]
