"""Whose file is it? And what a teacher is told where that cannot be known."""

import errno
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from helpers.classroom import command, steps
from helpers.classroom.collecting import collect
from helpers.classroom.course import CONFIG, SETTINGS, lessons, release
from helpers.classroom.errors import ClassError
from helpers.classroom.inbox.answers import Answers
from helpers.classroom.inbox.names import read
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
        ("muellerjan_123_4567_05_prefill_and_decode-1.ipynb", (B, "muellerjan_123")),  # as Canvas names it
        ("Ada Lovelace_77_assignsubmission_file_/00_start_here.ipynb", (A, "Ada_Lovelace")),  # as Moodle does
        ("李 明/week 1/00_start_here.ipynb", (A, "李_明")),
        ("a@b.org/00_start_here.ipynb", (A, "a@b_org")),
        ("00_start_here.ipynb", (A, None)),
        ("ada/report.ipynb", (None, "ada")),
        ("../../00_start_here.ipynb", (A, None)),
        ("ada_05 Prefill.ipynb", (B, "ada")),
        ("ada_105_prefill.ipynb", (None, None)),
        ("ada_05.ipynb", (None, None)),
        ("ada_00_start_here_05_prefill_and_decode.ipynb", (None, None)),
        ("ada/05_prefill_and_decode/mine.ipynb", (B, "ada")),
        ("ada_05_prefill_and_decode.zip/mine.ipynb", (B, "ada")),
        ("bob.zip/lovelaceada_12_345_00_start_here.ipynb", (A, "lovelaceada_12")),
        ("Group A_17_assignsubmission_file_/bob_00_start_here.ipynb", (A, "Group_A")),
        ("Default group_assignsubmission_file_/00_start_here.ipynb", (A, "Default_group")),
        ("???_7_assignsubmission_file_/00_start_here.ipynb", (A, None)),
        ("ada_12_34_00_start_here.ipynb", (A, "ada_12_34")),  # Canvas's numbers have more digits
        ("ada_20241105_1130_00_start_here.ipynb", (A, None)),
        ("HW5/Ada (3)/00_start_here.ipynb", (A, "Ada_3")),
        ("final v2/my work/00_start_here.ipynb", (A, None)),
    ],
)
def test_a_files_name_says_lesson_and_student(name, expected):
    reading = read(tuple(name.split("/")), [A, B], Answers())
    assert (reading.lesson, reading.student) == expected
    assert bool(reading.doubt) == (reading.student is None)


def test_files_folders_and_zip_files_are_sorted_and_the_rest_is_named(course, inbox):
    (inbox / f"ada_{A}.ipynb").write_text("1")
    (inbox / "bob" / ".ipynb_checkpoints").mkdir(parents=True)
    (inbox / "bob" / f"{B}.ipynb").write_text("2")
    (inbox / "bob" / ".ipynb_checkpoints" / f"{B}-checkpoint.ipynb").write_text("old")
    with zipfile.ZipFile(inbox / "eve.zip", "w") as archive:
        archive.writestr(f"lessons/{A}.ipynb", "3")
    (inbox / f"{A}.ipynb").write_text("whose?")
    (inbox / "broken.zip").write_text("no zip file")
    found = collect(course, inbox)
    taken, refused = found.taken, found.refused
    assert taken == [(A, "ada"), (A, "eve"), (B, "bob")]
    handed_in = {p.relative_to(course / "submitted").as_posix(): p.read_text() for p in course.rglob("submitted/*/*/*")}
    assert handed_in == {f"ada/{A}/{A}.ipynb": "1", f"bob/{B}/{B}.ipynb": "2", f"eve/{A}/{A}.ipynb": "3"}
    assert [file for file, _ in refused] == [f"{A}.ipynb", "broken.zip"]
    assert refused[0][1] == "it names no student" and "cannot be unpacked" in refused[1][1]


def test_two_files_of_one_student_are_not_guessed_between_and_a_later_one_replaces(course, inbox):
    (inbox / f"ada_{A}.ipynb").write_text("1")
    (inbox / "ada").mkdir()
    (inbox / "ada" / f"{A}.ipynb").write_text("2")
    found = collect(course, inbox)
    taken, refused = found.taken, found.refused
    assert taken == [] and refused[0][1] == f"2 files of ada for {A}: keep one"
    assert not (course / "submitted").exists()
    (inbox / f"ada_{A}.ipynb").unlink()
    found = collect(course, inbox)
    assert (found.taken, found.refused) == ([(A, "ada")], [])
    (inbox / "ada" / f"{A}.ipynb").write_text("3")
    collect(course, inbox)
    assert (course / "submitted" / "ada" / A / f"{A}.ipynb").read_text() == "3"


def test_what_cannot_be_read_and_what_is_no_plain_file_is_listed(course, inbox, monkeypatch):
    for name in ("ada", "bob", "eve"):
        (inbox / f"{name}_{A}.ipynb").write_text("1")
    (inbox / "shut").mkdir()
    os.mkfifo(inbox / f"fay_{A}.ipynb")
    denied = OSError(errno.EACCES, "Permission denied")
    scandir, read_bytes, copyfile = os.scandir, Path.read_bytes, shutil.copyfile

    def refuse(path, text, call):
        if text in str(path):
            raise denied
        return call()

    monkeypatch.setattr(os, "scandir", lambda path: refuse(path, "shut", lambda: scandir(path)))
    monkeypatch.setattr(Path, "read_bytes", lambda path: refuse(path, "bob_", lambda: read_bytes(path)))
    monkeypatch.setattr(shutil, "copyfile", lambda a, b: refuse(a, "eve_", lambda: copyfile(a, b)))
    found = collect(course, inbox)
    assert found.taken == [(A, "ada")]
    place = course / "submitted" / "eve" / A
    assert found.refused == [
        (f"bob_{A}.ipynb", "it cannot be read: Permission denied"),
        (f"eve_{A}.ipynb", f"it cannot be put into {place}: Permission denied"),
        (f"fay_{A}.ipynb", "it is no plain file"),
        ("shut", "it cannot be read: Permission denied"),
    ]


@pytest.mark.parametrize("code", ["utf-8", "cp437"])
def test_a_zip_file_that_does_not_say_its_names_code(course, inbox, code):
    with zipfile.ZipFile(inbox / "all.zip", "w") as archive:
        archive.writestr(f"{'?' * len('Zoë'.encode(code))}_{A}.ipynb", "1")
        archive.writestr("./!", "1")
    data = (inbox / "all.zip").read_bytes().replace(b"?" * len("Zoë".encode(code)), "Zoë".encode(code))
    (inbox / "all.zip").write_bytes(data.replace(b"./!", b"./."))
    found = collect(course, inbox)
    assert found.taken == [(A, "Zoë")]
    assert found.refused == [("all.zip", "it has no name")]


def test_a_download_of_earlier_days_does_not_replace_a_later_upload(course, inbox):
    (inbox / f"ada_1_789_{A}.ipynb").write_text("new")
    collect(course, inbox)
    (inbox / f"ada_1_789_{A}.ipynb").unlink()
    (inbox / f"ada_1_456_{A}.ipynb").write_text("old")
    found = collect(course, inbox)
    assert found.taken == [] and found.refused == []
    assert found.notes == [
        (f"ada_1_456_{A}.ipynb", f"it was uploaded to Canvas before ada_1_789_{A}.ipynb, collected earlier")
    ]
    assert (course / "submitted" / "ada_1" / A / f"{A}.ipynb").read_text() == "new"


def test_another_person_of_a_name_that_was_collected_before_is_asked_about(course, inbox):
    (inbox / "Ada_7_assignsubmission_file_").mkdir()
    (inbox / "Ada_7_assignsubmission_file_" / f"{A}.ipynb").write_text("1")
    assert collect(course, inbox).taken == [(A, "Ada")]
    (inbox / "Ada_7_assignsubmission_file_").rename(inbox / "Ada_8_assignsubmission_file_")
    found = collect(course, inbox)
    assert found.taken == [] and "Ada had Moodle's number 7 before, and 8 now" in found.refused[0][1]
    (inbox / "Ada_8_assignsubmission_file_" / f"{A}.ipynb").rename(
        inbox / "Ada_8_assignsubmission_file_" / f"{B}.ipynb"
    )
    assert collect(course, inbox).taken == [(B, "Ada")]  # Moodle's numbers are another one's in each assignment


def test_an_answer_survives_a_spreadsheet(course, inbox):
    (inbox / "=1+1").mkdir()
    (inbox / "=1+1" / "work.ipynb").write_text("{}")
    assert collect(course, inbox).taken == []
    file = course / "whose.csv"
    text = file.read_text(encoding="utf-8-sig")
    assert "./=1+1/work.ipynb,,,it names no lesson" in text
    for changed in (
        text.replace("work.ipynb,,", "work.ipynb,Zoë Š,5"),
        text.replace(",", ";").replace(";;;", ";Zoë Š;05;"),
    ):
        for encoding in ("utf-8", "utf-8-sig", "cp1252"):
            file.write_text(changed, encoding=encoding)
            assert collect(course, inbox).taken == [(B, "Zoë_Š")]
    assert "./=1+1/work.ipynb,Zoë Š,05," in file.read_text(encoding="utf-8-sig")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"file,whose,lesson\n", "has no column 'student'"),
        (b"PK\x03\x04\x00\x00", "is no CSV file, or is empty: save it as CSV"),
        (b"", "is no CSV file, or is empty"),
    ],
)
def test_a_table_of_answers_that_cannot_be_read_is_said(course, inbox, content, words):
    (course / "whose.csv").write_bytes(content)
    with pytest.raises(ClassError, match=re.escape(words)):
        collect(course, inbox)
    assert (course / "whose.csv").read_bytes() == content


def test_what_is_printed_names_each_file_and_what_to_do(course, inbox, capsys):
    (inbox / f"ada_LATE_1_789_{A}.ipynb").write_text("1")
    (inbox / ".DS_Store").touch()
    (inbox / f"{A}.ipynb").touch()
    options = command.parser().parse_args(["collect", str(course), str(inbox)])
    assert steps.collect_step(options) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        f"{A}  ada_1  LATE",
        f"note: ada_LATE_1_789_{A}.ipynb: it is no notebook that can be read: grading will say so",
        "passed over, left behind by a system or an editor: 1 (.DS_Store)",
        f"Whose are they? Answer in {course / 'whose.csv'}, and collect again (TEACHING.md says how).",
        "1 collected, 1 not",
    ]
    assert err == f"not collected: {A}.ipynb: it names no student\n"


def test_a_terminal_that_lacks_letters_stops_nothing(course, inbox):
    (inbox / f"李_{A}.ipynb").write_text("1")
    command = [sys.executable, "-m", "helpers.classroom.steps", "collect", str(course), str(inbox)]
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0 and f"{A}  \\u674e" in done.stdout, done.stderr


def test_a_step_that_is_stopped_says_what_stays(monkeypatch, capsys):
    def stop(options):
        raise KeyboardInterrupt

    monkeypatch.setitem(steps.STEPS, "scores", stop)
    assert steps.main(["scores", "course"]) == 130
    assert "What was done until then stays" in capsys.readouterr().err


def test_what_is_no_course_no_folder_and_no_lesson_is_said(course, inbox, tmp_path):
    with pytest.raises(ClassError, match="is no course folder: make one with"):
        collect(inbox, inbox)
    with pytest.raises(ClassError, match="is no folder: put the files"):
        collect(course, tmp_path / "nowhere")
    for around in (course, course.parent):
        with pytest.raises(ClassError, match="the course folder lies in"):
            collect(course, around)
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


def test_a_step_that_nbgrader_no_longer_has_is_named():
    class Trait:
        def default(self):
            return [dict, list]

    assert replaced(Trait(), dict=int) == [int, list]
    with pytest.raises(KeyError, match="no step Execute"):
        replaced(Trait(), Execute=int)
