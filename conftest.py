"""What pytest needs to know: which figures of a notebook may move, and that no test touches the user's progress."""

import os
import tempfile
from pathlib import Path

import pytest

from helpers.figures import MASK
from helpers.progress import VARIABLE

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: a second thread costs small models more than it gives

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

begun = {}  # the lesson whose cells run now


def pytest_configure(config):
    folder = Path(tempfile.mkdtemp(prefix="kv-cache-by-hand-"))
    os.environ.setdefault(VARIABLE, str(folder / "progress"))
    if hasattr(config.option, "nbval_sanitize_with") and config.option.nbval_sanitize_with is None:
        file = folder / "sanitize.cfg"
        lines = (f"[{name}]\nregex: {pattern}\nreplace: {word}\n" for name, (pattern, word) in MOVING.items())
        # nbval reads the file in the locale's encoding, so it is ASCII: other characters are written as escapes
        file.write_text("".join(lines).encode("ascii", "backslashreplace").decode("ascii"), encoding="ascii")
        config.option.nbval_sanitize_with = str(file)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Every lesson begins with an empty progress folder, as it did when it was built: its board shows its own work alone."""
    if type(item).__name__ == "IPyNbCell" and item.parent is not begun.get("lesson"):
        begun["lesson"] = item.parent
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="kv-cache-by-hand-lesson-")  # its kernel inherits it
