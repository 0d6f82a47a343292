"""CSV files that go through spreadsheets and learning platforms: read as they come, written back in the same form."""

import csv
import io
import os
from dataclasses import dataclass

from .errors import ClassError

DELIMITERS = ",;\t"


@dataclass
class Table:
    """`rows` of cells, the first being the header; `delimiter` and `encoding` as in the file that was read."""

    rows: list
    delimiter: str = ","
    encoding: str = "utf-8-sig"  # with its mark a spreadsheet shows ü and 李 right

    @property
    def header(self):
        return self.rows[0]


def read(path):
    """The `Table` in a file: UTF-8 or Windows' own code, commas, semicolons or tabs. ClassError if it is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ClassError(f"{path} cannot be read: {error.strerror}") from None
    text, encoding = decoded(data)
    first = text.split("\n", 1)[0]
    delimiter = max(DELIMITERS, key=first.count)
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except csv.Error as error:
        raise ClassError(f"{path} is no CSV file: {error}") from None
    if not rows or "\0" in text:
        raise ClassError(f"{path} is no CSV file, or is empty: save it as CSV (not as .xlsx)")
    return Table(rows, delimiter, encoding)


def decoded(data):
    """(text, encoding) of a spreadsheet's file."""
    for encoding in ("utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else "utf-8", "cp1252"):
        try:
            return data.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1"), "latin-1"


def write(table, path):
    """Write a `Table`; the file is whole at every moment. ClassError where it cannot be written."""
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=table.delimiter, lineterminator="\r\n").writerows(table.rows)
    half = path.with_name(path.name + ".part")
    try:
        half.write_bytes(out.getvalue().encode(table.encoding, "replace"))
        os.replace(half, path)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise ClassError(f"{path} cannot be written: {error.strerror}. Is it open in a spreadsheet?") from None
