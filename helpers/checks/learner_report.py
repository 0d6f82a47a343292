"""The learner's report: what is solved in each lesson, and what their own code measured. Markdown or one HTML page.

Lessons are those that have a notebook; exercises and points come from the checks, progress from the progress file.
"""

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path

from .. import kept_values
from ..figures import approx
from .registry import EXERCISES, Question

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;margin:.5em 0}td,th{text-align:left;padding:.2em .8em;border-bottom:1px solid #8888}"
)


@dataclass(frozen=True)
class Item:
    """An exercise or a question: the best `points` so far of `of`."""

    name: str
    points: float
    of: float

    @property
    def solved(self):
        return self.points >= self.of


@dataclass(frozen=True)
class Lesson:
    """One lesson with its notebook's `file`, exercises, questions, and `measured` (quantity -> value)."""

    number: str
    title: str
    file: str
    exercises: list
    questions: list
    measured: dict

    @property
    def items(self):
        return [*self.exercises, *self.questions]


def notebooks(folder=NOTEBOOKS):
    """{"05": ("Prefill and decode", "05_prefill_and_decode.ipynb")}, as the notebooks in `folder` say themselves."""
    found = {}
    for path in sorted(Path(folder).glob("[0-9][0-9]_*.ipynb")):
        try:
            first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
        except (ValueError, KeyError, IndexError, TypeError):
            continue  # half written: the lesson is not there yet
        found[path.name[:2]] = first.partition("\n")[0].partition("·")[2].strip(), path.name
    return found


def lessons(kept, folder=NOTEBOOKS):
    """A `Lesson` for each notebook, with what `kept` (as `progress.load` gives it) knows about it."""
    result = []
    for number, (title, file) in notebooks(folder).items():
        of_it = [e for e in EXERCISES.values() if e.lesson == number]
        exercises, questions = ([item(e, kept) for e in of_it if isinstance(e, Question) is q] for q in (False, True))
        measured = kept["measured"].get(number, {})
        result.append(Lesson(number, title, file, exercises, questions, measured if isinstance(measured, dict) else {}))
    return result


def item(exercise, kept):
    points = kept_values.points(kept["solved"].get(exercise.name), exercise.points)
    return Item(exercise.name, points, exercise.points)


def total(items):
    """In words: how many of `items` are solved, and the points."""
    points, of = sum(min(i.points, i.of) for i in items), sum(i.of for i in items)
    return f"{sum(i.solved for i in items)} of {len(items)} solved, {points:g} of {of:g} points"


def sections(kept, folder=NOTEBOOKS, only=None):
    """(heading, paragraph, rows) of the report; the first is the whole course. `only` is one lesson's number."""
    course = lessons(kept, folder)
    if only is None:
        yield "Lab report", total([i for lesson in course for i in lesson.items]) + " in the whole course.", []
    for lesson in (lesson for lesson in course if only in (None, lesson.number)):
        words = f"Exercises and questions: {total(lesson.items)}."
        opened = [i.name for i in lesson.items if not i.solved]
        words += f" Open: {', '.join(opened)}." if opened else ""
        yield f"{lesson.number} · {lesson.title}", words, [[name, said(v)] for name, v in lesson.measured.items()]


def said(value):
    """A measured value in words, on one line."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {said(v)}" for name, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(said, value))
    if value is None:
        return "-"
    return approx(value) if isinstance(value, float) else " ".join(str(value).split())


def markdown(kept, message=None, folder=NOTEBOOKS, only=None):
    """The report as Markdown, or one lesson's part of it; `message` goes in front."""
    lines = [f"> {message}", ""] if message else []
    for depth, (heading, words, rows) in enumerate(sections(kept, folder, only), start=only is not None):
        lines += [f"{'##' if depth else '#'} {heading}", "", words, ""]
        if rows:
            cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
            lines += ["| measured | |", "|---|---|", *(f"| {name} | {value} |" for name, value in cells), ""]
    return "\n".join(lines)


def page(kept, message=None, folder=NOTEBOOKS):
    """The same as one HTML page that needs nothing else."""
    parts = [f"<p><b>{escape(message)}</b></p>"] if message else []
    for depth, (heading, words, rows) in enumerate(sections(kept, folder)):
        parts.append(f"<h{2 if depth else 1}>{escape(heading)}</h{2 if depth else 1}><p>{escape(words)}</p>")
        body = "".join(f"<tr><th scope='row'>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows)
        parts.append(f"<table>{body}</table>" if rows else "")
    head = f"<meta charset='utf-8'><title>Lab report</title><style>{STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(parts)}</body></html>\n"
