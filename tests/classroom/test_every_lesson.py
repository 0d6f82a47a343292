"""Every lesson there is, through nbgrader: unsolved it has no point, solved it has all; what is handed out is the lesson."""

import csv
import shutil

import nbformat
import pytest

from helpers.checks import EXERCISES
from helpers.checks.learner_report import NOTEBOOKS

LESSONS = sorted(path.stem for path in (NOTEBOOKS / "solutions").glob("*.ipynb"))
every_lesson = pytest.mark.parametrize("lesson", LESSONS)


@pytest.fixture(scope="module")
def course(tmp_path_factory, teacher):
    folder = tmp_path_factory.mktemp("class") / "course"
    code, said = teacher("release", folder)
    assert code == 0, said
    return folder


@pytest.fixture(scope="module")
def graded(course, teacher, tmp_path_factory):
    """(what `class grade` said, {(lesson, student): {exercise: (points, of)}})."""
    inbox = tmp_path_factory.mktemp("inbox")
    for lesson in LESSONS:
        for student, path in (
            ("unsolved", course / "release" / lesson / f"{lesson}.ipynb"),
            ("solved", NOTEBOOKS / "solutions" / f"{lesson}.ipynb"),
        ):
            (inbox / student).mkdir(exist_ok=True)
            shutil.copy(path, inbox / student)
    assert teacher("collect", course, inbox)[0] == 0
    code, said = teacher("grade", course)
    assert code == 0, said
    found = {}
    with (course / "scores.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            exercises = found.setdefault((row["lesson"], row["student"]), {})
            exercises[row["exercise"]] = row["points"], row["of"]
    return said, found


def of_lesson(lesson, points):
    """What scores.csv must hold: each exercise of the lesson, with `points` of the points that the checks give."""
    return {e.name: (f"{points * e.points:g}", str(e.points)) for e in EXERCISES.values() if e.lesson == lesson[:2]}


@every_lesson
def test_unsolved_has_no_points(graded, lesson):
    assert graded[1][lesson, "unsolved"] == of_lesson(lesson, 0)


@every_lesson
def test_solved_has_all_points(graded, lesson):
    assert graded[1][lesson, "solved"] == of_lesson(lesson, 1) != {}


@every_lesson
def test_what_is_handed_out_is_the_lesson_in_the_repository(course, lesson):
    released = nbformat.read(course / "release" / lesson / f"{lesson}.ipynb", as_version=4)
    stored = nbformat.read(NOTEBOOKS / f"{lesson}.ipynb", as_version=4)
    assert [(c.id, c.cell_type, c.source) for c in released.cells] == [
        (c.id, c.cell_type, c.source) for c in stored.cells
    ]


def test_the_table_is_printed(graded, capsys):
    lines = graded[0].splitlines()
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("of")) - 1 :][:4]
    of, solved, unsolved = (line.split()[1:] for line in table[1:])
    assert of == solved and set(unsolved) == {"0"} and len(of) == len(LESSONS)
    with capsys.disabled():
        print("\n\n  points of each lesson\n  " + "\n  ".join(table))


def test_released_again_the_lessons_are_the_same_and_a_teachers_settings_stay(course, teacher):
    settings = course / "nbgrader_config.py"
    settings.write_text(settings.read_text(encoding="utf-8") + "# mine\n", encoding="utf-8")
    file = course / "release" / LESSONS[0] / f"{LESSONS[0]}.ipynb"
    before = file.read_bytes()
    code, said = teacher("release", course, LESSONS[0][:2])
    assert code == 0, said
    assert file.read_bytes() == before and settings.read_text(encoding="utf-8").endswith("# mine\n")
