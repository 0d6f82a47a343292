"""The lesson builder, on a tiny throw-away lesson with an exercise in a function and an answer at cell level."""

import importlib.util
import os
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from helpers.checks import EXERCISES
from helpers.checks.stubs import BuildError, learner_source

spec = importlib.util.spec_from_file_location("build", Path(__file__).parents[2] / "notebooks" / "build.py")
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)

FUNCTION = '''def rows_expected(prompt_length, emitted, window=None):
    """Rows."""
    ### BEGIN SOLUTION
    rows = prompt_length + max(emitted - 1, 0)
    return rows if window is None else min(rows, window)
    ### END SOLUTION'''
ANSWER = """### BEGIN SOLUTION
answer_05_1 = "b"  # 'a', 'b' or 'c'
### END SOLUTION"""


def lesson(folder, *cells, name="05_tiny.ipynb"):
    """A source notebook of code cells (strings) in `folder`/solutions; returns its path."""
    (folder / "solutions").mkdir(exist_ok=True)
    path = folder / "solutions" / name
    made = [new_code_cell(source, id=f"cell-{i}") for i, source in enumerate(cells)]
    nbformat.write(new_notebook(cells=[new_markdown_cell("# Tiny", id="title"), *made]), path)
    return path


def both(folder, name="05_tiny.ipynb"):
    return [nbformat.read(folder / part / name, as_version=4) for part in (".", "solutions")]


def shown(cell):
    return [out.get("text") or out["data"]["text/plain"] for out in cell.outputs]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course")
    imports = "from helpers.checks import check\nimport os, ipywidgets"
    widget = "print(rows_expected) if 0 else print('one'); print('two')\nipywidgets.IntSlider()"
    lesson(folder, imports, FUNCTION, 'check("rows_expected")', ANSWER, 'check("answer_05_1")', widget)
    assert build.main([], folder) == 0
    return folder


def test_learner_has_stubs_and_no_solution(built):
    learner, solved = both(built)
    assert learner.cells[2].source.endswith('    """Rows."""\n    raise NotImplementedError("your code here")')
    assert learner.cells[4].source == "answer_05_1 = None  # 'a', 'b' or 'c'"
    assert solved.cells[2].source == FUNCTION and [c.id for c in learner.cells] == [c.id for c in solved.cells]


def test_outputs_are_real(built):
    learner, solved = both(built)
    for name, cell in (("rows_expected", 3), ("answer_05_1", 5)):
        assert (
            shown(learner.cells[cell]) == ["0"] and "not attempted" in learner.cells[cell].outputs[0].data["text/html"]
        )
        assert shown(solved.cells[cell]) == [str(EXERCISES[name].points)]
    assert shown(solved.cells[6])[0] == "one\ntwo\n"  # one stream, however it arrived


def test_metadata_follows_from_the_registry(built):
    learner, solved = both(built)
    assert learner.cells[3].metadata == solved.cells[3].metadata
    grader = solved.cells[3].metadata.nbgrader
    assert grader == {
        "schema_version": 3, "grade_id": "rows_expected-check", "grade": True, "locked": True, "solution": False,
        "task": False, "points": EXERCISES["rows_expected"].points,
    }  # fmt: skip
    assert solved.cells[3].metadata.editable is False and solved.cells[3].metadata.deletable is False
    assert (
        solved.cells[2].metadata.tags == ["exercise"] and solved.cells[2].metadata.nbgrader.grade_id == "rows_expected"
    )
    assert solved.cells[4].metadata.nbgrader == {
        "schema_version": 3, "grade_id": "answer_05_1", "grade": False, "locked": False, "solution": True, "task": False,
    }  # fmt: skip


def test_rebuild_writes_the_same_bytes_and_leaves_the_users_progress_alone(built, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    before = [(built / part / "05_tiny.ipynb").read_bytes() for part in (".", "solutions")]
    assert build.main(["05"], built) == 0
    assert [(built / part / "05_tiny.ipynb").read_bytes() for part in (".", "solutions")] == before
    assert not (tmp_path / "data").exists() and "KV_CACHE_PROGRESS" not in os.environ


@pytest.mark.parametrize(
    ("which", "change", "message"),
    [
        (".", lambda nb: nb.cells[2].update(source="x = 1"), "learner's version: sources, ids or metadata differ"),
        (".", lambda nb: nb.cells[2].update(id="other"), "learner's version: sources, ids or metadata differ"),
        (
            ".",
            lambda nb: nb.cells[3].metadata.nbgrader.update(points=99),
            "learner's version: sources, ids or metadata",
        ),
        (".", lambda nb: nb.metadata.kernelspec.update(name="conda"), "learner's version: sources, ids or metadata"),
        ("solutions", lambda nb: nb.cells[3].metadata.nbgrader.update(points=99), "source: sources, ids or metadata"),
        (
            "solutions",
            lambda nb: nb.cells[0].update(source="# New"),
            "learner's version: sources, ids or metadata differ",
        ),
        ("solutions", lambda nb: nb.cells[1].update(execution_count=None), "source: never executed: cell-0"),
        (".", lambda nb: nb.cells[1].update(execution_count=None), "learner's version: never executed: cell-0"),
    ],
)
def test_check_finds_what_is_stale(built, which, change, message, capsys):
    path = built / which / "05_tiny.ipynb"
    kept = path.read_bytes()
    assert build.main(["--check"], built) == 0
    notebook = nbformat.read(path, as_version=4)
    change(notebook)
    nbformat.write(notebook, path)
    try:
        assert build.main(["--check"], built) == 1
        assert message in capsys.readouterr().err
    finally:
        path.write_bytes(kept)


def test_check_finds_missing_and_orphaned_notebooks(tmp_path, capsys):
    lesson(tmp_path, "1 + 1")
    nbformat.write(new_notebook(), tmp_path / "07_gone.ipynb")
    assert build.main(["--check"], tmp_path) == 1
    err = capsys.readouterr().err
    assert "05_tiny.ipynb: has no learner's version" in err and "07_gone.ipynb: has no source" in err


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1 + 1", "1 / 0"], "05_tiny.ipynb: cell 2 (cell-1) raised ZeroDivisionError: division by zero"),
        (['check("no_such_name")'], "cell 1 (cell-0): there is no exercise 'no_such_name'"),
        (["### BEGIN SOLUTION\nx = 1"], "cell 1 (cell-0): 'BEGIN SOLUTION' without its counterpart"),
        (
            ["### BEGIN SOLUTION\nprint(1)\n### END SOLUTION"],
            "cell 1 (cell-0): a solution at cell level assigns no name",
        ),
        (
            ["class A:\n    ### BEGIN SOLUTION\n    x = 1\n    ### END SOLUTION"],
            "cell 1 (cell-0): a solution stands directly",
        ),
        ([FUNCTION, FUNCTION], "rows_expected: more than one cell"),
    ],
)
def test_errors_name_notebook_and_cell_and_write_nothing(tmp_path, cells, message, capsys):
    before = lesson(tmp_path, *cells).read_bytes()
    assert build.main([], tmp_path) == 1
    err = capsys.readouterr().err
    assert message in err and "05_tiny.ipynb" in err
    assert not (tmp_path / "05_tiny.ipynb").exists()
    assert (tmp_path / "solutions" / "05_tiny.ipynb").read_bytes() == before


def test_unknown_name_is_an_error(tmp_path, capsys):
    lesson(tmp_path, "1 + 1")
    assert build.main(["99"], tmp_path) == 1
    assert "no notebook in solutions/ begins with '99'" in capsys.readouterr().err


def test_methods_of_a_class_get_one_stub_each():
    source = "class Cache:\n    def a(self):\n        ### BEGIN SOLUTION\n        return 1\n        ### END SOLUTION\n\n    def b(self):\n        ### BEGIN SOLUTION\n        return 2\n        ### END SOLUTION"
    expected = 'class Cache:\n    def a(self):\n        raise NotImplementedError("your code here")\n\n    def b(self):\n        raise NotImplementedError("your code here")'
    assert learner_source(source) == expected


def test_cell_level_stub_covers_every_name():
    source = "### BEGIN SOLUTION\na, b = 1, 2\ndef f():\n    return 3\n### END SOLUTION\nprint(a)"
    assert learner_source(source) == "a = None\nb = None\nf = None\nprint(a)"


def test_a_cell_level_stub_keeps_the_comment_whatever_is_in_it():
    source = "### BEGIN SOLUTION\na = '#'  # the learner's number, not \"#\"\nb = '# none'\n### END SOLUTION"
    assert learner_source(source) == 'a = None  # the learner\'s number, not "#"\nb = None'


def test_stray_end_marker_is_an_error():
    with pytest.raises(BuildError, match="'END SOLUTION' without its counterpart"):
        learner_source("x = 1\n### END SOLUTION")
