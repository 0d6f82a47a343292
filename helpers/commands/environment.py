"""`python -m helpers check`: what is installed, what the machine has, and what will not work here.

Standard library only, so that it can say what is missing. Exit code: 0 the lessons can run, 1 they cannot, 2 the
options cannot be used.
"""

import argparse
import json
import os
import platform
import re
import shutil
import sys
from dataclasses import asdict, dataclass
from importlib import metadata, util
from pathlib import Path

from . import setup_env
from .setup_env import LIBRARY, NAME, OLDEST, ROOT
from .versions import fits

OK, NOTE, FAIL = "ok", "note", "FAIL"  # note: something is limited; FAIL: the lessons will not run
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WEIGHTS = ("ledger-learned", "ledger-rope")
MEMORY_GB = 2  # a lesson's kernel takes less than 1 GB; the browser wants the rest
FRONT_ENDS = {  # a variable that it sets for its kernels: (name, whether the lessons are tested in it)
    "COLAB_RELEASE_TAG": ("Google Colab", False),
    "VSCODE_PID": ("VS Code", False),
    "BINDER_LAUNCH_HOST": ("Binder", True),
    "JPY_SESSION_NAME": ("Jupyter, in a notebook's kernel", True),
    "JPY_PARENT_PID": ("a kernel without a notebook page (nbval, nbconvert)", True),
}


@dataclass(frozen=True)
class Finding:
    """One thing looked at: `state` is "ok", "note" or "FAIL", `words` say what was seen and what to do."""

    what: str
    state: str
    words: str


def main(arguments):
    """Print what was found; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m helpers check", description="Look at this environment.")
    parser.add_argument("--json", metavar="FILE", help="also write the findings")
    options = parser.parse_args(arguments)
    found = list(findings())
    ok = not any(finding.state == FAIL for finding in found)
    if options.json:
        told = {"ok": ok, "findings": [asdict(finding) for finding in found]}
        try:
            Path(options.json).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            print(f"check: {error}", file=sys.stderr)
            return 2
    for finding in found:
        print(f"{finding.state:<5} {finding.what:<24} {finding.words}")
    print("\n" + verdict(found))
    return 0 if ok else 1


def verdict(found):
    failed, noted = (", ".join(f.what for f in found if f.state == state) for state in (FAIL, NOTE))
    if failed:
        return f"The lessons will not run here: {failed}. In a clone, 'python -m helpers lab' installs what is missing."
    return "The lessons can run here." + (f" Limited: {noted}." if noted else "")


def findings():
    """All `Finding`s, in the order in which they are printed."""
    yield python_version()
    yield from packages()
    yield library()
    yield widgets()
    yield from torch_findings()
    for look in (memory, weights, chromium, front_end):
        yield look()


def python_version():
    wanted = ">=" + ".".join(map(str, OLDEST))
    seen = platform.python_version()
    return Finding("Python", OK if fits(seen, wanted) else FAIL, f"{seen}, wanted {wanted}; {sys.executable}")


def packages():
    """The course itself, then each package that its installed metadata asks for."""
    try:
        version, lines = metadata.version(NAME), metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:
        yield Finding(NAME, FAIL, f"not installed in this Python, so its packages are not either; it is in {ROOT}")
        return
    yield Finding(NAME, OK, f"{version}, from {ROOT}")
    yield from map(package, lines)


def library():
    """Whether `kvaudit` is imported from this clone, or from beside the course where both are installed as copies."""
    here, found = ROOT / LIBRARY, setup_env.library()
    if found is None:
        return Finding(LIBRARY, FAIL, f"not installed in this Python; the clone holds it: pip install -e ./{LIBRARY}")
    if here not in (found, *found.parents):
        return Finding(LIBRARY, FAIL, f"another one is imported, from {found}; this clone's is in {here}")
    return Finding(LIBRARY, OK, f"from {found}")


def package(line):
    """A `Finding` for one requirement such as 'pytest>=8; extra == "test"'. What only an extra wants is noted, not missed."""
    name, specifier, extra = re.match(r"([\w.-]+)\s*([^;]*?)\s*(?:;.*extra == [\"'](\w+).*)?$", line).groups()
    what, missing = (f"{name} ({extra})", NOTE) if extra else (name, FAIL)
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(what, missing, f"not installed, wanted {specifier or 'any version'}")
    return Finding(what, OK if fits(version, specifier) else missing, f"{version}, wanted {specifier or 'any version'}")


def widgets():
    """JupyterLab draws widgets only with this extension, which ipywidgets brings."""
    try:
        return Finding("widgets in JupyterLab", OK, f"jupyterlab_widgets {metadata.version('jupyterlab_widgets')}")
    except metadata.PackageNotFoundError:
        return Finding("widgets in JupyterLab", FAIL, "jupyterlab_widgets is missing; install ipywidgets again")


def torch_findings():
    try:
        import torch
    except (ImportError, OSError) as error:  # OSError: its libraries are there and do not load
        yield Finding("torch runs", FAIL, f"it cannot be imported: {error}")
        return
    yield Finding("torch runs", OK, f"on {', '.join(devices(torch))}; the lessons use the cpu")
    yield threads(torch.get_num_threads(), cores())


def devices(torch):
    cuda = [f"cuda ({torch.cuda.get_device_name()})"] if torch.cuda.is_available() else []
    return ["cpu", *cuda, *(["mps"] if torch.backends.mps.is_available() else [])]


def cores():
    """Processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads(used, usable):
    many = "; more threads than cores slow each other down: set OMP_NUM_THREADS" if used > usable else ""
    return Finding("threads", NOTE if many else OK, f"torch uses {used}, cores to use: {usable}{many}")


def memory():
    gb = memory_gb()
    if gb is None:
        return Finding("memory", OK, "not measured on this system")
    return Finding(
        "memory", OK if gb >= MEMORY_GB else NOTE, f"{gb:.1f} GB; a lesson and its browser take {MEMORY_GB} GB"
    )


def memory_gb():
    """Installed memory; None where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf; psutil comes with Jupyter's kernel
        if util.find_spec("psutil") is None:
            return None
        import psutil

        return psutil.virtual_memory().total / 1e9


def weights(folder=ROOT / "helpers" / "ledger"):
    gone = [f"{name}.safetensors" for name in WEIGHTS if not (folder / f"{name}.safetensors").exists()]
    words = f"{' and '.join(gone)} not found in {folder}: restore from the repository" if gone else str(folder)
    return Finding("trained models", FAIL if gone else OK, words)


def chromium():
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    return Finding("Chromium", OK if path else NOTE, path or "not found: the browser tests will be skipped")


def front_end(environ=os.environ):
    known = next((FRONT_ENDS[variable] for variable in FRONT_ENDS if variable in environ), ("a terminal", True))
    name, tested = known
    return Finding("front end", OK if tested else NOTE, name + ("" if tested else "; tested is JupyterLab alone"))
