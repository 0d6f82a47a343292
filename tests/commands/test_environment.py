"""The look at the environment: each thing that can be wrong is made wrong once."""

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from types import SimpleNamespace

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from helpers.commands import environment as env
from helpers.commands.environment import FAIL, NOTE, OK, Finding


@pytest.fixture
def run(tmp_path, capsys):
    def run():
        file = tmp_path / "check.json"
        code = env.main(["--json", str(file)])
        told = json.loads(file.read_text(encoding="utf-8"))
        return code, capsys.readouterr().out, told, {f["what"]: (f["state"], f["words"]) for f in told["findings"]}

    return run


@pytest.fixture
def without(monkeypatch):
    """Makes packages look uninstalled."""

    def without(*names):
        version = metadata.version

        def look(name):
            if name in names:
                raise metadata.PackageNotFoundError(name)
            return version(name)

        monkeypatch.setattr(metadata, "version", look)
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)  # importing it fails

    return without


def test_here_the_lessons_can_run(run):
    code, out, told, found = run()
    assert code == 0 and told["ok"] is True and "The lessons can run here." in out
    for what in (
        "Python",
        "torch",
        "kvaudit",
        "jupyterlab",
        "ipywidgets",
        "widgets in JupyterLab",
        "torch runs",
        "trained models",
    ):
        assert found[what][0] == OK and f"ok    {what:<24} {found[what][1]}\n" in out
    assert found["torch"][1].startswith(metadata.version("torch"))
    assert {"threads", "memory", "Chromium", "front end", "pytest (test)", "nbgrader (instructor)"} <= set(found)


def test_without_torch_it_says_so_and_goes_on(run, without):
    without("torch")
    code, out, told, found = run()
    assert code == 1 and told["ok"] is False
    assert found["torch"] == (FAIL, "not installed, wanted >=2.6")
    assert found["torch runs"][0] == FAIL and found["torch runs"][1].startswith("it cannot be imported: ")
    assert "FAIL  torch " in out and "The lessons will not run here: torch, torch runs." in out
    assert "threads" not in found and found["memory"][0] == OK


def test_with_nothing_installed_it_still_runs(tmp_path):
    """A bare Python without any site-packages, and a package folder without the course's metadata beside it."""
    (tmp_path / "helpers" / "commands").mkdir(parents=True)
    for name in (
        "__init__.py",
        "commands/__init__.py",
        "commands/environment.py",
        "commands/setup_env.py",
        "commands/versions.py",
    ):
        shutil.copy(env.ROOT / "helpers" / name, tmp_path / "helpers" / name)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from helpers.commands.environment import main; sys.exit(main([]))"
    )
    bare = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert bare.returncode == 1 and bare.stderr == ""
    assert "FAIL  kv-cache-by-hand         not installed in this Python" in bare.stdout
    assert "FAIL  kvaudit                  not installed in this Python" in bare.stdout
    assert "kv-cache-by-hand, kvaudit, widgets in JupyterLab, torch runs, trained models." in bare.stdout


def test_the_library_must_be_this_clones(monkeypatch, tmp_path):
    own = env.ROOT / "kvaudit" / "src" / "kvaudit"
    assert env.library() == Finding("kvaudit", OK, f"from {own}")
    monkeypatch.setattr(env.setup_env, "library", lambda: tmp_path / "kvaudit")
    assert env.library().state == FAIL and f"another one is imported, from {tmp_path}" in env.library().words
    monkeypatch.setattr(env.setup_env, "library", lambda: None)
    assert env.library().state == FAIL and "pip install -e ./kvaudit" in env.library().words


def test_the_library_may_be_a_copy_beside_a_copy_of_the_course(monkeypatch, tmp_path):
    monkeypatch.setattr(env, "ROOT", tmp_path)
    monkeypatch.setattr(env.setup_env, "library", lambda: tmp_path / "kvaudit")
    assert env.library().state == OK


def test_what_only_an_extra_wants_is_a_note(without):
    without("hypothesis")
    line = 'hypothesis>=6.100; extra == "test"'
    assert env.package(line) == Finding("hypothesis (test)", NOTE, "not installed, wanted >=6.100")


def test_a_version_outside_the_range_is_seen():
    version = metadata.version("torch")
    assert env.package("torch>=99") == Finding("torch", FAIL, f"{version}, wanted >=99")
    assert env.package("torch") == Finding("torch", OK, f"{version}, wanted any version")
    assert env.package("torch<2 ; extra == 'old'") == Finding("torch (old)", NOTE, f"{version}, wanted <2")


def test_an_old_python_is_seen(monkeypatch):
    monkeypatch.setattr(env.platform, "python_version", lambda: "3.9.18")
    assert env.python_version().state == FAIL and "3.9.18, wanted >=3.10" in env.python_version().words


@pytest.mark.parametrize("line", metadata.requires(env.NAME))
def test_every_requirement_of_the_course_can_be_read(line):
    assert env.package(line).state in (OK, NOTE)


RELEASES = st.lists(st.integers(0, 12), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))


@settings(deadline=None, max_examples=80)
@given(RELEASES, st.sampled_from([">={}", "<{}", "=={}", "=={}.*", ">={},<11"]), RELEASES)
def test_ranges_mean_what_packaging_says(version, form, wanted):
    specifier = form.format(wanted)
    assert env.fits(version, specifier) == SpecifierSet(specifier).contains(version)


def test_local_versions_count_by_their_release():
    assert (
        env.fits("2.13.0+cpu", ">=2.6") and env.fits("2.13.0+cpu", "==2.13.0") and not env.fits("2.5.1+cu124", ">=2.6")
    )


@pytest.mark.parametrize("clause", ["~=1.2", "!=3", ">=two"])
def test_a_clause_that_cannot_be_read_is_not_passed_over(clause):
    with pytest.raises(ValueError, match="cannot read the version clause"):
        env.fits("1.0", clause)


def test_widgets_need_their_extension(without):
    without("jupyterlab_widgets")
    assert env.widgets().state == FAIL


def test_more_threads_than_cores_is_a_note():
    assert env.threads(2, 2) == Finding("threads", OK, "torch uses 2, cores to use: 2")
    assert env.threads(3, 2).state == NOTE and "set OMP_NUM_THREADS" in env.threads(3, 2).words


@pytest.mark.parametrize(
    ("cuda", "mps", "found"), [(0, 0, ["cpu"]), (1, 0, ["cpu", "cuda (X9)"]), (0, 1, ["cpu", "mps"])]
)
def test_devices(cuda, mps, found):
    torch = SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: cuda, get_device_name=lambda: "X9"),
        backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps)),
    )
    assert env.devices(torch) == found


def test_little_memory_is_a_note_and_none_measured_is_said(monkeypatch):
    for gb, state, words in ((1.5, NOTE, "1.5 GB;"), (16, OK, "16.0 GB;"), (None, OK, "not measured")):
        monkeypatch.setattr(env, "memory_gb", lambda gb=gb: gb)
        assert env.memory().state == state and env.memory().words.startswith(words)


def test_memory_is_measured_where_there_is_no_sysconf(monkeypatch):
    usual = env.memory_gb()
    assert usual == pytest.approx(psutil.virtual_memory().total / 1e9, rel=0.01)
    monkeypatch.delattr(os, "sysconf", raising=False)
    assert env.memory_gb() == pytest.approx(usual, rel=0.01)
    monkeypatch.setattr(env.util, "find_spec", lambda name: None)
    assert env.memory_gb() is None


def test_missing_weights_are_named(tmp_path):
    (tmp_path / "ledger-rope.safetensors").touch()
    found = env.weights(tmp_path)
    assert found.state == FAIL and found.words.startswith("ledger-learned.safetensors not found in")


def test_without_a_chromium_the_browser_tests_are_skipped(monkeypatch):
    monkeypatch.setattr(env.shutil, "which", lambda name: "/bin/chrome" if name == "google-chrome" else None)
    assert env.chromium() == Finding("Chromium", OK, "/bin/chrome")
    monkeypatch.setattr(env.shutil, "which", lambda name: None)
    assert env.chromium().state == NOTE


@pytest.mark.parametrize(
    ("variables", "state", "words"),
    [
        ([], OK, "a terminal"),
        (["JPY_PARENT_PID"], OK, "a kernel without a notebook page (nbval, nbconvert)"),
        (["JPY_PARENT_PID", "JPY_SESSION_NAME"], OK, "Jupyter, in a notebook's kernel"),
        (["JPY_PARENT_PID", "VSCODE_PID"], NOTE, "VS Code; tested is JupyterLab alone"),
        (["JPY_PARENT_PID", "COLAB_RELEASE_TAG"], NOTE, "Google Colab; tested is JupyterLab alone"),
    ],
)
def test_front_ends(variables, state, words):
    assert env.front_end(dict.fromkeys(variables, "1")) == Finding("front end", state, words)


def test_a_file_that_cannot_be_written_is_said_in_words(capsys):
    assert env.main(["--json", "no/such/folder/check.json"]) == 2
    assert capsys.readouterr().err.startswith("check: ")
