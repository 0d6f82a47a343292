"""The steps of `python -m helpers class`: each takes the parsed options, prints what was done, returns an exit code."""

import sys
import time
import warnings

from .collecting import collect
from .command import parser
from .course import release
from .errors import ClassError
from .grading import grade, scores, submissions, worth, write_csv
from .inbox.answers import FILE as ANSWERS

warnings.filterwarnings("ignore", module="nbgrader")  # its own, about its database


def main(arguments):
    """Do one step; what the teacher can mend is said in words, with exit code 2."""
    for stream in (sys.stdout, sys.stderr):  # a student's name may have letters that a terminal's code has not
        stream.reconfigure(errors="backslashreplace")
    options = parser().parse_args(arguments)
    try:
        return STEPS[options.step](options)
    except ClassError as error:
        print(f"class: {error}", file=sys.stderr)
        return 2


def release_step(options):
    for lesson in release(options.course, options.lessons):
        print(f"released {lesson}: {sum(worth(options.course)[lesson].values()):g} points")
    print(f"Hand out what lies in {options.course / 'release'}.")
    return 0


def collect_step(options):
    found = collect(options.course, options.folder)
    for lesson, student in found.taken:
        print(f"{lesson}  {student}{'  LATE' if (lesson, student) in found.late else ''}")
    for file, words in found.notes:
        print(f"note: {file}: {words}")
    for file, why in found.refused:
        print(f"not collected: {file}: {why}", file=sys.stderr)
    if found.hidden:
        kinds = ", ".join(sorted(set(found.hidden)))
        print(f"passed over, left behind by a system or an editor: {len(found.hidden)} ({kinds})")
    if found.questions:
        print(f"Whose are they? Answer in {options.course / ANSWERS}, and collect again (TEACHING.md says how).")
    print(f"{len(found.taken)} collected, {len(found.refused)} not")
    return 1 if found.refused else 0


def grade_step(options):
    chosen, unread = submissions(options.course, options.lessons, options.student), 0
    if not chosen:
        raise ClassError(f"nothing was handed in for that: {options.course / 'submitted'} has no such notebook")
    for lesson, student in chosen:
        start = time.monotonic()
        try:
            stopped = grade(options.course, lesson, student)
            words = "; ".join([f"{time.monotonic() - start:.0f} s", *stopped])
        except ClassError as error:
            unread, words = unread + 1, f"NOT READ: {error}"
        print(f"{lesson}  {student}  {words}", flush=True)
    scores_step(options)
    print(f"Feedback to give back: {options.course / 'feedback'}")
    return 1 if unread else 0


def scores_step(options):
    found, of = scores(options.course, options.lessons), worth(options.course)
    print("\n".join(table(found, of)))
    rows = [
        (lesson, student, exercise, "" if points is None else f"{points:g}", f"{of[lesson][exercise]:g}")
        for lesson, students in found.items()
        for student, exercises in students.items()
        for exercise, points in exercises.items()
    ]
    write_csv(rows, options.course / "scores.csv")
    print(f"Points of each exercise: {options.course / 'scores.csv'}")
    return 0


def table(found, of):
    """Lines with a row for each student and a column for each lesson; `?` where a person must look."""
    students = sorted({student for students in found.values() for student in students})
    wide = max(map(len, [*students, "of"]), default=2)
    rows = [("", [lesson[:2] for lesson in found]), ("of", [f"{sum(of[lesson].values()):g}" for lesson in found])]
    rows += [(student, [total(found[lesson].get(student)) for lesson in found]) for student in students]
    return [name.ljust(wide) + "".join(cell.rjust(6) for cell in cells) for name, cells in rows]


def total(exercises):
    if exercises is None:
        return "-"
    return "?" if None in exercises.values() else f"{sum(exercises.values()):g}"


STEPS = {"release": release_step, "collect": collect_step, "grade": grade_step, "scores": scores_step}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
