"""The steps of `python -m helpers class`: each takes the parsed options, prints what was done, returns an exit code."""

import sys
import time
import warnings

from ..commands.setup_env import STOPPED
from . import record, tables
from .collecting import collect
from .command import parser
from .course import release
from .errors import ClassError
from .gradebooks.books import recognised
from .gradebooks.filling import fill
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
    except KeyboardInterrupt:
        print("class: stopped. What was done until then stays; the same command does the rest again", file=sys.stderr)
        return STOPPED


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
    found, of, before = scores(options.course, options.lessons), worth(options.course), record.load(options.course)
    print("\n".join(table(found, of)))
    rows = [
        (lesson, student, exercise, "" if points is None else f"{points:g}", f"{of[lesson][exercise]:g}")
        + (before.get((lesson, student), {}).get("late", ""),)
        for lesson, students in found.items()
        for student, exercises in students.items()
        for exercise, points in exercises.items()
    ]
    write_csv(rows, options.course / "scores.csv")
    print(f"Points of each exercise: {options.course / 'scores.csv'}")
    return 0


def grades_step(options):
    file = options.moodle or options.canvas
    book = recognised(tables.read(file), "moodle" if options.moodle else "canvas")
    found, of = (
        scores(options.course),
        {lesson: sum(points.values()) for lesson, points in worth(options.course).items()},
    )
    chosen = matching(options.lessons, of) or list(of)
    titles = {matching([lesson], of)[0]: title for lesson, title in options.column}
    filled = fill(book, summed(found), of, record.load(options.course), chosen, titles, options.scale)
    out = options.out or options.course / f"{file.stem}_scores.csv"
    if out.exists() and out.samefile(file):
        raise ClassError(f"{out} is the file that was downloaded: choose another name with --out")
    tables.write(book.table, out)
    for lesson, (title, written, most) in filled.columns.items():
        unknown = "" if most else f"; see that its maximum is {of[lesson]:g} there, the file does not say"
        print(f"{lesson}  {written} scores into column {title!r}{unknown}")
    for lesson, student, old, new in filled.changed:
        print(f"changed: {lesson}  {student}: {old} is now {new}")
    for lesson, student, why in filled.problems:
        print(f"not written: {lesson}  {student}: {why}", file=sys.stderr)
    print(f"To upload: {out}")
    return 1 if filled.problems else 0


def matching(names, lessons):
    """The released lessons that begin with one of `names`; ClassError where there is none for one."""
    for name in names:
        if not any(lesson.startswith(name) for lesson in lessons):
            raise ClassError(f"no lesson that was released begins with {name!r}; there are {', '.join(lessons)}")
    return [lesson for lesson in lessons if lesson.startswith(tuple(names))] if names else []


def summed(found):
    """{lesson: {student: points, or None where a person must look}}."""
    return {
        lesson: {s: None if None in e.values() else sum(e.values()) for s, e in students.items()}
        for lesson, students in found.items()
    }


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


STEPS = {
    "release": release_step,
    "collect": collect_step,
    "grade": grade_step,
    "scores": scores_step,
    "grades": grades_step,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
