"""The grade books' CSV files: which rows are people, how a person is named there, which column is a lesson's.

After Moodle's `mod/assign/feedback/offline` and `grade/export/txt`, and Canvas's `lib/gradebook_exporter.rb` and
`lib/gradebook_importer.rb`, as they were published. Titles are those of the English pages.
"""

import re

from ..errors import ClassError
from ..inbox.names import at_lesson, clean

NO_POINTS = re.compile(r"\((feedback|percentage|letter)\)\s*$", re.I)  # columns beside a lesson's own
ENGLISH = "Switch the platform's language to English, and download it again"


class Book:
    """One such file. `platform` is the one whose numbers of people stand in it."""

    platform, names = "", ()  # titles of the columns that may hold a student's name
    locked = {}  # what stands in a cell that is not to be written: why

    def __init__(self, table):
        self.table = table
        self.titles = [title.strip().casefold() for title in table.header]

    def cell(self, row, title):
        """The text below a title, in capitals or not; empty where there is none."""
        at = self.titles.index(title.casefold()) if title.casefold() in self.titles else len(row)
        return row[at].strip() if at < len(row) else ""

    def people(self):
        return self.table.rows[1:]

    def number(self, row):
        """The platform's number of a person, which its downloads have too; empty where the file has none."""
        return ""

    def is_named(self, row, who):
        """Whether the row may be of the person that the platform's download calls `who`."""
        return True

    def identities(self, row):
        """The names under which a person may be in the course, in small letters."""
        return {clean(self.cell(row, title)).casefold() for title in self.names} - {""}

    def columns(self, lessons, chosen, titles):
        """{lesson: index of its column}. `titles` {lesson: title} names some; ClassError where one is not clear."""
        for title in titles.values():
            if title.casefold() not in self.titles:
                raise ClassError(f"the grade book has no column {title!r}; it has {', '.join(self.table.header)}")
        found = {lesson: self.columns_of(lesson, lessons, titles) for lesson in chosen}
        for lesson, places in found.items():
            if len(places) > 1:
                words = " and ".join(repr(self.table.header[place]) for place in places)
                raise ClassError(f"columns {words} are named after {lesson}: say which, --column {lesson[:2]}=TITLE")
        return {lesson: places[0] for lesson, places in found.items() if places}

    def columns_of(self, lesson, lessons, titles):
        if lesson in titles:
            return [self.titles.index(titles[lesson].casefold())]
        return [
            place
            for place, title in enumerate(self.table.header)
            if at_lesson(title, lessons)[1] == lesson and not NO_POINTS.search(title)
        ]

    def most(self, place):
        """The points to be had in a column, as the grade book has them; None where it does not say."""
        return None

    def why_locked(self, row, place):
        return self.locked.get(row[place].strip().casefold())


class MoodleWorksheet(Book):
    """An assignment's grading worksheet: one lesson. Moodle passes over what is above the maximum, without a word."""

    platform = "moodle"
    names = ("Full name", "Email address", "ID number", "Username")

    def number(self, row):
        found = re.search(r"\d+$", self.cell(row, "Identifier"))
        return found.group() if found else ""

    def is_named(self, row, who):
        name = self.cell(row, "Full name")
        return not name or clean(name) == clean(who)

    def columns(self, lessons, chosen, titles):
        if len(chosen) != 1:
            raise ClassError(
                "a grading worksheet is of one assignment: say which lesson it is, as in  grades COURSE 05"
            )
        return {chosen[0]: self.titles.index("grade")}

    def most(self, place):
        return next((most for row in self.people() if (most := number(self.cell(row, "Maximum Grade")))), None)

    def why_locked(self, row, place):
        no = self.cell(row, "Grade can be changed").casefold() == "no"
        return "the grade book says that the grade cannot be changed" if no else None


class MoodleGradebook(Book):
    """A course's grade book, as its export makes it (plain text file). It has no numbers and no maximum."""

    names = ("Username", "ID number", "Email address")

    def identities(self, row):
        last = self.cell(row, "Last name") or self.cell(row, "Surname")
        full = clean(f"{self.cell(row, 'First name')} {last}").casefold()
        return (super().identities(row) | {full}) - {""}


class CanvasGradebook(Book):
    """A course's grade book, as its export makes it. Canvas takes the points possible from it too: they stay."""

    platform = "canvas"
    names = ("Student", "SIS Login ID", "SIS User ID", "Integration ID", "ID")
    locked = {"n/a": "the lesson is not assigned to them there", "ex": "they are excused there"}

    def number(self, row):
        return self.cell(row, "ID")

    def identities(self, row):
        last, comma, first = self.cell(row, "Student").partition(",")
        if not comma:
            last, first = self.cell(row, "LastName"), self.cell(row, "FirstName")
        return (super().identities(row) | {clean(f"{first} {last}").casefold()}) - {""}

    def most(self, place):
        rows = [row for row in self.table.rows[1:4] if "points possible" in row[0].casefold() and place < len(row)]
        return number(rows[0][place]) if rows else None


def recognised(table, platform):
    """The `Book` in a table that was downloaded from `platform`; ClassError if it is none of the kinds known."""
    book = Book(table)
    has = lambda *titles: all(title in book.titles for title in titles)
    if platform == "canvas" and has("id", "section") and (has("student") or has("lastname", "firstname")):
        return CanvasGradebook(table)
    if platform == "moodle" and has("identifier", "grade"):
        return MoodleWorksheet(table)
    if platform == "moodle" and (has("first name") or has("email address")) and not has("identifier"):
        return MoodleGradebook(table)
    wanted = {"canvas": "Student, ID and Section", "moodle": "Identifier and Grade, or First name and Email address"}
    raise ClassError(f"the file has no columns {wanted[platform]}; it has {', '.join(table.header)}. {ENGLISH}")


def number(text):
    """A number as a spreadsheet may write it, with a decimal comma too; None for what is none."""
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None
