"""Set-up: what it runs, when it does nothing, and what it says where it cannot go on."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import __main__ as door
from helpers.commands import setup_env
from helpers.commands.setup_env import SetupError

ROOT = Path(setup_env.__file__).resolve().parents[2]


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """An empty clone in a folder with a space in its name; commands are recorded, and `.venv` appears when asked for."""
    root, calls = tmp_path / "my clone", []
    root.mkdir()
    for name in ("pyproject.toml", "constraints.txt"):
        (root / name).write_text("same")
    python = root / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    monkeypatch.setattr(setup_env, "ROOT", root)
    monkeypatch.setattr(setup_env, "VENV", root / ".venv")
    monkeypatch.setattr(setup_env, "STAMP", root / ".venv" / "installed.json")
    monkeypatch.setattr(setup_env, "has_everything", lambda extras: False)

    def call(command, **options):
        calls.append([str(part) for part in command])
        if "venv" in command:
            python.parent.mkdir(parents=True, exist_ok=True)
            python.touch()
        return codes.get(next((word for word in codes if word in calls[-1]), None), 0)

    codes = {}
    monkeypatch.setattr(setup_env.subprocess, "call", call)
    return root, calls, codes, str(python)


def test_the_first_start_makes_the_environment_and_the_second_only_starts(clone):
    root, calls, _, python = clone
    assert setup_env.lab(["--no-browser"]) == 0
    assert [sys.executable, "-m", "venv", "--clear", str(root / ".venv")] == calls[0]
    assert calls[1][:4] == [python, "-m", "pip", "install"] and calls[1][-2:] == ["-e", "."]
    assert calls[1][calls[1].index("-c") + 1] == "constraints.txt"
    assert calls[2] == [python, "-m", "jupyterlab", f"--ServerApp.root_dir={root / 'notebooks'}", "--no-browser"]
    calls.clear()
    setup_env.lab([])
    assert len(calls) == 1 and "jupyterlab" in calls[0]


def test_the_tests_add_what_the_lab_did_not_need_and_the_lab_keeps_it(clone):
    _, calls, _, python = clone
    setup_env.lab([])
    calls.clear()
    assert setup_env.test(["-k", "mask"]) == 0
    assert calls[0] == [python, "-c", "import pip"] and calls[1][-2:] == ["-e", ".[test]"]
    assert [c[2] for c in calls[2:]] == ["ruff", "ruff", "pytest"] and calls[-1][-2:] == ["-k", "mask"]
    calls.clear()
    setup_env.lab([])
    assert len(calls) == 1


def test_a_changed_dependency_is_installed(clone):
    root, calls, _, _ = clone
    setup_env.lab([])
    (root / "constraints.txt").write_text("other")
    calls.clear()
    setup_env.lab([])
    assert any("pip" in call for call in calls)


def test_an_interrupted_installation_is_not_taken_for_done(clone):
    _, calls, codes, _ = clone
    codes["pip"] = 1
    with pytest.raises(SetupError, match="pip could not install"):
        setup_env.lab([])
    codes.clear()
    calls.clear()
    setup_env.lab([])
    assert any("pip" in call for call in calls)


def test_a_half_made_environment_without_pip_is_made_again(clone):
    _, calls, codes, python = clone
    setup_env.lab([])
    setup_env.STAMP.unlink()
    codes["import pip"] = 1
    calls.clear()
    setup_env.lab([])
    assert calls[0] == [python, "-c", "import pip"] and "--clear" in calls[1]


def test_one_failing_step_fails_the_test_command_and_the_others_still_run(clone):
    _, calls, codes, _ = clone
    codes["check"] = 1
    assert setup_env.test([]) == 1
    assert calls[-1][2] == "pytest"


def test_cpu_asks_for_the_cpu_build_and_is_not_passed_on(clone):
    _, calls, _, _ = clone
    setup_env.lab(["--cpu"])
    assert setup_env.CPU_INDEX in calls[1] and "--cpu" not in calls[2]


def test_the_words_of_each_obstacle(clone, monkeypatch):
    root, _, codes, _ = clone
    with pytest.raises(SetupError, match=r"this is Python 3\.8; the course needs 3\.10"):
        setup_env.check_python((3, 8, 1))
    codes["venv"] = 1
    with pytest.raises(SetupError, match="python3-venv"):
        setup_env.lab([])
    monkeypatch.setattr(setup_env, "ROOM_GB", 10**6)
    with pytest.raises(SetupError, match="GB are free"):
        setup_env.lab([])
    (root / "pyproject.toml").unlink()
    with pytest.raises(SetupError, match="in a clone of the repository"):
        setup_env.lab([])


def test_an_environment_that_has_everything_is_used_as_it_is():
    assert setup_env.has_everything(["test"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup_env, "ROOT", ROOT / "another clone")
        assert not setup_env.has_everything([])


def test_what_runs_before_the_set_up_can_be_read_by_an_old_python_and_needs_no_package():
    for name in ("__init__.py", "__main__.py", "commands/__init__.py", "commands/setup_env.py"):
        ast.parse((ROOT / "helpers" / name).read_text(encoding="utf-8"), feature_version=(3, 6))
    code = "import sys, helpers.commands.setup_env, helpers.__main__; sys.exit(any(m in sys.modules for m in ('torch', 'numpy')))"
    assert subprocess.call([sys.executable, "-c", code], cwd=ROOT) == 0


def test_the_door_lists_its_commands_and_refuses_others(capsys):
    assert door.main([]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in door.COMMANDS)
    assert door.main(["lba"]) == 2
    assert "there is no command 'lba'" in capsys.readouterr().err


def test_every_command_leads_somewhere():
    for module, function, _ in door.COMMANDS.values():
        assert callable(getattr(__import__(f"helpers.{module}", fromlist=[function]), function))


def test_a_missing_package_is_said_with_what_to_do(monkeypatch, capsys):
    def missing(name):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(door.importlib, "import_module", missing)
    assert door.main(["demo"]) == 2
    assert "'torch' is not installed in this Python" in capsys.readouterr().err


def test_environment_yml_repeats_no_package():
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert "-e .[test]" in text and "-c constraints.txt" in text
    assert not any(f"- {name}" in text for name in ("torch", "jupyterlab", "matplotlib", "nbval", "ipywidgets"))


def test_the_stamp_is_not_trusted_when_it_cannot_be_read(clone):
    root, calls, _, _ = clone
    setup_env.lab([])
    (root / ".venv" / "installed.json").write_text("{half")
    calls.clear()
    setup_env.lab([])
    assert any("pip" in call for call in calls)
    assert json.loads((root / ".venv" / "installed.json").read_text(encoding="utf-8"))["extras"] == []
