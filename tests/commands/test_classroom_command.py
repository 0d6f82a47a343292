"""The door to a class: it installs what is missing, then hands the step to a Python that has it. The steps themselves
are tested with nbgrader, in tests/classroom."""

import subprocess
import sys

import pytest

from helpers import __main__ as door
from helpers.classroom import command
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


def test_the_door_needs_the_standard_library_only():
    code = "import sys, helpers.classroom.command; print(sorted({'torch', 'nbformat', 'nbgrader'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
