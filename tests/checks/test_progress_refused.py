"""Progress where nothing can be kept, files of odd shape, and values that are worse than those kept: a row for each kind."""

import errno
import os
import time
from pathlib import Path

import pytest
from filelock import FileLock

from helpers import progress
from helpers.checks import EXERCISES, check
from helpers.checks.board import Board
from helpers.checks.learner_report import markdown, page

from .graders import names

RIGHT = "def newest_row(x): return x[:, -1]"
POINTS = EXERCISES["newest_row"].points


pytestmark = pytest.mark.usefixtures("kept_folder")


def file(folder, content=None):
    path = folder / progress.FILE
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# Nothing can be kept.


def no_room(monkeypatch, folder):
    def write(path, *_, **__):
        path.write_bytes(b"{")  # as much as there was room for
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", write)


def read_only(monkeypatch, folder):
    def refuse(*_):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(FileLock, "_acquire", refuse)


def locked(monkeypatch, folder):
    lock = FileLock(folder / "progress.lock")
    lock.acquire()
    monkeypatch.setattr(progress, "held", lock, raising=False)  # released when the test ends


def named(name):
    return lambda monkeypatch, folder: monkeypatch.setenv(progress.VARIABLE, name.replace("KEPT", str(folder)))


def with_entry(make):
    return lambda monkeypatch, folder: make(folder)


REFUSED = {
    "a full disk": (no_room, "No space left on device"),
    "a read-only disk": (read_only, "Read-only file system"),
    "a lock that is held": (locked, "another program holds its lock"),
    "no folder at all": (named("/dev/null"), "it is no folder"),
    "a folder in no folder": (named("/dev/null/kept"), "it is no folder"),
    "a file for a folder": (with_entry(lambda f: (f.rmdir(), f.write_text(""))), "it is no folder"),
    "a name that is too long": (named("KEPT/" + 300 * "z"), "File name too long"),
    "a loop of links": (with_entry(lambda f: (f.rmdir(), f.symlink_to(f))), "it is no folder"),
    "a folder for the file": (with_entry(lambda f: (f / progress.FILE).mkdir()), "progress.json is not a file"),
    "a pipe for the file": (with_entry(lambda f: os.mkfifo(f / progress.FILE)), "progress.json is not a file"),
    "a device for the file": (with_entry(lambda f: (f / progress.FILE).symlink_to("/dev/zero")), "is not a file"),
    "a folder for the lock": (with_entry(lambda f: (f / "progress.lock").mkdir()), "Is a directory"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_lesson_goes_on_and_says_once_that_nothing_is_kept(kind, kept_folder, monkeypatch, capsys):
    refuse, why = REFUSED[kind]
    refuse(monkeypatch, kept_folder)
    started = time.monotonic()
    assert progress.measure("00", first=1) is None
    said = capsys.readouterr().out
    assert (
        "progress was not kept: " in said and why in said and progress.VARIABLE in said and str(kept_folder) not in said
    )
    assert progress.measure("00", second=2) is None and progress.load()["solved"] == {}
    for _ in range(3):
        told = check("newest_row", names(RIGHT))
        assert float(told) == POINTS and told.notes == ()  # it has been said
    board = Board()
    assert "0 of" in repr(board) and "was not kept" in repr(board) and "was not kept" in board._repr_html_()
    assert markdown(*progress.read()) and page(*progress.read())
    assert capsys.readouterr().out == "" and time.monotonic() - started < 3


@pytest.mark.parametrize("kind", REFUSED)
def test_a_check_says_it_too(kind, kept_folder, monkeypatch):
    REFUSED[kind][0](monkeypatch, kept_folder)
    progress.load()  # which shows no message
    notes = [check("newest_row", names(RIGHT)).notes for _ in range(2)]
    assert len(notes[0]) == 1 and "progress was not kept" in notes[0][0] and notes[1] == ()


def test_what_is_kept_stays_where_no_more_can_be(kept_folder, monkeypatch):
    progress.record("newest_row", POINTS, POINTS)
    progress.measure("00", first=1)
    kept = file(kept_folder).read_bytes()
    for refuse in (no_room, read_only, locked):
        with monkeypatch.context() as patched:
            patched.setattr(progress, "troubles", {})
            refuse(patched, kept_folder)
            progress.measure("00", first=2)
            assert file(kept_folder).read_bytes() == kept and progress.load()["measured"] == {"00": {"first": 1}}
            assert "1 of" in repr(Board()) and not list(kept_folder.glob("*.part"))


def test_it_is_kept_again_once_it_can_be(monkeypatch, kept_folder, capsys):
    for value in (1, 2):  # and said again where it cannot be any more
        with monkeypatch.context() as patched:
            no_room(patched, kept_folder)
            progress.measure("00", first=0)
        assert "not kept" in repr(Board()) and "not kept" in capsys.readouterr().out
        progress.measure("00", first=value)
        assert progress.load()["measured"] == {"00": {"first": value}} and "not kept" not in repr(Board())


def test_a_lock_costs_its_time_once(kept_folder, monkeypatch):
    locked(monkeypatch, kept_folder)
    times = []
    for _ in range(3):
        started = time.monotonic()
        progress.measure("00", first=1)
        times.append(time.monotonic() - started)
    assert times[0] >= progress.WAIT and max(times[1:]) < 0.2


def test_a_tilde_is_the_users_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv(progress.VARIABLE, "~/mine")
    progress.measure("00", first=1)
    assert (tmp_path / "mine" / progress.FILE).exists()
