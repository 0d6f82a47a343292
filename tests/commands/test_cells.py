"""The list of slow cells, on small notebooks that are really run."""

import os

import nbformat
import pytest

from helpers.commands import cells
from helpers.progress import VARIABLE

SLEEPS = "import time\ntime.sleep(0.4)"


@pytest.fixture
def lessons(tmp_path):
    """A folder of notebooks with one lesson in both versions."""
    (tmp_path / "solutions").mkdir()
    for folder, extra in ((tmp_path, []), (tmp_path / "solutions", ["1 + 1"])):
        sources = ["x = 1  # first", SLEEPS, *extra, f"import os; assert os.path.isdir(os.environ['{VARIABLE}'])"]
        cells = [nbformat.v4.new_code_cell(source, id=f"cell-{i}") for i, source in enumerate(sources)]
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("words", id="words"), *cells])
        nbformat.write(notebook, folder / "01_sleeps.ipynb")
    return tmp_path


def test_the_slowest_cell_comes_first_and_nothing_is_written(lessons, capsys):
    before = {path: path.read_bytes() for path in lessons.rglob("*.ipynb")}
    progress = os.environ.get(VARIABLE)
    assert cells.main(["01", "--top", "3"], lessons) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all("cell-1  import time" in line for line in lines[:2]) and "cell-1" not in lines[2]
    assert {"(solved)", "(unsolved)"} == {line.split()[3] for line in lines[:2]}
    assert any("01_sleeps.ipynb (unsolved), 3 cells" in line for line in lines)
    assert any("01_sleeps.ipynb (solved), 4 cells" in line for line in lines)
    assert {path: path.read_bytes() for path in lessons.rglob("*.ipynb")} == before
    assert os.environ.get(VARIABLE) == progress


def test_a_cell_that_raises_is_said(lessons, capsys):
    notebook = nbformat.read(lessons / "01_sleeps.ipynb", as_version=4)
    notebook.cells[1].source = "raise ValueError('broken on purpose')"
    nbformat.write(notebook, lessons / "01_sleeps.ipynb")
    assert cells.main(["--version", "unsolved"], lessons) == 1
    assert "01_sleeps.ipynb (unsolved): ValueError: broken on purpose" in capsys.readouterr().err


def test_an_unknown_lesson_is_refused_with_those_that_exist(lessons, capsys):
    assert cells.main(["77"], lessons) == 2
    assert "no lesson begins with '77'; there are 01_sleeps.ipynb" in capsys.readouterr().err


def test_the_listing_is_sorted_and_summed():
    times = [cells.CellTime("a", "solved", f"c{s}", s, "x = 1") for s in (1.0, 3.0, 2.0)]
    lines = cells.listing(times, top=2).splitlines()
    assert [line.split()[-4] for line in lines[:2]] == ["c3.0", "c2.0"]
    assert "    6.00 s  a (solved), 3 cells" in lines and lines[-1] == "    6.00 s  all"
