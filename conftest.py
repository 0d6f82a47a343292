"""What pytest needs to know: which figures of a notebook may move, and that no test touches the user's progress."""

import os
import tempfile
from pathlib import Path

import pytest

from helpers.figures import MOVING
from helpers.progress import VARIABLE

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: a second thread costs small models more than it gives
os.environ.setdefault(
    "KV_CACHE_BENCH_SIZE", "tiny"
)  # lesson 07 times a model whose steps take no time; read by its kernel

pytest.register_assert_rewrite(
    "tests.checks.graders"
)  # a base class of tests; its failures show values as a test file's do

LONG = (  # begun first, so that no process is left with one of them when the others have nothing to do any more
    "test_audit.py",
    "test_diagnosis_unseen.py",
    "test_hf_reenact.py",
    "test_lesson06.py",
    "test_hf.py",
    "test_build.py",
    "test_html_edition.py",
    "test_reading_edition.py",
    ".ipynb",
    "browser",
)

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


def pytest_collection_modifyitems(items):
    def place(item):
        return next((i for i, part in enumerate(LONG) if part in item.nodeid.split("::")[0]), len(LONG))

    items.sort(key=place)  # stable: a file's tests and a lesson's cells stay in their order


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Every lesson begins with an empty progress folder, as it did when it was built: its board shows its own work alone."""
    if type(item).__name__ == "IPyNbCell" and item.parent is not begun.get("lesson"):
        begun["lesson"] = item.parent
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="kv-cache-by-hand-lesson-")  # its kernel inherits it
