"""The table of sources names only lessons, cells and checks that exist, and each question of the written lessons is in it."""

import re
from pathlib import Path

import nbformat
import pytest

from helpers.checks import EXERCISES
from helpers.checks.registry import Question

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
TEXT = (NOTEBOOKS / "coverage.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TEXT.splitlines() if re.match(r"\|.*`", line)]


def cells(number):
    (path,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    return {cell.id for cell in nbformat.read(path, as_version=4).cells}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_each_row_names_what_is_there(row):
    numbers = re.findall(r"\b\d\d\b", row[-2])
    there = set().union(*map(cells, numbers)) | {n for n, e in EXERCISES.items() if e.lesson in numbers}
    named = re.findall(r"`([^`]+)`", row[-1])
    assert numbers and named and set(named) <= there, set(named) - there


def labels(part):
    """First cells of the rows below a heading."""
    below = TEXT.split(f"## {part}\n")[1].split("\n## ")[0]
    return re.findall(r"(?m)^\| ([^|]*) \|.*`.*\|$", below)


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("Drill: follow-up questions", ["L1.1", "L1.2", "L2.1", "L2.2", "L2.3", "L2.4", "L3.1", "L3.2"]),
        ("M51: steps", list("1234567")),
        ("M51: self-test", list("1234")),
    ],
)
def test_no_numbered_question_or_step_is_left_out(part, expected):
    assert [label for label in labels(part) if label in expected] == expected


def test_no_misconception_and_no_field_of_the_report_is_left_out():
    assert len(labels("M51: misconceptions")) == 5 and len(labels("M51: fields of the report")) == 5
    assert "L1.3" in TEXT and "L3.3" in TEXT  # said to be open


def test_each_question_of_these_lessons_comes_from_a_source():
    """One asks what the lesson's own *Break it* measures: what is_causal=True does to a rectangle."""
    asked = {
        n
        for n, e in EXERCISES.items()
        if isinstance(e, Question) and e.lesson in ("01", "02", "03", "04", "05", "06", "07")
    }
    assert asked - set(re.findall(r"answer_\d\d_\d+", TEXT)) <= {"answer_01_5"}
