"""Every file of every kind of inbox is placed or listed with its reason; a doubtful name is asked about."""

import csv

import pytest

from helpers.classroom import tables
from helpers.classroom.collecting import collect
from helpers.classroom.course import CONFIG, SETTINGS
from helpers.classroom.inbox import answers, archives, files
from helpers.classroom.inbox.files import hidden

from .inboxes import KINDS, A, B, lay_out, leaves


@pytest.fixture
def course(tmp_path):
    for lesson in (A, B):
        (tmp_path / "course" / "source" / lesson).mkdir(parents=True)
    (tmp_path / "course" / "source" / ".DS_Store").touch()
    (tmp_path / "course" / SETTINGS).write_text(CONFIG, encoding="utf-8")
    return tmp_path / "course"


@pytest.fixture
def small(monkeypatch):
    """The limits, so that a test need not reach the real ones."""
    monkeypatch.setattr(files, "MOST_NOTEBOOK", 2**20)
    monkeypatch.setattr(archives, "MOST_BYTES", 3 * 2**20)
    monkeypatch.setattr(archives, "MOST_FILES", 30)


@pytest.fixture(params=KINDS.values(), ids=list(KINDS))
def kind(request, course, small):
    lay_out(request.param.files, course.parent / "inbox")
    if request.param.answers:
        rows = [answers.HEADER, *([*row, ""] for row in request.param.answers)]
        tables.write(tables.Table(rows), course / answers.FILE)
    return request.param


def rows(path):
    """A table's rows as dicts; none where there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def holds(lines, expected):
    """Whether there is exactly one line for each file, with the words in it."""
    assert sorted(file for file, _ in lines) == sorted(expected)
    for file, words in lines:
        assert expected[file] in words, (file, words)


def test_each_file_is_placed_or_listed(kind, course):
    outside = {path for path in course.parent.rglob("*")} - {path for path in course.rglob("*")}
    found = collect(course, course.parent / "inbox")
    kept = {f"{row['student']} {row['lesson']}": row for row in rows(course / "collected.csv")}
    assert {key: row["file"] for key, row in kept.items()} == kind.taken
    assert {key for key, row in kept.items() if row["late"]} == kind.late
    assert {f"{student} {lesson}" for lesson, student in found.taken} == set(kind.taken)
    assert {f"{student} {lesson}" for lesson, student in found.late} == kind.late
    holds(found.refused, kind.refused)
    holds(found.notes, kind.notes)
    assert len(found.hidden) == kind.hidden
    assert {row["file"] for row in rows(course / answers.FILE) if row["question"]} == kind.asked
    assert {path for path in course.parent.rglob("*")} - {path for path in course.rglob("*")} == outside


def test_no_file_is_lost(kind, course):
    found = collect(course, course.parent / "inbox")
    named = {row["file"] for row in rows(course / "collected.csv")} | {file for file, _ in found.refused + found.notes}
    for leaf in leaves(kind.files):
        printed = "".join(c if c.isprintable() else "?" for c in leaf.replace("\\", "/").replace("//", "/"))
        above = {printed[:i] for i, c in enumerate(printed) if c == "/"}  # a zip file refused as a whole
        assert printed in named or above & named or any(map(hidden, printed.split("/"))), leaf


def test_what_is_placed_is_what_was_handed_in(kind, course):
    contents = dict(content_of(kind.files))
    collect(course, course.parent / "inbox")
    for row in rows(course / "collected.csv"):
        path = course / "submitted" / row["student"] / row["lesson"] / f"{row['lesson']}.ipynb"
        assert path.read_bytes() == contents[row["file"]]


def test_what_came_out_of_a_bomb_is_deleted_at_once(tmp_path, small):
    lay_out(KINDS["zip bombs: too much, too many, in one another"].files, tmp_path / "inbox")
    (tmp_path / "scratch").mkdir()
    inbox = files.look_through(tmp_path / "inbox", tmp_path / "scratch")
    assert len(inbox.refused) == 3 and [path.parent.name for _, path in inbox.notebooks] == ["inbox"]
    assert not list((tmp_path / "scratch").iterdir())


def content_of(files, before=""):
    for name, content in files.items():
        if isinstance(content, dict):
            yield from content_of(content, f"{before}{name}/")
        else:
            name = "".join(c if c.isprintable() else "?" for c in (before + name).replace("\\", "/"))
            yield name, content if isinstance(content, bytes) else content.encode()


def test_collected_again_the_result_is_the_same(kind, course):
    first, second = (collect(course, course.parent / "inbox") for _ in range(2))
    assert first == second
