"""A course folder of nbgrader's, made from notebooks/solutions: settings, sources, the notebooks to hand out."""

import os
import re
import sys
from pathlib import Path

import nbformat
from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.utils import capture_log
from traitlets.config import PyFileConfigLoader

from ..checks.learner_report import NOTEBOOKS
from ..checks.stubs import annotate
from .errors import ClassError
from .settings import CONFIG

SETTINGS = "nbgrader_config.py"
# In the file that grades, not in the one that is handed out: a `check` of the learner's own making counts for nothing.
IMPORT = "### BEGIN HIDDEN TESTS\nfrom helpers.checks import check\n### END HIDDEN TESTS\n"


def lessons(names=(), notebooks=NOTEBOOKS):
    """The lessons whose names begin with one of `names` (all without), as `05_prefill_and_decode`; ClassError if none."""
    found = sorted(path.stem for path in (notebooks / "solutions").glob("[0-9][0-9]_*.ipynb"))
    for name in names:
        if not any(lesson.startswith(name) for lesson in found):
            raise ClassError(f"no lesson begins with {name!r}; there are {', '.join(found)}")
    return [lesson for lesson in found if not names or lesson.startswith(tuple(names))]


def release(course, names=(), notebooks=NOTEBOOKS):
    """Make (or renew) `course`: settings, `source/`, and in `release/` what is handed out. Returns the lessons' names.

    Raises ClassError where nbgrader refuses: it changes no lesson's cells once there are submissions for it.
    """
    chosen = lessons(names, notebooks)
    course.mkdir(parents=True, exist_ok=True)
    if not (course / SETTINGS).exists():  # a teacher's own settings stay
        (course / SETTINGS).write_text(CONFIG, encoding="utf-8")
    for lesson in chosen:
        write_source(notebooks / "solutions" / f"{lesson}.ipynb", course / "source" / lesson)
        run(GenerateAssignment, course, lesson)
    return chosen


def write_source(path, folder):
    """The solved lesson as nbgrader wants it: roles and points from the checks, no outputs, its pictures beside it."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            annotate(cell)
            cell.outputs, cell.execution_count = [], None
            if cell.metadata.get("nbgrader", {}).get("grade"):
                cell.source = IMPORT + cell.source
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / path.name)


def opened(course):
    """nbgrader's settings and course directory for the folder `course`; ClassError if it is none."""
    course = Path(course).resolve()
    if not (course / SETTINGS).exists():
        raise ClassError(f"{course} is no course folder: make one with  python -m helpers class release {course}")
    beside = str(Path(sys.executable).parent)  # nbgrader calls alembic by its name alone, which makes the gradebook
    if beside not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = beside + os.pathsep + os.environ["PATH"]
    config = PyFileConfigLoader(SETTINGS, str(course)).load_config()
    config.CourseDirectory.root = str(course)
    return config, CourseDirectory(config=config)


def run(converter, course, lesson, student="*"):
    """One of nbgrader's steps for one lesson, again where it was done before. ClassError with nbgrader's words."""
    config, directory = opened(course)
    directory.assignment_id, directory.student_id = lesson, student
    step = converter(coursedir=directory, config=config)
    step.force = True
    outcome = capture_log(step)
    if not outcome["success"]:
        raise ClassError(reason(outcome.get("log") or outcome["error"]))
    return outcome.get("log", "")


def reason(log):
    """The exception that nbgrader's log ends in, in one line."""
    found = re.findall(r"(?m)^    ([A-Za-z_][\w.]*: .+)$", log)  # it indents its tracebacks by four
    return found[-1] if found else log.strip().splitlines()[-1]
