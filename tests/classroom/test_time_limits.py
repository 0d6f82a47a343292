"""No cell and no notebook holds up the grading of a class: each has its time, and what was stopped is said."""

import time

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from helpers.checks import EXERCISES
from helpers.classroom import grading, preprocessors, steps
from helpers.classroom.course import CONFIG, SETTINGS, opened
from helpers.classroom.errors import ClassError
from helpers.classroom.preprocessors import RunToTheEnd, check_seconds

ENDLESS = "while True:\n    pass"


def grade_cell(name):
    cell = new_code_cell(f'check("{name}")')
    about = {"schema_version": 3, "grade_id": f"{name}-check", "grade": True, "solution": False, "task": False}
    cell.metadata["nbgrader"] = about | {"locked": True, "points": 3}
    return cell


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run cells under limits: (each code cell's text or error, seconds)."""
    monkeypatch.setattr(preprocessors, "SETUP", "--IPKernelApp.exec_lines=pass")  # nothing that takes time to import

    def run(*sources, **limits):
        cells = [new_markdown_cell("text"), *(new_code_cell(s) if isinstance(s, str) else s for s in sources)]
        start = time.monotonic()
        nb, _ = RunToTheEnd(**limits).preprocess(new_notebook(cells=cells), {"metadata": {"path": str(tmp_path)}})
        seconds = time.monotonic() - start
        return [out.get("text", out.get("evalue")) for cell in nb.cells[1:] for out in cell.outputs], seconds

    return run


def test_an_endless_cell_is_stopped_and_the_others_are_run(run):
    said, seconds = run("print(1)", ENDLESS, "print(2)", timeout=2, notebook_timeout=60)
    assert said == ["1\n", "not run: it was still running after 2 seconds", "2\n"]
    assert seconds < 30


def test_a_notebook_with_many_endless_cells_is_cut_and_what_was_run_counts(run):
    over = "not run: the notebook's 6 seconds were over"
    said, seconds = run("print(1)", *[ENDLESS] * 4, "print(2)", grade_cell("newest_row"), timeout=4, notebook_timeout=6)
    assert said == ["1\n", "not run: it was still running after 4 seconds", *[over] * 5]
    assert seconds < 30


def test_cells_that_each_keep_their_time_cannot_take_more_than_the_notebook_has(run):
    over = "not run: the notebook's 5 seconds were over"
    said, _ = run(*["import time; time.sleep(1.5); print(3)"] * 8, timeout=60, notebook_timeout=5)
    assert said[0] == "3\n" and said[-1] == over and set(said) == {"3\n", over}


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_a_check_has_more_time_than_it_can_take(exercise):
    cell, most = grade_cell(exercise.name), exercise.seconds * (1 if exercise.in_order else len(exercise.checks))
    step = RunToTheEnd()
    step.end = time.monotonic() + 10_000
    assert check_seconds(cell) == most and step.seconds(cell) == most + step.timeout > most


def test_only_a_check_has_the_time_of_one():
    step = RunToTheEnd(timeout=7)
    step.end = time.monotonic() + 10_000
    forged = new_code_cell("while True: pass")
    forged.metadata["nbgrader"] = {"grade_id": "newest_row-check", "grade": False, "solution": True}
    assert step.seconds(forged) == step.seconds(new_code_cell("x")) == step.seconds(grade_cell("unknown")) == 7


def test_the_teachers_settings_count(tmp_path):
    (tmp_path / SETTINGS).write_text(CONFIG.replace("# c.RunToTheEnd", "c.RunToTheEnd").replace("600", "900"))
    step = RunToTheEnd(config=opened(tmp_path)[0])
    assert (step.timeout, step.notebook_timeout) == (60, 900)


def test_what_was_stopped_stands_in_the_submissions_line(tmp_path, monkeypatch, capsys):
    log = "[W] cell 4 is not run: it was still running after 60 seconds; starting again without it\n"
    log += "[W] cell 9 is not run: the notebook's 600 seconds were over, as are all after it\n"

    def run(converter, course, lesson, student):
        if student == "bob":
            raise ClassError("no JSON")
        return log if converter is grading.Autograde else ""

    for student in ("ada", "bob"):
        (tmp_path / "submitted" / student / "00_x").mkdir(parents=True)
        (tmp_path / "submitted" / student / "00_x" / "00_x.ipynb").touch()
    monkeypatch.setattr(grading, "run", run)
    monkeypatch.setattr(grading, "forget", lambda *key: None)
    monkeypatch.setattr(steps, "scores_step", lambda options: None)
    assert steps.main(["grade", str(tmp_path)]) == 1
    ada, bob, _ = capsys.readouterr().out.splitlines()
    assert ada == (
        "00_x  ada  0 s; cell 4 is not run: it was still running after 60 seconds; "
        "cell 9 is not run: the notebook's 600 seconds were over"
    )
    assert bob == "00_x  bob  NOT READ: no JSON"
