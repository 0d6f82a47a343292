"""`python -m helpers report`: what is solved in each lesson, and what the learner's own code measured.

Exit code: 0 printed or written, 1 a file cannot be read or written, 2 the options cannot be used.
"""

import argparse
import sys
from pathlib import Path

from .. import progress
from ..checks.learner_report import markdown, page


def main(arguments):
    """Print the report, or write it; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m helpers report",
        description="What is solved in each lesson, and what your own code measured: Markdown, or one HTML page.",
    )
    parser.add_argument("--html", metavar="FILE", help="write it as one HTML page")
    parser.add_argument("--md", metavar="FILE", help="write it as Markdown")
    options = parser.parse_args(arguments)
    try:
        kept, message = progress.read()
        for file, text in ((options.html, page), (options.md, markdown)):
            if file:
                Path(file).write_text(text(kept, message), encoding="utf-8")
                print(f"written: {file}")
    except OSError as error:
        print(f"report: {error.strerror}: {error.filename}", file=sys.stderr)
        return 1
    if not options.html and not options.md:
        print(markdown(kept, message))
    elif message:
        print(f"note: {message}", file=sys.stderr)
    return 0
