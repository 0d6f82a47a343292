"""The progress file: kept, best of all tries, atomic, safe with several processes, and a corrupt one is set aside."""

import json
import subprocess
import sys

import pytest

from helpers import progress


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


def test_nothing_is_kept_at_first_and_reading_creates_nothing(folder):
    assert progress.load() == {"solved": {}, "measured": {}} and not folder.exists()


def test_best_points_stay():
    for points in (2, 5, 3):
        assert progress.record("decode_step", points, 5) is None
    assert progress.load()["solved"] == {"decode_step": {"points": 5, "of": 5}}


def test_measured_values_are_kept_by_lesson():
    progress.measure("05", largest_difference=9e-7, position="learned, offset n")
    progress.measure("05", largest_difference=8e-7)
    assert progress.load()["measured"] == {"05": {"largest_difference": 8e-7, "position": "learned, offset n"}}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"solved": []}', '{"solved": {}, "measured": 3}', "\udcff"])
def test_a_corrupt_file_is_set_aside_with_a_message(folder, content):
    folder.mkdir()
    (folder / "progress.json").write_bytes(content.encode("utf-8", "surrogateescape"))
    message = progress.record("a", 1, 1)
    aside = list(folder.glob("progress-unreadable-*.json"))
    assert len(aside) == 1 and aside[0].name in message and str(folder) not in message
    assert aside[0].read_bytes() == content.encode("utf-8", "surrogateescape")
    assert progress.load()["solved"] == {"a": {"points": 1, "of": 1}}


def test_processes_at_once_lose_nothing():
    code = "import sys; from helpers import progress\nfor i in range(25): progress.record(f'{sys.argv[1]}{i}', 1, 1)"
    running = [subprocess.Popen([sys.executable, "-c", code, name]) for name in "abc"]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len(progress.load()["solved"]) == 75


def test_a_write_that_fails_leaves_the_old_file(folder, monkeypatch):
    progress.record("a", 1, 1)
    before = (folder / "progress.json").read_bytes()
    monkeypatch.setattr(progress.os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        progress.record("b", 1, 1)
    assert (folder / "progress.json").read_bytes() == before and json.loads(before)["solved"].keys() == {"a"}


def test_without_the_variable_it_is_the_users_data_folder(monkeypatch):
    monkeypatch.delenv(progress.VARIABLE)
    assert progress.folder().name == "kv-cache-by-hand" and progress.folder().is_absolute()
