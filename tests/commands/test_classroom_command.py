"""The door to a class: it installs what is missing, then hands the step to a Python that has it. The steps themselves
are tested with nbgrader, in tests/classroom."""

import errno
import subprocess
import sys

import pytest

from helpers import __main__ as door
from helpers.classroom import command
from helpers.commands import setup_env
from helpers.commands.setup_env import SetupError


@pytest.fixture
def called(monkeypatch):
    """What was asked for and run instead of being done."""
    seen = []
    monkeypatch.setattr(command, "ready_python", lambda extras: seen.append(extras) or "python-with-nbgrader")
    monkeypatch.setattr(command.subprocess, "call", lambda line: seen.append(line) or 1)
    return seen


def test_a_step_is_run_by_a_python_that_has_nbgrader_and_its_exit_code_is_handed_on(called):
    assert command.main(["grade", "course", "05", "--student", "ada"]) == 1
    line = ["python-with-nbgrader", "-m", "helpers.classroom.steps", "grade", "course", "05", "--student", "ada"]
    assert called == [["instructor"], line]


@pytest.mark.parametrize("arguments", [[], ["grades", "course"], ["collect", "course"], ["release"]])
def test_a_step_that_is_not_said_right_installs_nothing(called, arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(arguments)
    assert stop.value.code == 2 and "usage: python -m helpers class" in capsys.readouterr().err and called == []


@pytest.mark.parametrize(("error", "code"), [(SetupError("no room"), 2), (KeyboardInterrupt(), 130)])
def test_what_stops_the_set_up_is_said(monkeypatch, error, code, capsys):
    def stop(extras):
        raise error

    monkeypatch.setattr(command, "ready_python", stop)
    assert door.main(["class", "scores", "course"]) == code
    assert ("no room" in capsys.readouterr().err) == (code == 2)


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone without `.venv`; `answers` maps a word of a command to what its call does."""
    (tmp_path / "kvaudit").mkdir()
    for name in ("pyproject.toml", "kvaudit/pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text("same")
    for name, path in (("ROOT", ""), ("VENV", ".venv"), ("STAMP", ".venv/installed.json")):
        monkeypatch.setattr(setup_env, name, tmp_path / path)
    monkeypatch.setattr(setup_env, "has_everything", lambda extras: False)
    monkeypatch.setattr(setup_env, "ROOM_GB", 0)
    answers = {}

    def call(line, stderr=None, **options):
        answer = next((answers[word] for word in answers if word in line), lambda stderr: 0)
        return answer(stderr)

    monkeypatch.setattr(setup_env.subprocess, "call", call)
    return tmp_path, answers


def interrupted(stderr):
    if stderr:
        stderr.write(b"Traceback (most recent call last): KeyboardInterrupt")
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["venv", "pip"])
@pytest.mark.parametrize("command", [["class", "release", "course"], ["lab"]])
def test_ctrl_c_during_the_set_up_is_no_fault_of_anything(clone, capfd, step, command):
    clone[1][step] = interrupted
    assert door.main(command) == 130
    out, err = capfd.readouterr()
    assert out.splitlines()[-1] == "The set-up was stopped. The same command goes on from here." and err == ""
    assert setup_env.read_stamp() == {}


def test_why_an_environment_could_not_be_made_is_said(clone, capfd):
    clone[1]["venv"] = lambda stderr: stderr.write(b"ensurepip is not there\n")
    assert door.main(["class", "release", "course"]) == 2
    err = capfd.readouterr().err
    assert "ensurepip is not there" in err and "python3-venv" in err


@pytest.mark.parametrize("what", ["mkdir", "write_text"])
def test_a_clone_that_cannot_be_written_is_said_to_be_that(clone, monkeypatch, capsys, what):
    def refuse(*arguments, **options):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(setup_env.Path, what, refuse)
    assert door.main(["class", "release", "course"]) == 2
    err = capsys.readouterr().err
    assert f"{clone[0] / '.venv'} cannot be written (Read-only file system)" in err and "python3-venv" not in err


def test_the_door_opens_from_another_folder(tmp_path):
    """Without site-packages, where an installation of this clone would make `helpers` known everywhere."""
    line = [sys.executable, "-S", "-E", str(setup_env.ROOT / "helpers"), "class", "--help"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and "usage: python -m helpers class" in done.stdout, done.stderr


def test_the_door_needs_the_standard_library_only():
    code = "import sys, helpers.classroom.command; print(sorted({'torch', 'nbformat', 'nbgrader'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
