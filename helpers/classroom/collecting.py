"""Sort handed-in files into `submitted/STUDENT/LESSON/LESSON.ipynb`, however the learning platform named them."""

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from . import record
from .course import opened
from .errors import ClassError
from .inbox.answers import Answers
from .inbox.choosing import choose
from .inbox.files import hidden, look_through
from .inbox.names import shown
from .inbox.sorting import apart, settle


@dataclass
class Collected:
    """What became of each file of an inbox; files as they are printed, their parts below the inbox with / between."""

    taken: list = field(default_factory=list)  # (lesson, student)
    late: set = field(default_factory=set)  # those of them that the platform marked
    refused: list = field(default_factory=list)  # (file, why it was not placed)
    notes: list = field(default_factory=list)  # (file, what the teacher should know of it); nothing is to be done
    hidden: list = field(default_factory=list)  # names that a system left behind, as .DS_Store; once for each
    questions: dict = field(default_factory=dict)  # {place, a tuple: the question about it}

    def doubt(self, item):
        self.refused.append((str(item), item.doubt))
        self.questions.setdefault(item.place, item.doubt)


def collect(course, folder):
    """Copy the notebooks in `folder`, zip files included, to their places in `course`. Returns a `Collected`.

    Open questions are written into `whose.csv` in the course folder, and answers are read from there. Raises ClassError.
    """
    opened(course)  # says in words if it is no course folder
    course, folder = Path(course).resolve(), Path(folder)
    if not folder.is_dir():
        raise ClassError(f"{folder} is no folder: put the files that were handed in into one")
    if folder.resolve() in (course, *course.parents):
        raise ClassError(f"the course folder lies in {folder}: put what was handed in into a folder of its own")
    answers, before = Answers.of(course), record.load(course)
    with tempfile.TemporaryDirectory() as scratch:
        inbox = look_through(folder, Path(scratch))
        result = Collected(hidden=[shown([next(filter(hidden, name))]) for name in inbox.hidden])
        lessons = sorted(path.name for path in (course / "source").iterdir())
        items = settled(inbox, lessons, answers, result)
        for item in chosen(spelled(course, apart(items, before)), result):
            place(course, item, before, result)
    record.save(course, before)
    answers.ask(course, result.questions)
    result.taken.sort()
    result.refused.sort()
    return result


def settled(inbox, lessons, answers, result):
    """The items of an inbox's notebooks; what is to be left out, or cannot be read, goes into `result`."""
    items, refused = [], list(inbox.refused)
    for name, path in inbox.notebooks:
        try:
            items.append(settle(name, path, lessons, answers))
        except OSError as error:
            refused.append((name, f"it cannot be read: {error.strerror}"))
    for name, why in [*refused, *((item.name, None) for item in items)]:
        if answers.left_out(name):
            result.notes.append((shown(name), "left out, as whose.csv says"))
        elif why:
            result.refused.append((shown(name), why))
    return [item for item in items if not answers.left_out(item.name)]


def spelled(course, items):
    """The items with one spelling of each student: a folder on macOS and Windows is the same as `Ada` and as `ada`."""
    students = [path.name for path in sorted((course / "submitted").glob("*"))]
    spelling = {}
    for student in students + [item.student for item in items if item.student]:
        spelling.setdefault(student.casefold(), student)
    return [item.of(spelling[item.student.casefold()]) if item.student else item for item in items]


def chosen(items, result):
    """One item for each student and lesson; the others go into `result`."""
    groups = {}
    for item in items:
        if item.doubt:
            result.doubt(item)
        else:
            groups.setdefault((item.lesson, item.student), []).append(item)
    for (lesson, student), group in groups.items():
        one, left = choose(group)
        result.notes += [(str(item), why) for item, why in left]
        if one:
            yield one
        else:
            for item in group:
                result.doubt(item.doubted(f"{len(group)} files of {student} for {lesson}: keep one"))


def place(course, item, before, result):
    """Copy one item to its place, unless a newer one lies there."""
    key = item.lesson, item.student
    old, new = before.get(key, {}).get("upload", ""), item.mark and item.mark.upload
    if old.isdecimal() and new and new < int(old):
        result.notes.append((str(item), f"it was uploaded to Canvas before {before[key]['file']}, collected earlier"))
        return
    target = course / "submitted" / item.student / item.lesson
    try:
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(item.path, target / f"{item.lesson}.ipynb")
    except OSError as error:
        result.refused.append((str(item), f"it cannot be put into {target}: {error.strerror}"))
        return
    before[key] = record.row(item)
    result.taken.append(key)
    if item.mark and item.mark.late:
        result.late.add(key)
    if item.note:
        result.notes.append((str(item), item.note))
