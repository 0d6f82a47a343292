"""Writes notebooks/teachers_notes.md: the marking scheme, and what the graders' tables know of wrong answers.

    python -m tests.checks.teachers_notes            write the file again
    python -m tests.checks.teachers_notes --check    fail if it is not what the checks and tables would give

Every wrong answer in a table (tests/checks/lessonNN/) is graded; listed is what its check takes it for. So the
notes hold no mistake that the checks do not recognise, and no words that a learner does not read.
"""

import importlib
import os
import re
import sys
import tempfile
from pathlib import Path

from helpers.checks import EXERCISES
from helpers.checks.learner_report import NOTEBOOKS, notebooks
from helpers.checks.registry import Question
from helpers.progress import VARIABLE

from .graders import LessonGraders, graded_once

FILE = NOTEBOOKS / "teachers_notes.md"
LOOKS = re.compile(r"^It looks like: (.*)\.$")
SHORT = 60  # characters of code that are shown as an example
HEAD = """# Teacher's notes: marking scheme and common wrong answers

Written by `python -m tests.checks.teachers_notes` from the checks and their tests; not edited by hand. How to teach with it:
[TEACHING.md](../TEACHING.md). It tells the answers to the questions.

*In order*: a check runs only if those before it passed. *Each*: every check counts by itself.
"""


def write():
    """The whole file, as one string: all lessons that have a notebook."""
    tables = {table.lesson: table for table in graders()}
    parts = [HEAD, overview()]
    for number, (title, _) in notebooks().items():
        parts.append(f"## {number} {title}\n\n{scheme(number)}")
        parts += [wrong_answers(name, tables[number]) for name in written(number)]
        parts += [answers(EXERCISES[name]) for name in of_lesson(number) if isinstance(EXERCISES[name], Question)]
    return "\n".join(parts)


def graders():
    """The graders' tables of all lessons: subclasses of LessonGraders in the tests beside this file."""
    for path in sorted(Path(__file__).parent.glob("lesson*/test_lesson*.py")):
        for thing in vars(importlib.import_module(f"{__package__}.{path.parent.name}.{path.stem}")).values():
            if isinstance(thing, type) and issubclass(thing, LessonGraders) and thing is not LessonGraders:
                yield thing


def of_lesson(number):
    return [name for name, exercise in EXERCISES.items() if exercise.lesson == number]


def written(number):
    return [name for name in of_lesson(number) if not isinstance(EXERCISES[name], Question)]


def overview():
    rows = ["| lesson | exercises | questions | minutes for them | points |", "|---|---|---|---|---|"]
    for number, (title, file) in notebooks().items():
        exercises = [EXERCISES[name] for name in of_lesson(number)]
        asked = sum(isinstance(e, Question) for e in exercises)
        sums = sum(e.minutes for e in exercises), sum(e.points for e in exercises)
        rows.append(f"| [{number} {title}]({file}) | {len(exercises) - asked} | {asked} | {sums[0]} | {sums[1]} |")
    return "\n".join(rows) + "\n"


def scheme(number):
    rows = ["| to write | points | checks | minutes | difficulty |", "|---|---|---|---|---|"]
    for exercise in map(EXERCISES.get, written(number)):
        how = f"{len(exercise.checks)}, {'in order' if exercise.in_order else 'each'}"
        rows.append(f"| `{exercise.name}` | {exercise.points} | {how} | {exercise.minutes} | {exercise.difficulty} |")
    worth = [EXERCISES[name].points for name in of_lesson(number) if name not in written(number)]
    return "\n".join(rows) + f"\n\nQuestions: {len(worth)}, {sum(worth)} points.\n"


def wrong_answers(name, table):
    """What the check of `name` takes the table's wrong answers for, with the points that each still gets."""
    right, found = table.right[name], {}
    for old, new, _ in table.wrong[name]:
        result = graded_once(name, right.replace(old, new))
        for words in (LOOKS.match(line) for row in result.rows for line in row.lines):
            if words:
                found.setdefault(words[1], (float(result), example(old, new)))
    rows = [f"| {cell(words)} | {code} | {points:g} |" for words, (points, code) in found.items()]
    head = f"### `{name}`, {EXERCISES[name].points} points\n\n"
    if not rows:
        return head + "Its check says what it saw, and names no mistake.\n"
    return head + "| it looks like | for example | points |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def example(old, new):
    """What stands where in a wrong answer, if that is short enough to read at a glance."""
    old, new = old.strip(), new.strip()
    if "\n" in old + new or max(len(old), len(new)) > SHORT or "`" in old + new:
        return ""
    return f"`{cell(new)}` for `{cell(old)}`" if new else f"without `{cell(old)}`"


def cell(text):
    return text.replace("|", "\\|")


def answers(question):
    """A question with its right answer, and what follows from each other one."""
    lines = [f"**`{question.name}`** {' '.join(question.text.split())}\n"]
    for answer, reason in question.reasons.items():
        words = question.options.get(answer, "")
        mark = "right" if answer == question.right else "wrong"
        lines.append(f"- {mark}: `{answer}`{f' ({words})' if words else ''}. {reason}.".replace("..", "."))
    return "\n".join(lines) + "\n"


def main(arguments):
    with tempfile.TemporaryDirectory() as folder:
        os.environ[VARIABLE] = folder  # what is graded here is nobody's progress
        text = write()
    if "--check" in arguments:
        current = FILE.exists() and FILE.read_text(encoding="utf-8") == text
        print(
            f"{FILE.name} is {'current' if current else 'stale: python -m tests.checks.teachers_notes writes it again'}"
        )
        return 0 if current else 1
    FILE.write_text(text, encoding="utf-8")
    print(f"wrote {FILE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
