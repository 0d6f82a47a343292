"""`collected.csv` in the course folder: for each submission the file that it came from, and a platform's marks."""

from . import tables

FILE = "collected.csv"
HEADER = ["lesson", "student", "file", "late", "platform", "who", "number", "upload"]


def load(course):
    """{(lesson, student): {column: text}} of what was collected so far."""
    path = course / FILE
    if not path.exists():
        return {}
    table = tables.read(path)
    rows = [dict.fromkeys(HEADER, "") | dict(zip(table.header, row)) for row in table.rows[1:]]
    return {(row["lesson"], row["student"]): row for row in rows}


def row(item):
    """What is kept of an item that was placed."""
    mark = item.mark
    marks = ("late" if mark.late else "", mark.platform, mark.who, mark.number, str(mark.upload or "")) if mark else ()
    return dict.fromkeys(HEADER, "") | dict(zip(HEADER, (item.lesson, item.student, str(item), *marks)))


def save(course, record):
    """Raises ClassError where the file cannot be written."""
    rows = [[record[key][column] for column in HEADER] for key in sorted(record)]
    tables.write(tables.Table([HEADER, *rows]), course / FILE)
