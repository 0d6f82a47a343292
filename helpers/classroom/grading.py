"""Grade what was handed in, write feedback, read the scores. No submission stops the run."""

import contextlib
import csv
import re
import shutil

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.converters import Autograde, GenerateFeedback

from .course import opened, run
from .errors import ClassError


def submissions(course, names=(), students=()):
    """[(lesson, student)] of all that was handed in for lessons beginning with `names`, from `students` (all without)."""
    found = sorted((p.parent.name, p.parents[1].name) for p in (course / "submitted").glob("*/*/*.ipynb"))
    return [
        (lesson, student)
        for lesson, student in dict.fromkeys(found)
        if (not names or lesson.startswith(tuple(names))) and (not students or student in students)
    ]


def grade(course, lesson, student):
    """Run one submission, again if it was before, and write its feedback. Returns a line for each cell that was stopped.

    Raises ClassError where the submission could not be read.
    """
    try:
        log = run(Autograde, course, lesson, student)
        run(GenerateFeedback, course, lesson, student)
    except ClassError:
        forget(course, lesson, student)
        raise
    return re.findall(r"cell \d+ is not run: [^;,\n]+", log)


def forget(course, lesson, student):
    """The checks' points of an earlier version must not stay where the present one cannot be read."""
    shutil.rmtree(course / "feedback" / student / lesson, ignore_errors=True)
    with gradebook(course) as book, contextlib.suppress(MissingEntry):
        for item in book.find_submission(lesson, student).notebooks:
            for one in item.grades:
                one.auto_score, one.needs_manual_grade = None, True
        book.db.commit()


def gradebook(course):
    """nbgrader's database of the course; to be used in a `with`."""
    _, directory = opened(course)
    return Gradebook(directory.db_url, directory.course_id)


def worth(course):
    """{lesson: {exercise: points to be had}}, as it was released."""
    with gradebook(course) as book:
        return {a.name: {c.name.removesuffix("-check"): c.max_score for c in cells(a)} for a in book.assignments}


def cells(assignment):
    return [cell for notebook in assignment.notebooks for cell in notebook.grade_cells]


def scores(course, names=()):
    """{lesson: {student: {exercise: points or None}}}: None where a person must look at it."""
    found = {}
    with gradebook(course) as book:
        for assignment in sorted(book.assignments, key=lambda a: a.name):
            if not names or assignment.name.startswith(tuple(names)):
                found[assignment.name] = {s.student_id: points(s) for s in sorted_submissions(assignment)}
    return found


def sorted_submissions(assignment):
    return sorted(assignment.submissions, key=lambda s: s.student_id)


def points(submission):
    """{exercise: points}; a teacher's own points go before the check's, as nbgrader has it."""
    found = {}
    for notebook in submission.notebooks:
        for grade in notebook.grades:
            given = grade.auto_score if grade.manual_score is None else grade.manual_score
            found[grade.cell.name.removesuffix("-check")] = given
    return found


def write_csv(rows, path):
    """One line for each student, lesson and exercise."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["lesson", "student", "exercise", "points", "of", "late"])
        out.writerows(rows)
