"""One printed form for every figure that moves from machine to machine: rounding differences, times, memory, speed-ups.

Such a figure has a leading `≈`. The notebook test masks `≈`, its number and its unit, and no other number, so that a
changed real figure still fails.
"""

import math
import re

UNITS = (
    "ns",
    "µs",
    "ms",
    "s",
    "kB",
    "MB",
    "GB",
    "kiB",
    "MiB",
    "GiB",
    "GB/s",
    "GFLOP/s",
    "tokens/s",
    "ms/token",
    "×",
    "%",
)
LONGEST_FIRST = "|".join(re.escape(unit) for unit in sorted(UNITS, key=len, reverse=True))
MASK = re.compile(rf"≈ -?(?:\d+(?:,\d{{3}})*(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan)(?: (?:{LONGEST_FIRST})(?!\w))?")

# Masked in stored and fresh outputs alike before nbval compares them: name -> (pattern, what stands in its place).
MOVING = {
    "figures marked as machine-dependent": (MASK.pattern, "FIGURE"),
    "temporary file of a cell, as in warnings": (
        r"(/tmp/|[A-Za-z]:\\[^\s:]*\\|/var/folders/[^\s:]*/)ipykernel_\d+[/\\]\d+\.py:\d+",
        "CELL",
    ),
    "memory addresses": (r"0x[0-9a-fA-F]{8,16}", "ADDRESS"),
    "size of a figure": (r"<Figure size \d+x\d+ with (\d+) Axes>", r"<Figure with \1 Axes>"),
}


def approx(value, unit=""):
    """`value` to two significant digits behind a `≈`: `≈ 9.1e-07`, `≈ 12 ms`, `≈ 1,300 MB`.

    Raises ValueError for a unit that the notebook test would not mask.
    """
    if unit and unit not in UNITS:
        raise ValueError(
            f"unit {unit!r} is not among {', '.join(UNITS)}; add it to UNITS and to the notebook test's mask"
        )
    return f"≈ {two_digits(float(value))}" + (f" {unit}" if unit else "")


def two_digits(value):
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(float(f"{value:.1e}"))))  # of the rounded value: 99.6 is 100, one digit more
    if not -3 <= size < 6:
        return f"{value:.1e}"
    return f"{round(value, 1 - size):,.{max(1 - size, 0)}f}"
