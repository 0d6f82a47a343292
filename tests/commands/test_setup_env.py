"""Set-up: what it runs, when it does nothing, and what it says where it cannot go on."""

import ast
import json
import os
import subprocess
import sys
from importlib import metadata
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
    (root / "kvaudit").mkdir(parents=True)
    for name in ("pyproject.toml", "kvaudit/pyproject.toml", "constraints.txt"):
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
    assert calls[1][:4] == [python, "-m", "pip", "install"] and calls[1][-4:] == ["-e", "./kvaudit", "-e", "."]
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
    assert calls[0] == [python, "-c", "import pip"] and calls[1][-4:] == ["-e", "./kvaudit", "-e", ".[test]"]
    assert [c[2] for c in calls[2:]] == ["ruff", "ruff", "mypy", "pytest"] and calls[-1][-2:] == ["-k", "mask"]
    calls.clear()
    setup_env.lab([])
    assert len(calls) == 1


@pytest.mark.parametrize("file", ["pyproject.toml", "kvaudit/pyproject.toml", "constraints.txt"])
def test_a_changed_dependency_is_installed(clone, file):
    root, calls, _, _ = clone
    setup_env.lab([])
    (root / file).write_text("other")
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


def test_an_environment_that_has_everything_is_used_as_it_is(monkeypatch):
    assert setup_env.has_everything(["test"])
    with monkeypatch.context() as patch:
        patch.setattr(setup_env, "ROOT", ROOT / "another clone")
        assert not setup_env.has_everything([])


@pytest.mark.parametrize("elsewhere", [None, Path(sys.prefix) / "kvaudit", ROOT / "another clone/kvaudit/src/kvaudit"])
def test_an_environment_without_this_clones_library_has_not_everything(monkeypatch, elsewhere):
    """Not installed, installed as a copy that an edit does not reach, another clone's."""
    monkeypatch.setattr(setup_env, "library", lambda: elsewhere)
    assert not setup_env.has_everything([])


BARE = [sys.executable, "-S", "-c"]  # a Python without installed packages


def test_the_librarys_project_folder_is_not_taken_for_the_library():
    """In the clone's folder Python finds `kvaudit/`, an empty package."""
    code = "import kvaudit; from helpers.commands import setup_env; print(kvaudit.__path__, setup_env.library())"
    said = subprocess.check_output([*BARE, code], cwd=ROOT, text=True)
    assert "_NamespacePath" in said and said.strip().endswith("None")


def test_the_library_is_found_where_its_source_is_on_the_path():
    code = "from helpers.commands import setup_env; print(setup_env.library())"
    source = ROOT / "kvaudit" / "src"
    said = subprocess.check_output([*BARE, code], cwd=ROOT, text=True, env={**os.environ, "PYTHONPATH": str(source)})
    assert said.strip() == str(source / "kvaudit")


def test_what_runs_before_the_set_up_can_be_read_by_an_old_python_and_needs_no_package():
    for name in ("__init__.py", "__main__.py", "commands/__init__.py", "commands/setup_env.py"):
        ast.parse((ROOT / "helpers" / name).read_text(encoding="utf-8"), feature_version=(3, 6))
    code = "import sys, helpers.commands.setup_env, helpers.__main__; sys.exit(any(m in sys.modules for m in ('torch', 'numpy')))"
    assert subprocess.call([sys.executable, "-c", code], cwd=ROOT) == 0


@pytest.mark.parametrize(
    "code", ["import kvaudit.audit", "from kvaudit import audit"]
)  # the second is an ImportError of another kind
def test_without_the_library_a_command_says_so(capfd, code):
    """As in the clone's folder after a set-up of the time before the library was one."""
    door = "import sys; from helpers import __main__ as door; door.importlib.import_module = lambda name: exec({!r}); "
    done = subprocess.call([*BARE, door.format(code) + "sys.exit(door.main(['demo']))"], cwd=ROOT)
    assert done == 2 and capfd.readouterr().err.startswith("'kvaudit' is not installed in this Python")


def test_an_error_of_the_librarys_own_is_not_taken_for_its_absence(monkeypatch):
    def wrong(name):
        from kvaudit import no_such_name  # noqa: F401

    monkeypatch.setattr(door.importlib, "import_module", wrong)
    with pytest.raises(ImportError, match="no_such_name"):
        door.main(["demo"])


def test_no_list_of_packages_names_the_library():
    """An index would be asked for it, and the name may be a stranger's there: it is installed from its folder alone."""
    assert not [line for line in metadata.requires(setup_env.NAME) if line.startswith("kvaudit")]


def test_environment_yml_repeats_no_package():
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert "- -e ./kvaudit\n" in text and "-e .[test]" in text and "-c constraints.txt" in text
    assert not any(f"- {name}" in text for name in ("torch", "jupyterlab", "matplotlib", "nbval", "ipywidgets"))


def test_the_stamp_is_not_trusted_when_it_cannot_be_read(clone):
    root, calls, _, _ = clone
    setup_env.lab([])
    (root / ".venv" / "installed.json").write_text("{half")
    calls.clear()
    setup_env.lab([])
    assert any("pip" in call for call in calls)
    assert json.loads((root / ".venv" / "installed.json").read_text(encoding="utf-8"))["extras"] == []
