"""Release, collect, grade, feedback: as a teacher types it, with submissions that nobody wishes for."""

import csv

import nbformat
import pytest

from helpers.checks.learner_report import NOTEBOOKS
from helpers.classroom.grading import gradebook, scores

from .handed_in import CASES, FULL, LESSON, text

TIMEOUT = 20  # seconds a cell; above what a looping check takes, and it is paid for each endless cell
UNREADABLE = "unreadable"


@pytest.fixture(scope="module")
def course(tmp_path_factory, teacher):
    folder = tmp_path_factory.mktemp("class")
    code, said = teacher("release", folder / "course", "00")
    assert code == 0, said
    with (folder / "course" / "nbgrader_config.py").open("a", encoding="utf-8") as settings:
        settings.write(f"c.RunToTheEnd.timeout = {TIMEOUT}\n")
    return folder / "course"


@pytest.fixture(scope="module")
def graded(course, teacher):
    """(what `class grade` said, {(student, exercise): points as in scores.csv})."""
    released = nbformat.read(course / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)
    solved = nbformat.read(NOTEBOOKS / "solutions" / f"{LESSON}.ipynb", as_version=4)
    inbox = course.parent / "inbox"
    inbox.mkdir()
    for name in CASES:
        (inbox / f"{name}_{LESSON}.ipynb").write_text(text(name, released, solved), encoding="utf-8")
    (inbox / f"{UNREADABLE}_{LESSON}.ipynb").write_text('{"cells": [', encoding="utf-8")
    code, said = teacher("collect", course, inbox)
    assert (code, said.splitlines()[-1]) == (0, f"{len(CASES) + 1} collected, 0 not")
    code, said = teacher("grade", course)
    assert code == 1, said  # one file is unreadable, and it is said
    with (course / "scores.csv").open(encoding="utf-8") as file:
        return said, {(row["student"], row["exercise"]): row["points"] for row in csv.DictReader(file)}


def points(graded, student):
    return {exercise: graded[1][student, exercise] for exercise in FULL}


@pytest.mark.parametrize("name", CASES)
def test_each_submission_gets_exactly_its_points(graded, name):
    assert points(graded, name) == {exercise: f"{n:g}" for exercise, n in CASES[name][1].items()}


def test_a_file_that_is_no_notebook_is_named_and_left_to_a_person(graded):
    line = next(line for line in graded[0].splitlines() if f"{LESSON}  {UNREADABLE}" in line)
    assert "NOT READ: " in line and "JSON" in line
    assert set(points(graded, UNREADABLE).values()) == {""}


def test_everyone_else_has_feedback_with_the_checks_words(graded, course):
    written = {path.parents[1].name for path in (course / "feedback").glob("*/*/*.html")}
    assert written == set(CASES)
    page = (course / "feedback" / "partly_right" / LESSON / f"{LESSON}.html").read_text(encoding="utf-8")
    assert "newest_row: 1 of 3 points" in page and "a text of 1 token" in page
    page = (course / "feedback" / "loops_in_a_cell" / LESSON / f"{LESSON}.html").read_text(encoding="utf-8")
    assert f"it was still running after {TIMEOUT} seconds" in page


def test_the_table_is_printed(graded, capsys):
    table = {line.split()[0]: line.split()[1:] for line in graded[0].splitlines() if line[:1].isalpha()}
    assert table["of"] == [str(sum(FULL.values()))] and table[UNREADABLE] == ["?"]
    with capsys.disabled():
        print("\n\n  lesson 00: submission                   points  expected of 6")
        for name, (_, expected) in CASES.items():
            assert table[name] == [str(sum(expected.values()))]
            print(f"  {name:<40}{table[name][0]:>5}{sum(expected.values()):>10}")


def test_a_teachers_own_points_go_before_the_checks_and_stay(graded, course, teacher):
    with gradebook(course) as book:
        book.find_grade("newest_row-check", LESSON, LESSON, "wrong").manual_score = 2
        book.db.commit()
    code, said = teacher("grade", course, "00", "--student", "wrong")
    assert code == 0 and scores(course)[LESSON]["wrong"] == CASES["wrong"][1] | {"newest_row": 2}, said


def test_nothing_is_written_to_the_teachers_own_progress(graded, own_progress):
    assert not own_progress.exists()
