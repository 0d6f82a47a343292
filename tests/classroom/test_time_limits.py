"""No cell and no notebook holds up the grading of a class: each has its time, and what was stopped is said."""

import contextlib
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
    setup_kernel = RunToTheEnd.setup_kernel

    @contextlib.contextmanager
    def started(step, **options):
        """The notebook's time begins with its first kernel's, so that a busy machine changes nothing."""
        with setup_kernel(step, **options):
            if not step.stoppers:
                step.end = time.monotonic() + step.notebook_timeout
            yield

    monkeypatch.setattr(RunToTheEnd, "setup_kernel", started)

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
    """With the second try still on its way, too: a kernel may take longer to start than the notebook has left."""
    over, stopped = "not run: the notebook's 6 seconds were over", "not run: it was still running after 4 seconds"
    cells = ["print(1)", "x = 1", ENDLESS, *[ENDLESS] * 3, "print(2)", grade_cell("newest_row")]
    said, seconds = run(*cells, timeout=4, notebook_timeout=6)
    assert said == ["1\n", stopped, *[over] * 5]
    assert seconds < 30


@pytest.fixture
def over_in_try(monkeypatch):
    """Make a notebook's time over as soon as the try of a number, from 1, begins."""

    def set_up(number):
        start, tries = RunToTheEnd.setup_kernel, []

        def setup_kernel(step, **options):
            tries.append(step)
            step.end -= 100 if len(tries) == number else 0
            return start(step, **options)

        monkeypatch.setattr(RunToTheEnd, "setup_kernel", setup_kernel)

    return set_up


def test_what_an_earlier_try_ran_counts(run, over_in_try, caplog):
    over_in_try(2)
    said, _ = run("print(1)", "1 / 0", "x = 1", ENDLESS, "print(2)", timeout=2, notebook_timeout=60)
    over = "not run: the notebook's 60 seconds were over"
    assert said == ["1\n", "division by zero", "not run: it was still running after 2 seconds", over]
    assert f"cell 6 is {over}, as are all after it" in caplog.messages


def test_a_cell_that_ended_once_and_ended_the_kernel_later_does_not_count(run, over_in_try):
    over_in_try(3)
    turns = "import os\nif os.path.exists('once'):\n    os._exit(1)\nopen('once', 'w').close()\nprint(1)"
    said, _ = run(turns, ENDLESS, timeout=2, notebook_timeout=60)
    assert said == ["not run: it ended the kernel", "not run: it was still running after 2 seconds"]


def test_cells_that_each_keep_their_time_cannot_take_more_than_the_notebook_has(run):
    over = "not run: the notebook's 4 seconds were over"
    said, _ = run(*["import time; time.sleep(0.4); print(3)"] * 25, timeout=60, notebook_timeout=4)
    assert said[0] == "3\n" and said[-1] == over and set(said) == {"3\n", over}


def test_a_cell_has_no_more_time_than_its_notebook(run):
    over = "not run: the notebook's 4 seconds were over"
    said, seconds = run("print(1)", ENDLESS, "print(2)", timeout=60, notebook_timeout=4)
    assert said == ["1\n", over, over] and seconds < 40


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_a_check_has_more_time_than_it_can_take(exercise):
    cell, most = grade_cell(exercise.name), exercise.seconds * (1 if exercise.in_order else len(exercise.checks))
    step = RunToTheEnd()
    step.end = time.monotonic() + 10_000
    assert check_seconds(cell) == most and step.seconds(cell) == most + step.timeout > most


def test_a_notebooks_time_begins_with_its_first_try_and_no_other(monkeypatch):
    ends = []

    def preprocess(step, nb, resources, km):
        ends.append(step.end - before)
        step.at = 0
        if len(ends) < 3:
            raise preprocessors.DeadKernelError
        return nb, resources

    monkeypatch.setattr(preprocessors.Execute, "preprocess", preprocess)
    before = time.monotonic()
    RunToTheEnd(notebook_timeout=50).preprocess(new_notebook(), {})
    assert len(ends) == 3 and len(set(ends)) == 1 and 50 <= ends[0] < 60


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
