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
parts = ("helpers/ledger/__init__.py", "kvaudit/__init__.py")
sys.path[:] = [p for p in sys.path if not p or not any((Path(p) / part).exists() for part in parts)]
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in getattr(f, "__module__", "")]
"""
TELL = """
import helpers, subprocess
from importlib.util import find_spec
print(Path(helpers.__file__).resolve())
print(Path(find_spec("kvaudit").origin).resolve())
print(subprocess.check_output([sys.executable, "-c", "import sys; print(sys.path)"], text=True))
"""


def places(root):
    """Where both packages are in the clone `root`."""
    return [str(root / "helpers" / "__init__.py"), str(root / "kvaudit" / "src" / "kvaudit" / "__init__.py")]


def run(folder, cell):
    """What a Python without the course says where it runs `cell` in `folder`, which it has on its path as a kernel has."""
    done = subprocess.run([sys.executable, "-c", UNINSTALL + cell + TELL], cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_without_it_the_course_is_not_found(tmp_path):
    assert "ModuleNotFoundError: No module named 'helpers'" in run(tmp_path, "from pathlib import Path\n")


@pytest.mark.parametrize("folder", ["notebooks", "notebooks/solutions", "tests/browser"])
def test_it_finds_the_course_in_a_folder_above(folder):
    said = run(ROOT / folder, CELL)
    assert said.splitlines()[:2] == places(ROOT), said


def test_it_finds_the_library_from_the_clones_own_folder_too():
    """There `helpers` is found without the cell, and of `kvaudit` its project folder."""
    assert "TypeError" in run(ROOT, "from pathlib import Path\n")
    assert run(ROOT, CELL).splitlines()[:2] == places(ROOT)


def test_it_clones_the_course_where_there_is_none_and_once_only(tmp_path):
    if not (ROOT / ".git").exists():
        pytest.skip("not a git clone")
    cell = CELL.replace("ADDRESS", ROOT.as_uri())
    for _ in range(2):
        said = run(tmp_path, cell)
        clone = tmp_path / "kv-cache-by-hand"
        assert said.splitlines()[:2] == places(clone), said
        path = said.splitlines()[2]  # a process of the lesson finds them too
        assert repr(str(clone)) in path and repr(str(clone / "kvaudit" / "src")) in path


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
