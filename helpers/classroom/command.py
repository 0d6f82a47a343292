"""`python -m helpers class …`: the lessons as an nbgrader course, without a server.

Standard library only, so that it can first install what a class needs (the extra `instructor`).
"""

import argparse
import subprocess
from pathlib import Path

from ..commands.setup_env import ready_python

STEPS = {
    "release": "make a course folder, and in it the notebooks to hand out",
    "collect": "sort the files that were handed in into the course folder",
    "grade": "run what was handed in, write feedback, print the scores",
    "scores": "print the scores again and write scores.csv",
    "grades": "write the scores into a grade book's CSV file, downloaded from Moodle or Canvas",
}


def main(arguments):
    """Set up what is missing and do one step of a course.

    Exit code: 1 where something that was handed in could not be read, 2 where nothing was done. Raises SetupError and KeyboardInterrupt.
    """
    parser().parse_args(arguments)  # says what is wrong before anything is installed
    return subprocess.call([ready_python(["instructor"]), "-m", "helpers.classroom.steps", *arguments])


def parser():
    p = argparse.ArgumentParser(prog="python -m helpers class", description="The lessons as an nbgrader course.")
    steps = p.add_subparsers(required=True, metavar="STEP", dest="step")
    for name, words in STEPS.items():
        one = steps.add_parser(name, help=words, description=words)
        one.add_argument("course", type=Path, metavar="COURSE", help="the course's folder")
        if name == "collect":
            one.add_argument("folder", type=Path, metavar="FOLDER", help="where the files lie that were handed in")
        else:
            one.add_argument("lessons", nargs="*", metavar="LESSON", help="beginnings of names, as in 05 (all without)")
        if name == "grade":
            one.add_argument("--student", action="append", default=[], help="only this one; may be given again")
        if name == "grades":
            add_grade_book(one)
    return p


def add_grade_book(one):
    """The options of `grades`."""
    book = one.add_mutually_exclusive_group(required=True)
    book.add_argument(
        "--moodle", type=Path, metavar="FILE", help="an assignment's worksheet, or the exported grade book"
    )
    book.add_argument("--canvas", type=Path, metavar="FILE", help="the exported grade book")
    one.add_argument("--column", action="append", default=[], type=column, metavar="05=TITLE", help="a lesson's column")
    one.add_argument("--scale", action="store_true", help="convert the points to the grade book's maximum")
    one.add_argument("--out", type=Path, metavar="FILE", help="where to write it (without: into the course's folder)")


def column(text):
    """("05", "a column's title") of `05=a column's title`."""
    lesson, equals, title = text.partition("=")
    if not (lesson and equals and title.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form 05=TITLE")
    return lesson.strip(), title.strip()
