"""The report's command line: what it prints and writes, and files that cannot be read or written."""

import pytest

from helpers import progress
from helpers.__main__ import main as door
from helpers.commands.report import main


@pytest.fixture(autouse=True)
def kept(monkeypatch, tmp_path):
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.mark.parametrize("content", ["", "{", "[]", '{"solved": []}', "null"])
def test_a_corrupt_file_is_said(kept, capsys, content):
    kept.mkdir()
    (kept / "progress.json").write_text(content)
    assert main([]) == 0
    assert "> the progress file was unreadable; it is kept as progress-unreadable-" in capsys.readouterr().out
    assert len(list(kept.glob("progress-unreadable-*"))) == 1


def test_the_command_prints_or_writes(capsys, tmp_path):
    assert door(["report"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("# Lab report") and "## 05 · Prefill and decode" in printed
    files = tmp_path / "report.html", tmp_path / "report.md"
    assert door(["report", "--html", str(files[0]), "--md", str(files[1])]) == 0
    assert capsys.readouterr().out == f"written: {files[0]}\nwritten: {files[1]}\n"
    assert files[0].read_text("utf-8").startswith("<!doctype html>")
    assert files[1].read_text("utf-8").strip() == printed.strip()


def test_a_file_that_cannot_be_written_is_said(capsys, tmp_path):
    assert main(["--md", str(tmp_path / "no" / "such.md")]) == 1
    assert capsys.readouterr().err.startswith("report: No such file or directory: ")
