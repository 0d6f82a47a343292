"""The progress board: what it reads, and what it says without a kernel."""

import nbformat
import pytest

from helpers import progress
from helpers.checks import EXERCISES
from helpers.checks.board import ASKS, WIDTH, Board, bar
from helpers.checks.learner_report import NOTEBOOKS, notebooks


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path / "kept"))
    cell = nbformat.v4.new_markdown_cell("# 05 · Prefill & decode")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "05_prefill.ipynb")
    return tmp_path


def test_nothing_is_solved_at_first(folder):
    board = Board(folder=folder)
    of = sum(e.points for e in EXERCISES.values() if e.lesson == "05")
    assert repr(board).startswith("05  Prefill & decode") and f"0 of {of} points" in repr(board)
    assert '<a href="05_prefill.ipynb">05 Prefill &amp; decode</a>' in board._repr_html_()


def test_it_reads_what_was_solved_since(folder):
    before = Board(folder=folder)._repr_html_()
    progress.record("prefill", EXERCISES["prefill"].points, EXERCISES["prefill"].points)
    progress.record("decode_step", 1, EXERCISES["decode_step"].points)
    board = Board(folder=folder)
    exercises = len(board.lessons[0].exercises)
    assert f">1 of {exercises}</td>" in board._repr_html_() != before
    assert f"1 of {len(board.lessons[0].items)} solved, {EXERCISES['prefill'].points + 1} of" in repr(board)


def test_an_unreadable_file_is_said_and_nothing_stops(folder):
    (folder / "kept").mkdir()
    (folder / "kept" / "progress.json").write_text("{")
    board = Board(folder=folder)
    assert "the progress file was unreadable" in repr(board) and "unreadable" in board._repr_html_()
    assert "unreadable" not in repr(Board(folder=folder))


def test_the_bar_is_as_long_as_the_points():
    assert f'width="{WIDTH // 2}"' in bar(3, 6) and 'aria-label="3 of 6 points"' in bar(3, 6)
    assert bar(0, 6).count("<rect") == 1 and bar(0, 0).count("<rect") == 1
    assert f'width="{WIDTH}"' in bar(6, 6)


def test_the_board_that_is_stored_in_lesson_00_shows_the_lessons_that_exist(folder):
    stored = nbformat.read(NOTEBOOKS / "00_start_here.ipynb", as_version=4)
    cell = next(cell for cell in stored.cells if cell.id == "board")
    said = cell.outputs[0].data["text/plain"]
    assert said == repr(Board()), "a lesson or an exercise is new: rebuild with python notebooks/build.py 00"


def test_every_lesson_has_its_question():
    assert set(notebooks()) <= set(ASKS)
