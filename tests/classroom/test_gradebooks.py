"""Scores go into the grade book's cell of the right person and lesson, or into none; all else stays as it was."""

import csv
import io

import pytest

from helpers.classroom import record, steps, tables
from helpers.classroom.course import CONFIG, SETTINGS
from helpers.classroom.errors import ClassError
from helpers.classroom.gradebooks.books import recognised
from helpers.classroom.gradebooks.filling import fill

A, B = "00_start_here", "05_prefill_and_decode"
OF = {A: 6.0, B: 76.0}

WORKSHEET = """\
Identifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed","Last modified (submission)","Last modified (grade)","Feedback comments"
"Participant 77","Ada Lovelace",ada@b.org,"Submitted for grading",,76.00,Yes,"Friday, 6 November 2026, 10:22 AM",-,
"Participant 78","Bob Li",bob@b.org,"Submitted for grading - Assignment was submitted 2 hours late",40.00,76.00,Yes,-,-,"well
done"
"Participant 79","Jan Li",jan@b.org,"No submission",,76.00,No,-,-,
"Participant 80","Eve Nu",eve@b.org,"No submission",,76.00,Yes,-,-,
"""
ANONYMOUS = """\
Identifier,Status,Grade,"Maximum grade","Grade can be changed","Last modified (grade)"
"Participant 77",x,,76.00,Yes,-
"Participant 7",x,,76.00,Yes,-
"""
EXPORT = """\
"First name",Surname,"ID number",Institution,"Email address","Assignment: 00_start_here (Real)","Assignment: 00_start_here (Feedback)","Assignment: 05 Prefill and decode (Real)","Course total (Real)","Last downloaded from this course"
Ada,Lovelace,11,x,ada@b.org,-,,-,-,1790000000
Jan,Li,12,x,jan1@b.org,-,,12.00,12.00,1790000000
Jan,Li,13,x,jan2@b.org,-,,-,-,1790000000
"""
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,00_start_here (4711),05_prefill_and_decode (4712),Lab (4713),Current Score
,,,,,Manual Posting,,,
    Points Possible,,,,,6,76,10,(read only)
"Lovelace, Ada",123,S1,ada,Lab A,,5.00,9,50.0
"Li, Bob",124,S2,bob,Lab A,N/A,EX,,
"Nu, Eve",125,S3,eve,Lab A,6.00,,,
"Student, Test",126,,,Lab A,,,,
"""


def table_of(text):
    rows = list(csv.reader(io.StringIO(text)))
    return tables.Table(rows)


def collected(platform, **numbers):
    """What was collected: {lesson_student: (number, who)}, for lesson 05."""
    made = {}
    for student, (number, who) in numbers.items():
        made[B, student] = dict.fromkeys(record.HEADER, "") | {"platform": platform, "number": number, "who": who}
    return made


def filled(text, platform, scores, made=None, chosen=(B,), titles=None, scale=False, of=OF):
    """(the outcome, the cells that are not as they were: {(row's first cell, title): text})."""
    book = recognised(table_of(text), platform)
    outcome = fill(book, scores, of, made or {}, list(chosen), titles or {}, scale)
    before = table_of(text).rows
    cells = {
        (new[0], before[0][i]): new[i]
        for old, new in zip(before, book.table.rows, strict=True)
        for i in range(len(new))
        if new[i] != old[i]
    }
    return outcome, cells


def test_a_worksheet_is_filled_by_moodles_numbers_and_by_names():
    made = collected("moodle", Ada_Lovelace=("77", "Ada Lovelace"), Bobby=("78", "Bob Li"), X=("80", "Eve Nu"))
    scores = {B: {"Ada_Lovelace": 76.0, "Bobby": 41.5, "Jan_Li": 3.0, "X": None, "nobody": 1.0, "Eve@b_org": 7}}
    outcome, cells = filled(WORKSHEET, "moodle", scores, made)
    assert cells == {("Participant 77", "Grade"): "76", ("Participant 78", "Grade"): "41.5"}
    assert outcome.columns == {B: ("Grade", 2, 76)}
    assert outcome.changed == [(B, "Bobby", "40.00", "41.5")]
    both = "the same row of the grade book may be of X and Eve@b_org"
    assert outcome.problems == [
        (B, "Jan_Li", "the grade book says that the grade cannot be changed"),
        (B, "X", both),
        (B, "nobody", "no row of the grade book is theirs"),
        (B, "Eve@b_org", both),
    ]


def test_what_a_person_must_look_at_is_not_written():
    outcome, cells = filled(WORKSHEET, "moodle", {B: {"Eve_Nu": None}})
    assert cells == {} and outcome.problems == [(B, "Eve_Nu", "a person must look at it first")]


def test_a_number_of_another_kind_does_not_count():
    """Moodle counts groups, and participants of other lessons, with numbers too."""
    made = collected("moodle", Group_A=("77", "Group A"))
    made[A, "Bob_Li"] = made[B, "Group_A"] | {"number": "77", "who": "Bob Li"}
    outcome, cells = filled(WORKSHEET, "moodle", {B: {"Group_A": 5.0, "Bob_Li": 6.0}}, made)
    assert cells == {("Participant 78", "Grade"): "6"}
    assert outcome.problems == [(B, "Group_A", "no row of the grade book is theirs")]


def test_an_anonymous_worksheet_is_filled_by_its_numbers():
    made = collected("moodle", Participant_7=("7", "Participant"), Participant_77=("77", "Participant"))
    outcome, cells = filled(ANONYMOUS, "moodle", {B: {"Participant_7": 1.0, "Participant_77": 2.0}}, made)
    assert cells == {("Participant 77", "Grade"): "2", ("Participant 7", "Grade"): "1"} and not outcome.problems


def test_moodle_calls_the_last_name_one_way_or_the_other():
    for title in ("Surname", "Last name"):
        _, cells = filled(EXPORT.replace("Surname", f'"{title}"'), "moodle", {A: {"Ada_Lovelace": 5.0}}, chosen=(A,))
        assert cells == {("Ada", "Assignment: 00_start_here (Real)"): "5"}


def test_moodles_grade_book_is_filled_by_names_and_namesakes_are_not():
    scores = {A: {"ada_lovelace": 5.0, "Jan_Li": 1.0}, B: {"12": 12.0, "jan2@b_org": 7.25}}
    outcome, cells = filled(EXPORT, "moodle", scores, chosen=(A, B))
    lesson = "Assignment: 05 Prefill and decode (Real)"
    assert cells == {("Ada", "Assignment: 00_start_here (Real)"): "5", ("Jan", lesson): "7.25"}
    assert outcome.columns == {A: ("Assignment: 00_start_here (Real)", 1, None), B: (lesson, 2, None)}
    assert outcome.problems == [(A, "Jan_Li", "2 rows of the grade book may be theirs")] and not outcome.changed


def test_canvass_grade_book_is_filled_by_ids_logins_and_names():
    made = collected("canvas", li_124=("124", "li"), lovelaceada_123=("123", "lovelaceada"))
    made[A, "li_124"] = made[B, "li_124"]
    scores = {
        A: {"ada": 6.0, "li_124": 3.0, "Test_Student": 0.0},
        B: {"lovelaceada_123": 76.0, "li_124": 3.0, "Eve_Nu": 1.5},
    }
    outcome, cells = filled(CANVAS, "canvas", scores, made, chosen=(A, B))
    assert cells == {
        ("Lovelace, Ada", "00_start_here (4711)"): "6",
        ("Student, Test", "00_start_here (4711)"): "0",
        ("Lovelace, Ada", "05_prefill_and_decode (4712)"): "76",
        ("Nu, Eve", "05_prefill_and_decode (4712)"): "1.5",
    }
    assert outcome.problems == [
        (A, "li_124", "the lesson is not assigned to them there"),
        (B, "li_124", "they are excused there"),
    ]
    assert outcome.changed == [(B, "lovelaceada_123", "5.00", "76")]


def test_a_canvas_number_that_is_not_there_is_not_replaced_by_a_name():
    made = collected("canvas", eve=("999", "eve"))
    outcome, cells = filled(CANVAS, "canvas", {B: {"eve": 1.0}}, made)
    assert cells == {} and outcome.problems == [(B, "eve", "no row of the grade book is theirs")]


def test_first_and_last_names_in_columns_of_their_own():
    text = "LastName,FirstName,ID,SIS Login ID,Section,05_prefill_and_decode (1)\nPoints Possible,,,,,76\nLi,Bo,5,x,A\n"
    _, cells = filled(text.replace("A\n", "A,\n"), "canvas", {B: {"Bo_Li": 4.0}})
    assert cells == {("Li", "05_prefill_and_decode (1)"): "4"}
    book = recognised(table_of(text), "canvas")  # a spreadsheet left out the empty cell at the end
    fill(book, {B: {"Bo_Li": 4.0}}, OF, {}, [B], {})
    assert book.table.rows[2] == ["Li", "Bo", "5", "x", "A", "4"]


def test_another_maximum_is_said_or_scaled():
    with pytest.raises(ClassError, match="column 'Grade' has 76 points, and the lesson 38: set the maximum to 38"):
        filled(WORKSHEET, "moodle", {B: {"Eve_Nu": 19.0}}, of={B: 38.0})
    _, cells = filled(WORKSHEET, "moodle", {B: {"Eve_Nu": 19.0}}, of={B: 38.0}, scale=True)
    assert cells == {("Participant 80", "Grade"): "38"}
    _, cells = filled(CANVAS, "canvas", {B: {"eve": 1.0}}, titles={B: "lab (4713)"}, of={B: 3.0}, scale=True)
    assert cells == {("Nu, Eve", "Lab (4713)"): "3.33"}


@pytest.mark.parametrize(
    ("text", "platform", "options", "words"),
    [
        (CANVAS, "canvas", {"titles": {B: "Homework"}}, "has no column 'Homework'; it has Student, ID"),
        (
            CANVAS.replace("Lab (", "05 prefill ("),
            "canvas",
            {},
            r"'05 prefill \(4713\)' are named after 05_.*--column 05=",
        ),
        (
            CANVAS.replace("05_p", "Homework "),
            "canvas",
            {},
            "no column is named after 05_.*--column 05=TITLE; there are",
        ),
        (WORKSHEET, "moodle", {"chosen": (A, B)}, "say which lesson it is"),
        (WORKSHEET, "canvas", {}, "no columns Student, ID and Section; it has Identifier"),
        (CANVAS, "moodle", {}, "no columns Identifier and Grade, or First name.*language to English"),
        ("Vorname,Nachname\nAda,Li\n", "moodle", {}, "no columns Identifier and Grade"),
    ],
)
def test_what_is_not_clear_is_said_and_nothing_is_written(text, platform, options, words):
    table = table_of(text)
    with pytest.raises(ClassError, match=words):
        arguments = {"chosen": (B,), "titles": {}} | options
        fill(recognised(table, platform), {B: {"eve": 1.0}}, OF, {}, list(arguments["chosen"]), arguments["titles"])
    assert table.rows == table_of(text).rows


@pytest.fixture
def course(tmp_path, monkeypatch):
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / SETTINGS).write_text(CONFIG, encoding="utf-8")
    worth = {A: {"newest_row": 3.0, "answer_00_1": 3.0}, B: {"prefill": 70.0, "answer_05_1": 6.0}}
    found = {A: {}, B: {"Zoë": {"prefill": 60.0, "answer_05_1": 0.5}, "bob": {"prefill": None, "answer_05_1": 1.0}}}
    monkeypatch.setattr(steps, "worth", lambda course: worth)
    monkeypatch.setattr(steps, "scores", lambda course, names=(): found)
    return tmp_path / "course"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("delimiter", ",;\t")
def test_the_command_keeps_the_files_form_and_says_what_it_wrote(course, capsys, encoding, delimiter):
    rows = [row[:] for row in table_of(CANVAS).rows]
    rows[5][:1], rows[5][6] = ["Nu, Zoë"], "9,50"
    rows[5][3] = "Zoë"
    file = course.parent / "2026-11-06_Grades-KV.csv"
    tables.write(tables.Table(rows, delimiter, encoding), file)
    before = file.read_bytes()
    assert steps.main(["grades", str(course), "05", "--canvas", str(file)]) == 1
    out, err = capsys.readouterr()
    target = course / "2026-11-06_Grades-KV_scores.csv"
    assert out.splitlines() == [
        f"{B}  1 scores into column '05_prefill_and_decode (4712)'",
        f"changed: {B}  Zoë: 9,50 is now 60.5",
        f"To upload: {target}",
    ]
    assert err == f"not written: {B}  bob: a person must look at it first\n"
    rows[5][6] = "60.5"
    tables.write(tables.Table(rows, delimiter, encoding), file)
    assert target.read_bytes() == file.read_bytes() != before


def test_a_lesson_without_scores_and_a_file_without_maximum(course, capsys):
    file = course.parent / "grades.csv"
    file.write_text(EXPORT, encoding="utf-8")
    out = course.parent / "up.csv"
    assert steps.main(["grades", str(course), "00", "--moodle", str(file), "--out", str(out)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{A}  0 scores into column 'Assignment: 00_start_here (Real)'; see that its maximum is 6 there, the file does not say",
        f"To upload: {out}",
    ]
    assert tables.read(out).rows == table_of(EXPORT).rows


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["99"], "no lesson that was released begins with '99'"),
        (["05", "--column", "7=Lab"], "no lesson that was released begins with '7'"),
        (["05", "--out", "FILE"], "is the file that was downloaded: choose another name"),
    ],
)
def test_what_the_command_cannot_do_is_said(course, capsys, options, words):
    file = course.parent / "grades.csv"
    file.write_text(CANVAS, encoding="utf-8")
    options = [str(file) if option == "FILE" else option for option in options]
    assert steps.main(["grades", str(course), *options, "--canvas", str(file)]) == 2
    assert words in capsys.readouterr().err and file.read_text(encoding="utf-8") == CANVAS


def test_the_scores_say_what_was_late(course, capsys):
    late = dict.fromkeys(record.HEADER, "") | {"lesson": B, "student": "bob", "late": "late"}
    record.save(course, {(B, "bob"): late})
    assert steps.main(["scores", str(course)]) == 0
    lines = (course / "scores.csv").read_text(encoding="utf-8").splitlines()
    assert lines == [
        "lesson,student,exercise,points,of,late",
        f"{B},Zoë,prefill,60,70,",
        f"{B},Zoë,answer_05_1,0.5,6,",
        f"{B},bob,prefill,,70,late",
        f"{B},bob,answer_05_1,1,6,late",
    ]


def test_a_file_that_is_not_there_is_said(course, capsys):
    assert steps.main(["grades", str(course), "--canvas", str(course / "none.csv")]) == 2
    assert "none.csv cannot be read: No such file" in capsys.readouterr().err
