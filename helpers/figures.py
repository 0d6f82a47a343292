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
