"""`python -m helpers cells [NN …]`: run the lessons and list their slowest cells, in both versions.

Nothing is written: the stored notebooks stay as they are. Exit code: 0 listed, 1 a cell raised, 2 no such lesson.
"""

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from ..progress import VARIABLE

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
VERSIONS = {"unsolved": "", "solved": "solutions"}  # version: its folder in notebooks/
BEGIN, END = "iopub.execute_input", "shell.execute_reply"


@dataclass(frozen=True)
class CellTime:
    """How long one code cell ran, in seconds, with the first line of its source."""

    notebook: str
    version: str
    cell: str
    seconds: float
    line: str


def main(arguments, here=NOTEBOOKS):
    """Run what the command line names and print it; returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        found = notebooks(options.names, here, [options.version] if options.version else list(VERSIONS))
    except ValueError as error:
        print(f"cells: {error}", file=sys.stderr)
        return 2
    times, failures = [], []
    for version, path in found:
        print(f"running {path.name} ({version})", file=sys.stderr, flush=True)
        try:
            times += cell_times(path, version)
        except CellExecutionError as error:
            failures.append(f"{path.name} ({version}): {error.ename}: {error.evalue}")
    print(listing(times, options.top))
    print("".join(f"cells: {failure}\n" for failure in failures), end="", file=sys.stderr)
    return 1 if failures else 0


def parser():
    p = argparse.ArgumentParser(prog="python -m helpers cells", description="List the slowest cells of the lessons.")
    p.add_argument("names", nargs="*", metavar="NN", help="beginnings of lessons' names, as in 05; all without")
    p.add_argument("--top", type=int, default=20, metavar="N", help="cells to list (%(default)s)")
    p.add_argument("--version", choices=VERSIONS, help="only this one")
    return p


def notebooks(names, here, versions):
    """`[(version, path), …]` of the lessons that begin with one of `names`. Raises ValueError for a name that none does."""
    known = sorted(path.name for path in (here / VERSIONS["solved"]).glob("*.ipynb"))
    for name in names:
        if not any(lesson.startswith(name) for lesson in known):
            raise ValueError(f"no lesson begins with {name!r}; there are {', '.join(known)}")
    chosen = [lesson for lesson in known if not names or lesson.startswith(tuple(names))]
    return [(version, here / VERSIONS[version] / lesson) for lesson in chosen for version in versions]


def cell_times(path, version):
    """A `CellTime` for each code cell of a notebook, run as the tests run it: one thread, an empty progress folder."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": path.parent}})
    with tempfile.TemporaryDirectory() as folder:
        client.execute(env={"OMP_NUM_THREADS": "1", **os.environ, VARIABLE: folder})
    ran = [cell for cell in notebook.cells if BEGIN in cell.metadata.get("execution", {})]
    return [CellTime(path.name, version, c.id, seconds(c), c.source.partition("\n")[0]) for c in ran]


def seconds(cell):
    began, ended = (datetime.fromisoformat(cell.metadata.execution[key].replace("Z", "+00:00")) for key in (BEGIN, END))
    return (ended - began).total_seconds()


def listing(times, top):
    """The `top` slowest cells, slowest first, and each notebook's total."""
    slowest = sorted(times, key=lambda t: -t.seconds)[:top]
    lines = [f"{t.seconds:8.2f} s  {t.notebook} ({t.version})  {t.cell}  {t.line[:60]}" for t in slowest]
    totals = {}
    for t in times:
        totals.setdefault((t.notebook, t.version), []).append(t.seconds)
    lines += ["", "Cells of each notebook together, without the start of its kernel:"]
    lines += [f"{sum(s):8.2f} s  {name} ({version}), {len(s)} cells" for (name, version), s in totals.items()]
    return "\n".join([*lines, f"{sum(t.seconds for t in times):8.2f} s  all"])
