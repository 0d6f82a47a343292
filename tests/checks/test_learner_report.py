"""The learner's report: what the progress file says, in Markdown and HTML."""

import json
import re

import nbformat
import pytest

from helpers import progress
from helpers.checks import EXERCISES, learner_report
from helpers.checks.learner_report import lessons, markdown, page, said
from helpers.checks.registry import Question


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def folder(tmp_path):
    cell = nbformat.v4.new_markdown_cell("# 05 · Prefill & decode\n\nMore.")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "05_prefill.ipynb")
    return tmp_path


def solve(name, points=None):
    progress.record(name, EXERCISES[name].points if points is None else points, EXERCISES[name].points)


def test_only_lessons_with_a_notebook_are_in_it(folder):
    (lesson,) = lessons(progress.load(), folder)
    assert (lesson.number, lesson.title, lesson.file) == ("05", "Prefill & decode", "05_prefill.ipynb")
    questions = {n for n, e in EXERCISES.items() if e.lesson == "05" and isinstance(e, Question)}
    assert {item.name for item in lesson.questions} == questions and len(lesson.items) > len(questions) > 0


def test_it_says_what_is_solved_what_is_open_and_what_was_measured(folder):
    solve("prefill")
    solve("decode_step", 1)
    solve("answer_05_1")
    progress.measure("05", boundary="a | b\nc", largest=1.23456e-6, rows=[1, 2], guess={"x": None, "y": 3})
    text = markdown(progress.load(), folder=folder)
    of = sum(e.points for e in EXERCISES.values() if e.lesson == "05")
    many = sum(e.lesson == "05" for e in EXERCISES.values())
    points = EXERCISES["prefill"].points + 2
    assert f"2 of {many} solved, {points} of {of} points in the whole course." in text
    opened = re.search(r"Open: (.*)\.", text)[1].split(", ")
    assert "decode_step" in opened and "prefill" not in opened and len(opened) == many - 2
    rows = ["| boundary | a \\| b c |", "| largest | ≈ 1.2e-06 |", "| rows | 1, 2 |", "| guess | x: -, y: 3 |"]
    assert [row for row in rows if row not in text] == []


def test_one_lesson_alone(folder):
    assert markdown(progress.load(), folder=folder, only="05").startswith("## 05 · Prefill & decode")
    assert markdown(progress.load(), folder=folder, only="01") == ""


def test_the_page_says_the_same_and_escapes_it(folder):
    progress.measure("05", boundary="<script>alert(1)</script>")
    text = page(progress.load(), "a <note>", folder)
    assert "<h2>05 · Prefill &amp; decode</h2>" in text and "a &lt;note&gt;" in text
    assert "<script" not in text and "&lt;script&gt;" in text and "color-scheme:light dark" in text


def test_points_beyond_what_an_exercise_has_count_no_more_than_that(folder):
    progress.record("prefill", 99, 99)
    points = EXERCISES["prefill"].points
    assert f"1 of {len(lessons(progress.load(), folder)[0].items)} solved, {points} of" in markdown(
        progress.load(), folder=folder
    )


def test_entries_of_another_form_count_nothing(kept, folder):
    kept.mkdir()
    odd = {"solved": {"prefill": 3, "decode_step": {"points": "many"}, "gone": {"points": 1}}, "measured": {"05": [1]}}
    (kept / "progress.json").write_text(json.dumps(odd))
    (lesson,) = lessons(progress.load(), folder)
    assert not any(item.points for item in lesson.items) and lesson.measured == {}
    assert "0 of" in markdown(progress.load(), folder=folder) and "<h1>" in page(progress.load(), folder=folder)


def test_a_notebook_that_is_not_one_is_left_out(folder):
    (folder / "06_half_written.ipynb").write_text("{")
    assert [lesson.number for lesson in lessons(progress.load(), folder)] == ["05"]


def test_values_are_said_on_one_line():
    assert said("two\nlines") == "two lines" and said(True) == "True" and said(12) == "12"


def test_every_lesson_of_the_course_is_in_the_report():
    titles = [title for title, _ in learner_report.notebooks().values()]
    assert titles and all(titles)
