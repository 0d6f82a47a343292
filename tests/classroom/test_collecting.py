"""Whose file is it? And what a teacher is told where that cannot be known."""

import zipfile
from pathlib import Path

import pytest

from helpers.checks import EXERCISES
from helpers.classroom.collecting import collect, whose
from helpers.classroom.course import CONFIG, SETTINGS, ClassError, lessons, opened, release
from helpers.classroom.settings import replaced
from helpers.classroom.steps import table, total

A, B = "00_start_here", "05_prefill_and_decode"


@pytest.fixture
def course(tmp_path):
    for lesson in (A, B):
        (tmp_path / "course" / "source" / lesson).mkdir(parents=True)
    (tmp_path / "course" / SETTINGS).write_text(CONFIG, encoding="utf-8")
    return tmp_path / "course"


@pytest.fixture
def inbox(tmp_path):
    (tmp_path / "inbox").mkdir()
    return tmp_path / "inbox"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ada_00_start_here.ipynb", (A, "ada")),
        ("ada - 05_prefill_and_decode (2).ipynb", (B, "ada")),
        ("muellerjan_123_4567_05_prefill_and_decode-1.ipynb", (B, "muellerjan_123_4567")),  # as Canvas names it
        ("Ada Lovelace_77_assignsubmission_file_/00_start_here.ipynb", (A, "Ada_Lovelace_77_assignsubmission_file")),
        ("李 明/week 1/00_start_here.ipynb", (A, "李_明")),
        ("a@b.org/00_start_here.ipynb", (A, "a@b_org")),
        ("00_start_here.ipynb", (A, None)),
        ("ada/report.ipynb", (None, "ada")),
        ("../../00_start_here.ipynb", (A, None)),
    ],
)
def test_a_files_name_says_lesson_and_student(name, expected):
    assert whose(Path(name), [A, B]) == expected


def test_files_folders_and_zip_files_are_sorted_and_the_rest_is_named(course, inbox):
    (inbox / f"ada_{A}.ipynb").write_text("1")
    (inbox / "bob" / ".ipynb_checkpoints").mkdir(parents=True)
    (inbox / "bob" / f"{B}.ipynb").write_text("2")
    (inbox / "bob" / ".ipynb_checkpoints" / f"{B}-checkpoint.ipynb").write_text("old")
    with zipfile.ZipFile(inbox / "eve.zip", "w") as archive:
        archive.writestr(f"lessons/{A}.ipynb", "3")
    (inbox / f"{A}.ipynb").write_text("whose?")
    (inbox / "broken.zip").write_text("no zip file")
    taken, refused = collect(course, inbox)
    assert taken == [(A, "ada"), (A, "eve"), (B, "bob")]
    handed_in = {p.relative_to(course / "submitted").as_posix(): p.read_text() for p in course.rglob("submitted/*/*/*")}
    assert handed_in == {f"ada/{A}/{A}.ipynb": "1", f"bob/{B}/{B}.ipynb": "2", f"eve/{A}/{A}.ipynb": "3"}
    assert [file for file, _ in refused] == [f"{A}.ipynb", "broken.zip"]
    assert refused[0][1] == "it names no student" and "cannot be unpacked" in refused[1][1]


def test_two_files_of_one_student_are_not_guessed_between_and_a_later_one_replaces(course, inbox):
    (inbox / f"ada_{A}.ipynb").write_text("1")
    (inbox / "ada").mkdir()
    (inbox / "ada" / f"{A}.ipynb").write_text("2")
    taken, refused = collect(course, inbox)
    assert taken == [] and refused[0][1] == f"2 files of ada for {A}: keep one"
    assert not (course / "submitted").exists()
    (inbox / f"ada_{A}.ipynb").unlink()
    assert collect(course, inbox) == ([(A, "ada")], [])
    (inbox / "ada" / f"{A}.ipynb").write_text("3")
    collect(course, inbox)
    assert (course / "submitted" / "ada" / A / f"{A}.ipynb").read_text() == "3"


def test_what_is_no_course_no_folder_and_no_lesson_is_said(course, inbox, tmp_path):
    with pytest.raises(ClassError, match="is no course folder: make one with"):
        collect(inbox, inbox)
    with pytest.raises(ClassError, match="is no folder: put the files"):
        collect(course, tmp_path / "nowhere")
    with pytest.raises(ClassError, match="no lesson begins with '99'; there are 00_"):
        release(tmp_path / "new", ["99"])
    assert not (tmp_path / "new").exists() and lessons(["00"]) == [A]


def test_the_table_says_what_is_missing_and_what_a_person_must_look_at():
    found = {
        A: {"ada": {"newest_row": 3.0, "answer_00_1": 0.0}, "eve": {"newest_row": None, "answer_00_1": 1.0}},
        B: {},
    }
    lines = table(found, {A: {"newest_row": 3.0, "answer_00_1": 1.0}, B: {"prefill": 9.0}})
    assert [line.split() for line in lines[1:]] == [["of", "4", "9"], ["ada", "3", "-"], ["eve", "?", "-"]]
    assert total({"a": 0.5, "b": 1.0}) == "1.5" and total({"a": 0.0}) == "0"


@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_a_cell_has_more_time_than_its_check_can_take(exercise, course):
    timeout = opened(course)[0].RunToTheEnd.timeout
    assert timeout > exercise.seconds * (1 if exercise.in_order else len(exercise.checks))


def test_a_step_that_nbgrader_no_longer_has_is_named():
    class Trait:
        def default(self):
            return [dict, list]

    assert replaced(Trait(), dict=int) == [int, list]
    with pytest.raises(KeyError, match="no step Execute"):
        replaced(Trait(), Execute=int)
