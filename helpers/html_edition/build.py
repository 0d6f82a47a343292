"""Makes the edition: pages from the solved notebooks, Sphinx over them, then every link followed.

Sphinx runs with warnings as errors, so a link to a lesson or a heading that does not exist stops the build as well.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from . import links
from .pages import write_pages

HERE = Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "notebooks" / "solutions"


def build(out, sources=SOURCES):
    """Build the edition of the notebooks in `sources` into the folder `out`; returns the exit code (0, 1 or 2)."""
    from sphinx.cmd.build import build_main

    if not cleared(out):
        print(f"{out} holds something else than an earlier edition; name an empty or a new folder", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        pages, doctrees = Path(folder, "pages"), Path(folder, "doctrees")
        write_pages(sorted(sources.glob("*.ipynb")), pages)
        options = ["-b", "html", "-c", HERE, "-d", doctrees, "-q", "-W", "--keep-going", pages, out]
        if build_main([str(option) for option in options]):
            return 1
    return links.report(out)


def cleared(out):
    """Remove an earlier edition at `out`. False, and nothing removed, where the folder holds something else."""
    if not out.exists() or not any(out.iterdir()):
        return True
    if not (out / ".buildinfo").exists():  # Sphinx leaves it in every folder that it has built
        return False
    shutil.rmtree(out)
    return True


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1])))
