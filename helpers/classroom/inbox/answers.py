"""`whose.csv` in the course folder: what the names left in doubt, and what the teacher answered."""

from .. import tables
from ..errors import ClassError
from .names import shown

FILE = "whose.csv"
HEADER = ["file", "student", "lesson", "question"]
LEFT_OUT = "-"  # an answer: this file, or all in this folder, is nobody's and is to be left out


class Answers:
    """The teacher's answers: a place (a file or a folder, as it is printed) -> its student, its lesson."""

    def __init__(self, rows=()):
        self.rows = {place: (student, lesson) for place, student, lesson in rows if student or lesson}

    @classmethod
    def of(cls, course):
        """Those in a course folder. ClassError where the file there is no such table."""
        path = course / FILE
        if not path.exists():
            return cls()
        table = tables.read(path)
        header = [cell.strip().casefold() for cell in table.header]
        if missing := [name for name in HEADER[:3] if name not in header]:
            raise ClassError(f"{path} has no column {missing[0]!r}: put it back, or delete the file and collect again")
        columns = [header.index(name) for name in HEADER[:3]]
        rows = [[(row + [""] * len(header))[i] for i in columns] for row in table.rows[1:]]
        return cls((place.removeprefix("./"), student.strip(), lesson.strip()) for place, student, lesson in rows)

    def student(self, place):
        """A name, `*` where the names below `place` say whose, `-` where it is to be left out; None without answer."""
        return self.rows.get(shown(place), ("", ""))[0] or None

    def lesson(self, place):
        """The beginning of a lesson's name; None without answer."""
        said = self.rows.get(shown(place), ("", ""))[1]
        return (said.zfill(2) if said.isdecimal() else said) or None  # a spreadsheet makes 5 of 05

    def left_out(self, name):
        """Whether the file, or a folder that it lies in, is to be left out."""
        return any(self.student(name[:depth]) == LEFT_OUT for depth in range(1, len(name) + 1))

    def ask(self, course, questions):
        """Write the open questions {place: words} below the answers; no file where there is neither."""
        questions = {shown(place): words for place, words in questions.items()}
        rows = [[place, *self.rows.get(place, ("", "")), questions.get(place, "")] for place in self.rows | questions]
        # a spreadsheet would take a cell that begins with one of these for a formula
        rows = [["./" + row[0] if row[0][:1] in "=+-@" else row[0], *row[1:]] for row in rows]
        if rows or (course / FILE).exists():
            tables.write(tables.Table([HEADER, *rows]), course / FILE)
