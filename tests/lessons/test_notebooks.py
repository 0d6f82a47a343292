"""The stored lessons: fresh, really executed, unsolved in one version and solved in the other, and clean. Runs no kernel."""

import importlib.util
import re
import sys
from pathlib import Path

import nbformat
import pytest

from helpers.checks import EXERCISES
from helpers.checks.stubs import CHECK
from helpers.figures import MASK

ROOT = Path(__file__).parents[2]
LESSONS = sorted(path.name for path in (ROOT / "notebooks" / "solutions").glob("*.ipynb"))
VERSIONS = ("notebooks", "notebooks/solutions")
SKIPS = {"nbval-skip", "nbval-ignore-output", "skip-execution"}
COMPARED = 20  # cells of a lesson whose output nbval really compares

spec = importlib.util.spec_from_file_location("build", ROOT / "notebooks" / "build.py")
build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(build)

every_lesson = pytest.mark.parametrize("name", LESSONS)
both_versions = pytest.mark.parametrize("version", VERSIONS)


def read(version, name):
    return nbformat.read(ROOT / version / name, as_version=4)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def is_compared(cell):
    """Whether strict nbval fails when this cell's output changes."""
    ignored = SKIPS & set(cell.metadata.get("tags", [])) or re.search(r"#\s*NBVAL_(SKIP|IGNORE)", cell.source)
    return bool(cell.execution_count and cell.outputs and not ignored)


def check_outputs(notebook):
    """Exercise name -> (the number that a grader reads, the words that people read) of each check cell."""
    found = {}
    for cell in code(notebook):
        asked = CHECK.search(cell.source)
        if asked:
            (output,) = cell.outputs
            found[asked["name"]] = float(output.data["text/plain"]), output.data["text/html"]
    return found


def test_there_are_lessons():
    assert LESSONS


def test_notebooks_are_what_their_sources_say():
    assert build.check([]) == []


@every_lesson
@both_versions
def test_every_cell_was_executed_in_order_and_enough_are_compared(version, name):
    cells = code(read(version, name))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(map(is_compared, cells)) >= COMPARED


@every_lesson
@both_versions
def test_nothing_was_written_to_stderr(version, name):
    """A grader gives no points to a cell that wrote there, and a learner wonders."""
    streams = [out.name for cell in code(read(version, name)) for out in cell.outputs if out.output_type == "stream"]
    assert set(streams) <= {"stdout"}


@every_lesson
def test_unsolved_is_not_attempted_everywhere(name):
    results = check_outputs(read("notebooks", name))
    assert results
    assert {name: points for name, (points, _) in results.items() if points} == {}
    assert [name for name, (_, words) in results.items() if "not attempted" not in words] == []


@every_lesson
def test_solved_has_full_points_everywhere(name):
    solved = {exercise: points for exercise, (points, _) in check_outputs(read("notebooks/solutions", name)).items()}
    assert solved == {exercise: EXERCISES[exercise].points for exercise in solved} != {}


@every_lesson
def test_every_exercise_of_the_lesson_is_checked_in_it(name):
    of_the_lesson = {exercise.name for exercise in EXERCISES.values() if exercise.lesson == name[:2]}
    assert set(check_outputs(read("notebooks", name))) == of_the_lesson


@every_lesson
def test_learners_see_no_solution(name):
    text = (ROOT / "notebooks" / name).read_text(encoding="utf-8")
    assert "BEGIN SOLUTION" not in text and "END SOLUTION" not in text


@every_lesson
@both_versions
def test_no_path_or_address_of_the_machine_that_built_it(version, name):
    text = (ROOT / version / name).read_text(encoding="utf-8")
    places = "|".join(re.escape(place) for place in (str(ROOT), sys.prefix, "/home/", "/root/", "/tmp/", "/Users/"))
    found = re.findall(rf"{places}|[A-Z]:\\\\\w+|\bat 0x[0-9a-f]{{6,}}", text)
    assert found == []


@every_lesson
@both_versions
def test_figures_behind_the_sign_are_all_masked(version, name):
    """Each `≈` in an output stands before a number in the printed form; nbval would compare any other one as it is."""
    for cell in code(read(version, name)):
        for out in cell.outputs:
            text = out.get("text", "") + "".join(
                out.get("data", {}).get(kind, "") for kind in ("text/plain", "text/html")
            )
            assert text.count("≈ ") == len(MASK.findall(text)), cell.id


@every_lesson
@both_versions
def test_cells_are_short_and_begin_with_a_heading(version, name):
    notebook = read(version, name)
    assert notebook.cells[0].cell_type == "markdown" and notebook.cells[0].source.startswith("# ")
    long = [cell.id for cell in code(notebook) if len(cell.source.splitlines()) > 30]
    assert long == []


@pytest.mark.parametrize(
    ("change", "counted"),
    [
        ({}, True),
        ({"execution_count": None}, False),
        ({"outputs": []}, False),
        ({"source": "# NBVAL_IGNORE_OUTPUT\n1"}, False),
        ({"metadata": {"tags": ["nbval-skip"]}}, False),
    ],
)
def test_what_counts_as_compared(change, counted):
    output = nbformat.v4.new_output("stream", text="1")
    cell = nbformat.v4.new_code_cell("print(1)", execution_count=1, outputs=[output])
    cell.update(nbformat.from_dict(change))
    assert is_compared(cell) is counted
