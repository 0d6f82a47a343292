"""Set-up with nothing but Python: makes `.venv`, installs the course into it, opens the lab or runs the tests.

Standard library only, and written so that an old Python can still read it and say that it is too old.
"""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
STAMP = VENV / "installed.json"
NAME = "kv-cache-by-hand"
LIBRARY = "kvaudit"  # its project's folder in the clone and its import name
OLDEST = (3, 10)
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
# a file, and so a lesson, stays in one process; files go in conftest.py's order, the long ones first; -n 0 takes it back
PARALLEL = ["-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder"]
STOPPED = 130  # exit code after Ctrl-C
ROOM_GB = 4  # what the installation takes at most with a CPU build of torch, caches included


class SetupError(Exception):
    """Something that the person at the terminal can mend; the message says how."""


def lab(arguments):
    """Set up what is missing and open JupyterLab on the lessons; further arguments go to JupyterLab."""
    cpu, arguments = cpu_wanted(arguments)
    python = ready_python([], cpu)
    return run([python, "-m", "jupyterlab", "--ServerApp.root_dir={}".format(ROOT / "notebooks"), *arguments])


def test(arguments):
    """Set up what is missing and run everything: style, tests, both versions of every lesson. Arguments go to pytest."""
    cpu, arguments = cpu_wanted(arguments)
    python = ready_python(["test"], cpu)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the models are small: a second thread costs more than it gives
    types = ["mypy", "--config-file", "kvaudit/pyproject.toml", "kvaudit/src"]
    steps = [["ruff", "check", "."], ["ruff", "format", "--check", "."], types, ["pytest", *PARALLEL, *arguments]]
    codes = [run([python, "-m", *step]) for step in steps]
    return next((code for code in codes if code), 0)


def cpu_wanted(arguments):
    return "--cpu" in arguments, [a for a in arguments if a != "--cpu"]


def run(command):
    """Run a command in the repository's folder; Ctrl-C is the command's to handle."""
    try:
        return subprocess.call([str(part) for part in command], cwd=str(ROOT))
    except KeyboardInterrupt:
        return STOPPED


def ready_python(extras, cpu=False):
    """The Python that has the course installed: this one where it does (conda, your own environment), else `.venv`'s."""
    check_python(sys.version_info)
    if not (ROOT / "pyproject.toml").exists():
        raise SetupError(
            "{} holds no pyproject.toml. 'lab' and 'test' work in a clone of the repository; run them in its "
            "folder: cd CLONE, then python -m helpers lab".format(ROOT)
        )
    if Path(sys.prefix).resolve() != VENV.resolve() and has_everything(extras):
        return sys.executable
    python = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = fingerprint()
    have = read_stamp()
    if not python.exists() or have.get("fingerprint") != wanted or not set(extras) <= set(have.get("extras", [])):
        install(python, sorted(set(extras) | set(have.get("extras", []))), wanted, cpu)
    return str(python)


def check_python(version):
    if tuple(version[:2]) < OLDEST:
        raise SetupError(
            "this is Python {}.{}; the course needs {}.{} or newer. Install one and start again with it, for "
            "example: python3.12 -m helpers lab".format(version[0], version[1], *OLDEST)
        )


def has_everything(extras):
    """Whether the running Python has this clone and its library installed, and every package that the course asks for."""
    from importlib import metadata

    try:
        # not through sys.path: an installation leaves its egg-info in the clone, which any Python started there sees
        installed = next(iter(metadata.distributions(name=NAME, path=[sysconfig.get_path("purelib")])), None)
        source = unquote(json.loads((installed and installed.read_text("direct_url.json")) or "{}").get("url", ""))
        if not source.rstrip("/").endswith(ROOT.as_posix().rstrip("/")):
            return False  # not installed, or another clone's
        for line in installed.requires or []:
            extra = re.search(r"extra == [\"'](\w+)", line)
            if extra is None or extra.group(1) in extras:
                metadata.distribution(re.match(r"[\w.-]+", line).group())
    except metadata.PackageNotFoundError:
        return False
    return library() == ROOT / LIBRARY / "src" / LIBRARY


def library():
    """The folder from which `kvaudit` is imported; None where it is not installed.

    In the clone's folder Python takes the library's project folder, which holds no module, for an empty package.
    """
    spec = importlib.util.find_spec(LIBRARY)
    return Path(spec.origin).resolve().parent if spec is not None and spec.origin else None


def fingerprint():
    """Changes when the dependencies or the Python do."""
    names = ("pyproject.toml", LIBRARY + "/pyproject.toml", "constraints.txt")
    parts = [(ROOT / name).read_bytes() for name in names]
    return hashlib.sha256(b"".join(parts) + sys.version.encode()).hexdigest()


def read_stamp():
    try:
        return json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def install(python, extras, wanted, cpu):
    """Make `.venv` and install into it. The stamp is written last, so an interrupted installation is done again."""
    free = shutil.disk_usage(str(ROOT)).free / 1e9
    if free < ROOM_GB:
        raise SetupError("{:.1f} GB are free on this disk; the installation needs up to {} GB".format(free, ROOM_GB))
    try:
        VENV.mkdir(exist_ok=True)
        STAMP.write_text("{}", encoding="utf-8")  # nothing is installed until it is whole
    except OSError as error:
        raise SetupError(
            "{} cannot be written ({}), and all that the course needs is installed there. Copy the clone into a folder "
            "of your own and run the command in it".format(VENV, error.strerror)
        ) from None
    try:
        if not (python.exists() and has_pip(python)):
            make_venv()
        install_packages(python, extras, cpu)
    except KeyboardInterrupt:
        say("\nThe set-up was stopped. The same command goes on from here.")
        raise
    STAMP.write_text(json.dumps({"fingerprint": wanted, "extras": extras}), encoding="utf-8")


def has_pip(python):
    return subprocess.call([str(python), "-c", "import pip"], stderr=subprocess.DEVNULL) == 0


def make_venv():
    say("Making {} ...".format(VENV))
    with tempfile.TemporaryFile() as messages:  # which are a traceback where Ctrl-C was pressed
        failed = subprocess.call([sys.executable, "-m", "venv", "--clear", str(VENV)], stderr=messages)  # half made?
        messages.seek(0)
        sys.stderr.write(messages.read().decode("utf-8", "replace"))
    if failed:
        raise SetupError(
            "Python could not make a virtual environment (its own message is above). On Debian and Ubuntu this "
            "helps: sudo apt install python3-venv"
        )


def install_packages(python, extras, cpu):
    say("Installing the course and its packages into .venv: a few minutes, once. torch is the large one.")
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "-c", "constraints.txt"]
    command += ["--extra-index-url", CPU_INDEX] if cpu else []
    code = run([*command, "-e", "./" + LIBRARY, "-e", ".[{}]".format(",".join(extras)) if extras else "."])
    if code == STOPPED:
        raise KeyboardInterrupt
    if code:
        raise SetupError(
            "pip could not install the packages (its own message is above). Is the network there? Is a proxy needed "
            "(pip reads HTTPS_PROXY)? The same command goes on from here."
        )


def say(text):
    print(text, flush=True)
