"""`python -m helpers html [OUT]`: the solved lessons as a website that needs neither a server nor a network.

Standard library only, so that it can first install what the edition is made with (the extra `html`, for Python 3.11 or
newer). Exit code: 0 built and every link holds, 1 it did not build or a link is broken, 2 it could not be set up or the
options cannot be used.
"""

import argparse
from pathlib import Path

from ..html_edition.links import report
from .setup_env import ROOT, ready_python, run


def main(arguments):
    """Set up what is missing and build the edition; returns the exit code. Raises SetupError."""
    parser = argparse.ArgumentParser(prog="python -m helpers html", description="The solved lessons as a website.")
    parser.add_argument("out", nargs="?", default=ROOT / "build" / "html", type=Path, help="folder (build/html)")
    parser.add_argument("--check", action="store_true", help="build nothing, check the links of OUT")
    options = parser.parse_args(arguments)
    out = options.out.resolve()
    if options.check:
        return report(out)
    return run([ready_python(["html"]), "-m", "helpers.html_edition.build", out])
