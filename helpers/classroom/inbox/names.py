"""What a file's name says: its lesson, its student, a learning platform's marks. It says a doubt rather than guess.

A name is the tuple of its parts below the inbox; a zip file counts as a folder.
"""

import re
import unicodedata
from dataclasses import dataclass, replace

NOTEBOOK = re.compile(r"\.ipynb(\.(txt|json))?$", re.I)  # browsers and mail programs append .txt or .json
ZIP = re.compile(r"\.zip$", re.I)
# The folders of Moodle's download, or the beginnings of its file names: a person, a number, the kind of submission.
MOODLE = re.compile(r"(?P<who>.+?)(_(?P<user>\d+))?_assignsubmission_(file|onlinetext)(_(?P<rest>.*))?", re.I | re.S)
# The file names of Canvas's download: a person, whether late, the person's number, the upload's number.
CANVAS = re.compile(
    r"((?!late_|anon_)(?P<who>\w+?)_)?(?P<late>late_)?((?P<user>\d+)|(?P<anon>anon_[0-9a-z]+))_(?P<upload>\d{3,})_(?P<rest>.+)",
    re.I | re.S,
)
DATE = re.compile(r"(19|20)\d\d((0[1-9]|1[0-2])([0-2]\d|3[01]))?")
ANONYMOUS = {"participant", "participante", "partecipante", "teilnehmer_in", "teilnehmerin", "teilnehmer", "deelnemer"}
# Words that name nobody. A name made of these, and of numbers shorter than a student's, is no student's.
NOBODY = set(
    "a all an and answer answers archive assignment assignments attempt class copy course download downloads draft "
    "exercise exercises export file files final finished folder for from group hand handed handin homework hw in inbox "
    "ipynb jupyter lab lesson lessons my new notebook notebooks of old part project sheet solution solutions student "
    "students submission submissions submit submitted task tasks the to try unit upload uploads v ver version week work "
    "zip".split()
)
GROUP = "*"  # a teacher's answer about a folder: it is nobody's, the names in it say whose
LONGEST = 150  # bytes of a student's name: it becomes a folder


@dataclass(frozen=True)
class Mark:
    """What a platform wrote into a name. `number` is the person's (or empty), `rest` what the person called the file."""

    platform: str  # "moodle" or "canvas"
    who: str
    number: str
    rest: str
    late: bool = False
    upload: int | None = None  # Canvas counts its files: the larger number was uploaded later
    doubt: str = ""

    @property
    def student(self):
        who = clean(self.who)
        numbered = self.platform == "canvas" or who.casefold() in ANONYMOUS
        return "_".join(filter(None, (who, self.number))) if numbered else who


@dataclass(frozen=True)
class Reading:
    """`lesson` and `student`, or None with the `doubt` in words and the `place` (a file or a folder) to ask about."""

    lesson: str | None
    student: str | None
    doubt: str = ""
    place: tuple = ()
    mark: Mark | None = None
    answered: bool = False  # the teacher said whose this very file is


def read(name, lessons, answers):
    """The `Reading` of a name. What the teacher answered, then a platform's mark, nearest to the file, goes first."""
    levels = [ZIP.sub("", part) for part in name[:-1]] + [NOTEBOOK.sub("", name[-1])]
    marks = [mark(level) for level in levels]
    levels = [level if found is None else found.rest for level, found in zip(levels, marks)]
    split = [at_lesson(level, lessons) for level in levels]
    lesson = answers.lesson(name) or next((lesson for _, lesson in reversed(split) if lesson), None)
    for depth in range(len(name), 0, -1):
        place, found = name[:depth], marks[depth - 1]
        said = answers.student(place)
        if said not in (None, GROUP):
            last = next((m for m in reversed(marks) if m), None)
            return known(Reading(lesson, clean(said), "", place, last, answered=place == name))
        if found:
            return known(Reading(lesson, found.student, found.doubt, place, found))
    return plain(name, lesson, split, answers)


def known(reading):
    """The reading, without a student that is in doubt or cannot be a folder's name."""
    doubt = reading.doubt or ("" if fits(reading.student) else "it names no student")
    return replace(reading, student=None, doubt=doubt) if doubt else reading


def plain(name, lesson, split, answers):
    """The `Reading` of a name without marks: the student is its only folder, or what stands before the lesson's name."""
    folders = [
        (name[: i + 1], person)
        for i, (before, _) in enumerate(split[:-1])
        if (person := somebody(before)) and answers.student(name[: i + 1]) != GROUP
    ]
    person = somebody(split[-1][0]) if split[-1][1] else None
    if len(folders) > 1:
        words = " and ".join(repr(person) for _, person in folders)
        return Reading(lesson, None, f"it lies in {words}: which of them is the student?", folders[0][0])
    if folders and person and not agree(person, folders[0][1]):
        words = f"it lies in {folders[0][1]!r} and its name begins with {person!r}: which of them is the student?"
        return Reading(lesson, None, words, folders[0][0])
    student = folders[0][1] if folders else person
    return Reading(lesson, student, "" if student else "it names no student", () if student else name)


def mark(text):
    """The `Mark` in one part of a name, or None."""
    if found := MOODLE.fullmatch(text):
        return Mark("moodle", found["who"], found["user"] or "", found["rest"] or "")
    found = CANVAS.fullmatch(text)
    if not found or not (found["who"] or found["anon"]):
        return None
    doubt = ""
    if any(DATE.fullmatch(part) for part in (found["user"] or "", found["upload"])):
        doubt = "its numbers may be a date or Canvas's: whose is it?"
    number = found["user"] or found["anon"]
    return Mark("canvas", found["who"] or "", number, found["rest"], bool(found["late"]), int(found["upload"]), doubt)


def at_lesson(text, lessons):
    """(what stands before a lesson's name in `text`, the lesson); (text, None) where it names none, or several."""
    found = {lesson: place for lesson in lessons if (place := pattern(lesson).search(text))}
    if len(found) != 1:
        return text, None
    lesson, place = next(iter(found.items()))
    return text[: place.start()], lesson


def pattern(lesson):
    """Matches a lesson's name, or its beginning of the number and a word or more: `05_prefill`, `05 Prefill-and`."""
    words = list(map(re.escape, lesson.split("_")))
    least = 2 if words[0].isdecimal() else len(words)
    rest = ""
    for word in reversed(words[least:]):
        rest = rf"(?:[\W_]*{word}{rest})?"
    return re.compile(r"(?<!\d)" + r"[\W_]*".join(words[:least]) + rest, re.I)


def somebody(text):
    """`text` as a student's name, or None where it names nobody."""
    said = [word for word in words(text) if word not in NOBODY and not (word.isdecimal() and len(word) < 5)]
    name = clean(text)
    return name if said and fits(name) else None


def fits(name):
    return 0 < len(name.encode("utf-8", "replace")) <= LONGEST


def agree(one, other):
    """Whether two names may be the same person's: the words of one are among those of the other."""
    one, other = set(words(one)), set(words(other))
    return one <= other or other <= one


def words(text):
    return re.findall(r"[^\W\d_]+|\d+", text.casefold())


def clean(text):
    """A student's name that is safe as a folder's name; accents in one spelling, whatever system wrote them."""
    return re.sub(r"[^\w@-]+", "_", unicodedata.normalize("NFC", text)).strip("_-@")


def copy_number(part):
    """(a file's name without its copy mark, the mark's number): 2 of `x (2).ipynb` and `x-2.ipynb`, 0 without."""
    stem = NOTEBOOK.sub("", part)
    found = re.fullmatch(r"(?s)(.+?)(?:\s*\((\d{1,3})\)|-(\d{1,3}))", stem)
    return (found[1], int(found[2] or found[3])) if found else (stem, 0)


def shown(name):
    """A name to print and to write into a table: control characters and bytes that are no text become `?`."""
    return "".join(c if c.isprintable() else "?" for c in "/".join(name) or ".")
