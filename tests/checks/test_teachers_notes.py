"""The teacher's notes are written from checks and tables: they must be current, and hold what a teacher looks for.

Here the wrong answers of two lessons are graded again; those of all lessons are in tests/classroom, which has the time.
"""

import re

import pytest

from helpers.checks import EXERCISES
from helpers.progress import VARIABLE
from tests.checks import teachers_notes

from .teachers_notes import FILE, example, graders, wrong_answers


@pytest.fixture(autouse=True)
def progress_apart(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path))


def test_the_notes_are_what_checks_and_tables_say_now(monkeypatch):
    text = FILE.read_text(encoding="utf-8")

    def graded_or_stored(name, table):
        if table.lesson in ("00", "01"):
            return wrong_answers(name, table)
        return re.search(rf"### `{name}`, .*?\n(?=\n(?:### |## |\*\*)|\Z)", text, re.DOTALL)[0]

    monkeypatch.setattr(teachers_notes, "wrong_answers", graded_or_stored)
    assert text == teachers_notes.write(), "python -m tests.checks.teachers_notes writes them again"


def test_every_lesson_that_has_a_notebook_has_a_table():
    assert {table.lesson for table in graders()} >= set(teachers_notes.notebooks())


def test_a_mistake_is_listed_once_with_an_example_and_its_points():
    class Table:
        right = {"newest_row": "def newest_row(x):\n    return x[:, -1]\n"}
        wrong = {
            "newest_row": [("x[:, -1]", "x[-1]", ""), (" x[:, -1]", " x[-1]", ""), ("x[:, -1]", "x[:, -1] + 1", "")]
        }

    rows = wrong_answers("newest_row", Table).strip().splitlines()
    head = f"### `newest_row`, {EXERCISES['newest_row'].points} points"
    words = "the last row of the batch: the first axis is the batch"
    assert rows == [
        head,
        "",
        "| it looks like | for example | points |",
        "|---|---|---|",
        f"| {words} | `x[-1]` for `x[:, -1]` | 0 |",
    ]


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("a | b", "c", "`c` for `a \\| b`"),
        ("    x = 1\n", "", "without `x = 1`"),
        ("x\ny", "z", ""),
        ("x", "`x`", ""),
        ("x", "y" * 61, ""),
    ],
)
def test_examples_are_short_enough_for_a_table(old, new, shown):
    assert example(old, new) == shown


def test_check_says_whether_the_file_is_current(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(teachers_notes, "FILE", tmp_path / "notes.md")
    monkeypatch.setattr(teachers_notes, "write", lambda: "words\n")
    assert teachers_notes.main(["--check"]) == 1 and "stale" in capsys.readouterr().out
    assert teachers_notes.main([]) == 0 and teachers_notes.main(["--check"]) == 0
