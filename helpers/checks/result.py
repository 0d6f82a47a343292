"""The result of a check: a number that graders read, an explanation that people read.

As a cell's last value its `repr` is the points alone: nbgrader takes it as partial credit. The explanation is its HTML
and its `str`.
"""

from dataclasses import dataclass
from html import escape

from ..kept_values import readable

MARKS = {"pass": "#0072b2", "FAIL": "#d55e00", "--": "#7f7f7f"}  # told apart by the word; the colour only helps
BOX = "border-left:4px solid {colour};padding:2px 0 2px 10px;margin:2px 0;max-width:60em"
MONO = "font-family:var(--jp-code-font-family,monospace);font-weight:600;display:inline-block;min-width:3em"


@dataclass(frozen=True)
class Row:
    """One line of a result: `mark` ("pass", "FAIL" or "--"), what was checked, and explaining `lines` under it."""

    mark: str
    text: str
    lines: tuple[str, ...] = ()


class Result(float):
    """Points reached; `rows`, `notes` and the hint line say why. `attempted` is False where nothing was written yet."""

    def __new__(cls, points, heading, rows=(), notes=(), attempted=True):
        self = super().__new__(cls, points)
        self.heading, self.rows, self.notes, self.attempted = heading, tuple(rows), tuple(notes), attempted
        return self

    def __repr__(self):
        return f"{float(self):g}"

    def __str__(self):
        lines = [self.heading]
        for row in self.rows:
            lines.append(f"  {row.mark:<4}  {row.text}")
            lines += [f"        {line}" for line in row.lines]
        return readable("\n".join(lines + [f"  {note}" for note in self.notes]))

    def _repr_html_(self):
        rows = "".join(html_row(row) for row in self.rows)
        notes = "".join(f"<div>{escape(note)}</div>" for note in self.notes)
        return readable(f"<div><b>{escape(self.heading)}</b>{rows}{notes}</div>")


class Words(str):
    """Text that a notebook shows as it is, without quotes (hints and questions)."""

    def __repr__(self):
        return str(self)

    def _repr_html_(self):
        return f'<div style="white-space:pre-line;max-width:60em">{escape(self)}</div>'


def html_row(row):
    lines = "".join(f'<div style="margin-left:3em;white-space:pre-line">{escape(line)}</div>' for line in row.lines)
    mark = f'<span style="{MONO}">{row.mark}</span>'
    return f'<div style="{BOX.format(colour=MARKS[row.mark])}">{mark} {escape(row.text)}{lines}</div>'
