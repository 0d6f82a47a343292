"""The first cell for other places: it finds the course above it or clones it, and installs nothing."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import lab

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "ELSEWHERE.md").read_text(encoding="utf-8")
CELL = re.search(r"```python\n(import importlib.*?)```", TEXT, re.DOTALL)[1]
UNINSTALL = """import sys
from pathlib import Path
sys.path[:] = [p for p in sys.path if not (Path(p) / "helpers" / "ledger").is_dir()]
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in getattr(f, "__module__", "")]
"""
TELL = """
import helpers, subprocess
print(Path(helpers.__file__).resolve())
print(subprocess.check_output([sys.executable, "-c", "import sys; print(sys.path)"], text=True))
"""


def run(folder, cell):
    """What a Python without the course says where it runs `cell` in `folder`."""
    done = subprocess.run([sys.executable, "-c", UNINSTALL + cell + TELL], cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_without_it_the_course_is_not_found(tmp_path):
    assert "ModuleNotFoundError: No module named 'helpers'" in run(tmp_path, "from pathlib import Path\n")


@pytest.mark.parametrize("folder", ["notebooks", "notebooks/solutions", "tests/browser"])
def test_it_finds_the_course_in_a_folder_above(folder):
    said = run(ROOT / folder, CELL)
    assert said.startswith(str(ROOT / "helpers" / "__init__.py")), said


def test_it_clones_the_course_where_there_is_none_and_once_only(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("not a git clone")
    cell = CELL.replace("ADDRESS", ROOT.as_uri())
    for _ in range(2):
        said = run(tmp_path, cell)
        assert said.startswith(str(tmp_path / "kv-cache-by-hand" / "helpers" / "__init__.py")), said
        assert str(tmp_path / "kv-cache-by-hand") in said.splitlines()[1]  # a process of the lesson finds it too


def test_a_panel_is_shown_by_the_older_widgets_too(monkeypatch):
    """Colab has ipywidgets 7, whose widgets know no `_repr_mimebundle_`."""
    import ipywidgets

    monkeypatch.delattr(ipywidgets.Widget, "_repr_mimebundle_")
    panel = lab.Panel("P", {"n": lab.Step("n", 0, 3)}, lambda n: lab.View(f"n is {n}", "<p>"), lambda: b"png")
    shown = panel._repr_mimebundle_(include=None, exclude=None)
    view = {"version_major": 2, "version_minor": 0, "model_id": panel.box.model_id}
    assert shown == {
        "text/plain": "P: n is 0",
        "image/png": "cG5n",
        "application/vnd.jupyter.widget-view+json": view,
    }
