"""Write the scores of a course into a grade book's table: each into one cell that is surely theirs, or into none."""

from dataclasses import dataclass, field

from ..errors import ClassError
from .books import number


@dataclass
class Filled:
    """What was written into a grade book. `most` is None where the file does not say the points to be had."""

    columns: dict = field(default_factory=dict)  # {lesson: (title, scores written, most)}
    changed: list = field(default_factory=list)  # (lesson, student, old text, new text)
    problems: list = field(default_factory=list)  # (lesson, student, why nothing was written)


def fill(book, scores, of, record, chosen, titles, scale=False):
    """Write scores into `book`'s table and return a `Filled`.

    `scores` is {lesson: {student: points or None}}, `of` {lesson: points to be had}, `record` what was collected,
    `titles` {lesson: title of its column} where the title does not name it. Points count as they are; with `scale` they
    become the same part of the column's maximum. Raises ClassError, with nothing written, where a column is not clear.
    """
    columns = book.columns(list(of), chosen, titles)
    if not columns:
        raise ClassError(
            f"no column is named after {' or '.join(chosen)}: name them so on the platform, or say --column "
            f"{chosen[0][:2]}=TITLE; there are {', '.join(book.table.header)}"
        )
    factors = {lesson: factor(book, place, of[lesson], scale) for lesson, place in columns.items()}
    filled = Filled()
    for lesson, place in columns.items():
        rows, problems = rows_of(book, lesson, list(scores.get(lesson, {})), record)
        written = 0
        for student, points in scores.get(lesson, {}).items():
            why = problems.get(student) or ("a person must look at it first" if points is None else None)
            why = why or book.why_locked(padded(rows[student], place), place)
            if why:
                filled.problems.append((lesson, student, why))
                continue
            written += 1
            change(rows[student], place, f"{round(points * factors[lesson], 2):g}", (lesson, student), filled)
        filled.columns[lesson] = book.table.header[place], written, book.most(place)
    return filled


def factor(book, place, of, scale):
    """What points are multiplied by; ClassError where the grade book has another maximum and that was not said."""
    most = book.most(place)
    if most is None or most == of:
        return 1
    if not scale:
        raise ClassError(
            f"column {book.table.header[place]!r} has {most:g} points, and the lesson {of:g}: set the maximum to {of:g} "
            "on the platform and download the file again, or give --scale"
        )
    return most / of


def rows_of(book, lesson, students, record):
    """({student: their row}, {student: why there is none}): no row for two, and no student in two rows."""
    found = {student: rows(book, student, record.get((lesson, student), {})) for student in students}
    owners = {}
    for student, places in found.items():
        for place in places:
            owners.setdefault(place, []).append(student)
    problems = {}
    for student, places in found.items():
        if not places:
            problems[student] = "no row of the grade book is theirs"
        elif len(places) > 1:
            problems[student] = f"{len(places)} rows of the grade book may be theirs"
        elif len(owners[places[0]]) > 1:
            problems[student] = f"the same row of the grade book may be of {' and '.join(owners[places[0]])}"
    people = book.people()
    return {student: people[places[0]] for student, places in found.items() if student not in problems}, problems


def rows(book, student, collected):
    """Indices of the people who may be a student: by the platform's number where there is one, else by name."""
    people = list(enumerate(book.people()))
    if book.platform and collected.get("platform") == book.platform and collected.get("number"):
        return [
            index
            for index, row in people
            if book.number(row) == collected["number"] and book.is_named(row, collected.get("who", ""))
        ]
    return [index for index, row in people if student.casefold() in book.identities(row)]


def padded(row, place):
    """A row with a cell at `place`; spreadsheets leave empty cells at the end out."""
    row += [""] * (place + 1 - len(row))
    return row


def change(row, place, new, key, filled):
    old = row[place].strip()
    if old in ("", "-") or number(old) != number(new):
        row[place] = new
        if old not in ("", "-"):
            filled.changed.append((*key, old, new))
