"""The progress board: one line for each lesson that exists, with what is solved. Plain HTML, so it needs no front end."""

from html import escape

from .. import progress
from ..lab import svg
from .learner_report import lessons, total

WIDTH = 120
LEFT = 'style="text-align:left"'
ASKS = {  # lesson -> the question that it answers
    "00": "How does this course speak?",
    "01": "Which keys may a new token see?",
    "02": "What does a head compute, and in which shapes?",
    "03": "Where do positions enter the model?",
    "04": "What is right, and how much may rounding move it?",
    "05": "What does a cache keep, and does it change anything?",
    "06": "It reads well. Which bug is it?",
    "07": "What does a cached token cost?",
    "08": "When are two random texts equal?",
    "09": "What does it save to allocate the cache first?",
    "10": "Where do rotary positions go wrong?",
    "11": "What may be shared between heads, and forgotten?",
    "12": "What if the texts of a batch differ in length?",
    "13": "What does a cache in blocks need?",
    "14": "Is a real model's cache right?",
}


class Board:
    """What is solved now, read from the progress file when it is made. `message` tells of a file that was unreadable."""

    def __init__(self, kept=None, message=None, folder=None):
        if kept is None:
            kept, message = progress.read()
        self.message = message
        self.lessons = lessons(kept) if folder is None else lessons(kept, folder)

    def __repr__(self):
        lines = [self.message] if self.message else []
        for lesson in self.lessons:
            lines.append(f"{lesson.number}  {lesson.title:<26} {total(lesson.items)}")
        return "\n".join(lines)

    def _repr_html_(self):
        note = f"<p><b>{escape(self.message)}</b></p>" if self.message else ""
        head = "".join(
            f"<th {LEFT}>{words}</th>" for words in ("lesson", "asks", "exercises", "questions", "points", "")
        )
        return f"{note}<table><tr>{head}</tr>{''.join(map(row, self.lessons))}</table>"


def row(lesson):
    link = f'<a href="{escape(lesson.file)}">{lesson.number} {escape(lesson.title)}</a>'
    points = sum(min(item.points, item.of) for item in lesson.items), sum(item.of for item in lesson.items)
    solved = boxes(lesson.exercises), boxes(lesson.questions)
    cells = [link, escape(ASKS.get(lesson.number, "")), *solved, f"{points[0]:g} of {points[1]:g}", bar(*points)]
    return "<tr>" + "".join(f"<td {LEFT}>{cell}</td>" for cell in cells) + "</tr>"


def boxes(items):
    """How many are solved, of how many."""
    return f"{sum(item.solved for item in items)} of {len(items)}"


def bar(points, of):
    filled = round(WIDTH * points / of) if of else 0
    shapes = [svg.tag("rect", x=0, y=0, width=filled, height=10, fill=svg.BLUE)] if filled else []
    shapes.append(svg.tag("rect", x=0.5, y=0.5, width=WIDTH - 1, height=9, fill="none", stroke=svg.INK))
    return svg.picture(WIDTH, 10, shapes, f"{points:g} of {of:g} points")
