"""The package by itself: what its wheel holds, and that it needs torch alone.

A fresh virtual environment is given links to the running one's torch and to what torch needs, and nothing else.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from email.parser import Parser
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

import kvaudit
from kvaudit.bugs import BUGS

PROJECT = Path(__file__).resolve().parents[1]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
ABSENT = ("helpers", "transformers", "matplotlib", "IPython", "pytest")
TOPS = "import sys, json; print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"


def needs(name, found=()):
    """A package and all that it requires by itself."""
    found = {*found, name}
    for requirement in map(Requirement, metadata.requires(name) or []):
        if requirement.name not in found and (not requirement.marker or requirement.marker.evaluate({"extra": ""})):
            found |= needs(requirement.name, found)
    return found


def link(package, site):
    """Links in the folder `site` to an installed package's modules and to what is known of it."""
    installed = metadata.distribution(package)
    for name in {file.parts[0] for file in installed.files} - {"..", "__pycache__"}:
        target = Path(installed.locate_file(name))
        if not (site / name).exists():  # several packages may share a folder
            (site / name).symlink_to(target, target_is_directory=target.is_dir())


class Environment:
    """A virtual environment that sees torch, its needs and pip."""

    def __init__(self, folder):
        self.folder = folder
        venv.create(folder, symlinks=os.name != "nt")
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")
        site = Path(self.python("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        for package in needs("torch") | {"pip"}:
            try:
                link(package, site)
            except OSError as error:  # Windows: making links is a right of its own
                pytest.skip(f"no links can be made here: {error}")

    def run(self, *command):
        """What a command prints that is started in the environment's own folder; its failure shows all of it."""
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run([*map(str, command)], cwd=self.folder, env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def python(self, *arguments):
        return self.run(self.bin / "python", *arguments)

    def packages(self):
        return {p["name"]: p["version"] for p in json.loads(self.python("-m", "pip", "list", "--format", "json"))}


@pytest.fixture(scope="module")
def before(tmp_path_factory):
    """The environment with torch alone."""
    pytest.importorskip("pip")
    return Environment(tmp_path_factory.mktemp("torch alone"))


@pytest.fixture(scope="module")
def wheel(before, tmp_path_factory):
    """Built there without an index: what torch needs is enough. From a copy, since a build leaves files behind."""
    copy = tmp_path_factory.mktemp("project")
    shutil.copytree(PROJECT / "src", copy / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    shutil.copytree(PROJECT / "tests", copy / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, copy)
    before.python("-m", "pip", "wheel", "--no-index", "--no-build-isolation", "--no-deps", "-w", copy / "dist", copy)
    return next((copy / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def installed(before, wheel):
    """(the environment after `pip install`, without an index, of the wheel; what `pip list` said before)."""
    packages = before.packages()
    before.python("-m", "pip", "install", "--no-index", wheel)
    return before, packages


def test_the_wheel_holds_every_module_the_types_and_the_licence_and_no_tests(wheel):
    held = set(ZipFile(wheel).namelist())
    source = PROJECT / "src"
    assert {name for name in held if name.endswith(".py")} == {
        file.relative_to(source).as_posix() for file in source.rglob("*.py")
    }
    assert "kvaudit/py.typed" in held and any(name.endswith("licenses/LICENSE") for name in held)


def test_the_wheel_says_what_it_is(wheel):
    archive = ZipFile(wheel)
    told = {name.rpartition("/")[2]: archive.read(name).decode() for name in archive.namelist() if "dist-info" in name}
    data = Parser().parsestr(told["METADATA"])
    assert (data["Name"], data["Version"], data["License-Expression"]) == ("kvaudit", kvaudit.__version__, "MIT")
    assert data["Description-Content-Type"] == "text/markdown" and data.get_payload().strip() == README.strip()
    assert "Typing :: Typed" in data.get_all("Classifier")
    assert [r for r in data.get_all("Requires-Dist") if "extra ==" not in r] == ["torch>=2.6"]
    assert "kvaudit = kvaudit.command:main" in told["entry_points.txt"]


def test_installing_it_beside_torch_adds_itself_alone(installed):
    environment, before = installed
    after = environment.packages()
    assert "torch" in before and after.items() - before.items() == {("kvaudit", kvaudit.__version__)}


@pytest.mark.parametrize("name", ABSENT)
def test_the_environment_has_nothing_of_the_courses(installed, name):
    environment, _ = installed
    assert environment.python("-c", f"import importlib.util as u; print(u.find_spec({name!r}))").strip() == "None"


EXAMPLES = re.findall(r"^```python\n(.*?)^```$(.*?)(?=^```python|^## How)", README, flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("example", "shown"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_of_the_readme_prints_the_verdict_that_stands_there(example, shown, installed, tmp_path):
    """Of what follows the example, the verdict and the first suspect are compared, figures not."""
    told = re.findall(r"Verdict: [A-Z ]+|Suspect 1: .+|look at: .+", shown)
    assert len(told) == 3
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    printed = installed[0].python(tmp_path / "example.py")
    assert not [line for line in told if line not in printed], printed


def test_the_readme_has_two_examples_and_the_number_of_bugs_that_can_be_named():
    named = sum(bug.family != "rounding" for bug in BUGS.values())
    assert len(EXAMPLES) == 2 and f"({named} bugs in `kvaudit/bugs.py`" in README


def test_the_command_is_there_and_explains_itself_without_transformers(installed):
    environment, _ = installed
    assert "usage: " in environment.run(environment.bin / "kvaudit", "--help")
    assert "usage: " in environment.python("-m", "kvaudit", "--help")


def test_importing_it_imports_what_torch_imports():
    """Here, where transformers and matplotlib are installed and could be imported."""
    torch, ours = (
        set(json.loads(subprocess.check_output([sys.executable, "-c", f"import {names}; {TOPS}"], text=True)))
        for names in ("torch", "kvaudit, kvaudit.__main__")
    )
    assert ours - torch - sys.stdlib_module_names == {"kvaudit"}
