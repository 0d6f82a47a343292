"""The plan of the house: which way imports point, how long a module is, and what a lesson takes of the course.

The contracts stand in pyproject.toml; `lint-imports` in the clone's folder says the same. `python -m tests.house` prints
how many modules, floors and arrows there are.
"""

import ast
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from importlinter.cli import lint_imports

from tests import house

ROOT = Path(__file__).parents[1]
MODULES = sorted([*(ROOT / "helpers").rglob("*.py"), *(ROOT / "kvaudit" / "src").rglob("*.py")])
LESSONS = sorted((ROOT / "notebooks" / "solutions").glob("*.ipynb"))
LINES, IMPORTED = 200, 5
HEAVY = ("IPython", "ipywidgets", "jupyterlab", "matplotlib", "nbformat", "transformers")


def test_imports_point_one_way(capsys):
    assert lint_imports(str(ROOT / "pyproject.toml"), no_cache=True) == 0, capsys.readouterr().out


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_module_is_short(path):
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= LINES


def modules_named(source):
    """The modules of the course that the imports in `source` name; `from helpers import a, b` names two."""
    named = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module in ("helpers", "kvaudit"):
            named |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            named.add(node.module)
    return {name for name in named if name.partition(".")[0] in ("helpers", "kvaudit")}


def test_modules_are_counted():
    source = (
        "import torch, helpers.model as m\nfrom helpers import a, b\nfrom helpers.lab import x, y\nfrom os import path"
    )
    assert modules_named(source) == {"helpers.model", "helpers.a", "helpers.b", "helpers.lab"}


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_takes_few_modules(path):
    (cell,) = [
        c for c in nbformat.read(path, as_version=4).cells if c.id == ("why-notes" if path.name < "01" else "setup")
    ]
    assert 0 < len(modules_named(cell.source)) <= IMPORTED


def test_importing_a_wing_is_cheap():
    """Nothing that draws, shows or loads a model of the library comes along before it is needed."""
    code = (
        "import sys, helpers; early = 'torch' in sys.modules\n"
        "from helpers import audit, bench, checks, decoder, faults, lab, ledger, plots\n"
        f"print(early, [name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "False []", done.stdout + done.stderr


def test_floors_are_the_longest_chain():
    arrows = {"top": {"left", "right"}, "left": {"low"}, "right": set(), "low": {"again"}, "again": {"low"}}
    assert house.floors(arrows) == {"top": 3, "left": 2, "right": 1, "low": 1, "again": 1}
