"""The table of sources names only lessons, cells and checks that exist, and each question of the written lessons is in it."""

import re
from pathlib import Path

import nbformat
import pytest

from helpers.checks import EXERCISES
from helpers.checks.registry import Question

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
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


def test_there_are_rows():
    assert len(ROWS) > 25


def test_each_question_of_these_lessons_comes_from_a_source():
    """One asks what the lesson's own *Break it* measures: what is_causal=True does to a rectangle."""
    asked = {
        n
        for n, e in EXERCISES.items()
        if isinstance(e, Question) and e.lesson in ("01", "02", "03", "04", "05", "06", "07")
    }
    assert asked - set(re.findall(r"answer_\d\d_\d+", TEXT)) <= {"answer_01_5"}
