"""How much memory each lesson's kernel takes at most: `python -m hub.kernel_memory [BEGINNING …]` (Linux).

Runs the learner's version of each lesson whose file name begins so (all without), each in a kernel of its own, and reads
the kernel's largest resident set from the system. Exit code 1 if one takes more than the LIMIT.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

LESSONS = Path(__file__).resolve().parents[1] / "notebooks"
LIMIT_MB = 1500


def main(names):
    largest = 0
    for path in sorted(LESSONS.glob("[0-9]*.ipynb")):
        if not names or path.name.startswith(tuple(names)):
            mb, cpu = peak(path)
            largest = max(largest, mb)
            print(f"{path.stem:<28} {mb:>5.0f} MB  {cpu:>5.1f} CPU seconds", flush=True)
    print(f"largest: {largest:.0f} MB, limit {LIMIT_MB}")
    return 0 if 0 < largest <= LIMIT_MB else 1


def peak(path):
    """(largest resident set in MB, CPU seconds) of a kernel that runs the whole lesson; a raising cell is an error."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as progress:
        os.environ["KV_CACHE_PROGRESS"] = progress  # the kernel inherits it
        client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(LESSONS)}})
        with client.setup_kernel():
            for number, cell in enumerate(notebook.cells):
                client.execute_cell(cell, number)
            return used(Path("/proc") / str(client.km.provisioner.pid))


def used(process):
    """(largest resident set in MB, CPU seconds) of a process, from its folder in /proc."""
    kilobytes = int(re.search(r"VmHWM:\s+(\d+) kB", (process / "status").read_text())[1])
    ticks = (process / "stat").read_text().rpartition(")")[2].split()[11:13]  # user, system
    return kilobytes * 1024 / 1e6, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
