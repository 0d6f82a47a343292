"""Whose a notebook is and for which lesson: by its name, checked against its cells. A doubt becomes a question."""

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

from ...checks import EXERCISES
from ...checks.stubs import CHECK
from .names import Mark, read, shown

LESSON = "it names no lesson that was released"


@dataclass(frozen=True)
class Item:
    """A notebook: where its bytes lie, whose it is, for which lesson; or the `doubt` in words and its `place`."""

    name: tuple
    path: Path
    lesson: str | None
    student: str | None
    doubt: str = ""
    place: tuple = ()
    mark: Mark | None = None
    answered: bool = False
    note: str = ""

    def __str__(self):
        return shown(self.name)

    def of(self, student):
        return replace(self, student=student)

    def doubted(self, words, place=None):
        return replace(self, student=None, doubt=words, place=place or self.name)


def settle(name, path, lessons, answers):
    """The `Item` of one notebook. Raises OSError where it cannot be read."""
    reading = read(name, lessons, answers)
    item = Item(name, path, reading.lesson, reading.student, reading.doubt, reading.place, reading.mark)
    item = replace(item, answered=reading.answered)
    inside = numbers_inside(path.read_bytes())
    if inside is None:
        item = replace(item, note="it is no notebook that can be read: grading will say so")
    if said := answers.lesson(name):
        lesson = next((lesson for lesson in lessons if lesson.startswith(said)), None)
        return replace(item, lesson=lesson) if lesson else item.doubted(f"{said!r} is no lesson that was released")
    if item.lesson is None:
        return by_cells(item, inside, lessons)
    if inside and item.lesson[:2] not in inside:
        others = ", ".join(sorted(inside))
        return item.doubted(f"it is named {item.lesson}, and its cells are of lesson {others}: for which lesson is it?")
    return item


def by_cells(item, inside, lessons):
    """An item whose name says no lesson, with the one that all its exercises belong to."""
    found = [lesson for lesson in lessons if inside == {lesson[:2]}]
    if not found:
        of = f" (its cells are of lesson {', '.join(sorted(inside))})" if inside else ""
        return item.doubted(LESSON + of)
    return replace(item, lesson=found[0], note=f"taken for {found[0]}, as its cells say")


def numbers_inside(data):
    """The numbers of the lessons that a notebook's exercises belong to, as {"05"}; None if it is no notebook."""
    try:
        cells = json.loads(data)["cells"]
        names = {name for cell in cells for name in exercises(cell)}
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return None
    return {EXERCISES[name].lesson for name in names if name in EXERCISES}


def exercises(cell):
    """Names of exercises in a cell: in the call of a check, in nbgrader's metadata."""
    source = "".join(cell.get("source", ""))
    if found := CHECK.search(source):
        yield found["name"]
    about = cell.get("metadata", {}).get("nbgrader", {})
    if isinstance(about, dict) and isinstance(about.get("grade_id"), str):
        yield about["grade_id"].removesuffix("-check")


def apart(items, record):
    """The items, where Moodle's numbers say that several persons have one name: told apart, or asked about.

    `record` is {(lesson, student): what was collected before}. Anonymous submissions all have the same name: there the
    number goes into it.
    """
    numbers = defaultdict(set)
    for item in filter(by_number, items):
        numbers[item.lesson, item.student].add(item.mark.number)
    names = defaultdict(set)
    for lesson, student in numbers:
        names[lesson].add(student)
    return [one_person(item, numbers, names, record) if by_number(item) else item for item in items]


def by_number(item):
    return item.student and item.lesson and not item.answered and item.mark and item.mark.platform == "moodle"


def one_person(item, numbers, names, record):
    key, number = (item.lesson, item.student), item.mark.number
    if len(numbers[key]) > 1 and len(names[item.lesson]) == 1:
        return item.of(f"{item.student}_{number}")
    if len(numbers[key]) > 1:
        return item.doubted(
            f"{len(numbers[key])} persons are named {item.student}; Moodle's number of this one is {number}", item.place
        )
    before = record.get(key, {}).get("number", number)
    if before not in ("", number):
        return item.doubted(
            f"{item.student} had Moodle's number {before} before, and {number} now: one person?", item.place
        )
    return item
