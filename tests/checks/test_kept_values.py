"""Progress files of odd shape, and values that are worse than those kept: a row for each kind."""

import json
import math
from pathlib import Path

import numpy
import pytest
import torch

from helpers import kept_values, progress
from helpers.checks import check
from helpers.checks.board import Board
from helpers.checks.learner_report import markdown, page

from .graders import names
from .test_progress_refused import POINTS, RIGHT, file, read_only

pytestmark = pytest.mark.usefixtures("kept_folder")


GOOD = '"a": {"points": 1, "of": 2}'
MEASURED = '"measured": {"05": {"good": 3}}'
ODD = (  # all of the file is unusable
    "3", "null", '"text"', "[]", "[[[]]]", "{", "\ud83d", "nul", '{"solved": {', "[" * 100_000, '{"a":' * 100_000,
    '{"solved": {"a": {"points": ' + "9" * 5000 + "}}}", "{}", '{"solved": 3, "measured": []}',
)  # fmt: skip
PARTLY = (  # a part of "solved" or "measured" beside a good one
    '"newest_row": 3', '"newest_row": null', '"newest_row": []', '"newest_row": "all"', '"newest_row": {}',
    '"newest_row": {"points": null}', '"newest_row": {"points": "3", "of": 3}', '"newest_row": {"points": NaN, "of": 3}',
    '"newest_row": {"points": Infinity}', '"newest_row": {"points": -1, "of": 3}', '"newest_row": {"points": true}',
    '"newest_row": {"points": [3], "of": 3}', '"newest_row": {"points": 1' + "0" * 400 + "}",
    '"newest_row": {"points": 3, "of": null}', '"newest_row": {"points": 3, "of": NaN}', '"\\ud800": {"points": 3, "of": 3}',
)  # fmt: skip
ROWS = (
    '"00": 3', '"00": []', '"00": null', '"00": {"a": "\\ud800"}', '"00": {"\\udfff": 1}', '"\\ud800": {}',
    '"00": {"a": ' + "[" * 500 + "]" * 500 + "}", '"00": {"a": ' + '{"b":' * 500 + "3" + "}" * 501,
)  # fmt: skip


def everything_works():
    kept, message = progress.read()
    said = f"{Board()!r}{Board()._repr_html_()}{markdown(kept, message)}{page(kept, message)}"
    said.encode()
    assert progress.measure("00", mine=1) is None and float(check("newest_row", names(RIGHT))) == POINTS
    assert progress.load()["measured"]["00"]["mine"] == 1 and progress.read()[1] is None
    assert progress.load()["solved"]["newest_row"] == {"points": POINTS, "of": POINTS}
    return kept, message


@pytest.mark.parametrize("content", ODD, ids=lambda content: content[:30])
def test_a_file_of_odd_shape_is_set_aside(kept_folder, content):
    content = content.encode("utf-8", "surrogatepass")
    file(kept_folder, content)
    kept, message = everything_works()
    aside = list(kept_folder.glob("progress-unreadable-*.json"))
    assert kept == kept_values.empty() and "the progress file was unreadable" in message
    assert len(aside) == 1 and aside[0].name in message and aside[0].read_bytes() == content


@pytest.mark.parametrize("odd", PARTLY + ROWS, ids=lambda content: content[:50])
def test_what_is_sound_in_a_file_of_odd_shape_goes_on(kept_folder, odd):
    solved, measured = (f", {odd}" if odd in PARTLY else "", f", {odd}" if odd in ROWS else "")
    content = f'{{"solved": {{{GOOD}{solved}}}, {MEASURED[:-1]}{measured}}}}}'
    file(kept_folder, content)
    kept, message = everything_works()
    aside = list(kept_folder.glob("progress-unreadable-*.json"))
    assert kept["solved"] == {"a": {"points": 1, "of": 2}} and kept["measured"]["05"] == {"good": 3}
    assert (
        "parts of the progress file were unreadable" in message and aside[0].read_text() == content and len(aside) == 1
    )
    assert progress.load()["solved"]["a"] == {"points": 1, "of": 2}


def test_a_sound_file_is_left_as_it_is(kept_folder):
    content = f'{{"solved": {{{GOOD}}}, {MEASURED}, "newer": [1], "00": NaN}}'.replace('"good": 3', '"nan": NaN')
    file(kept_folder, b"\xef\xbb\xbf" + content.encode())  # as an editor on Windows leaves it
    assert progress.read()[1] is None and list(kept_folder.iterdir()) == [file(kept_folder)]
    progress.measure("05", more=1)
    kept = json.loads(file(kept_folder).read_text())
    assert kept["newer"] == [1] and math.isnan(kept["measured"]["05"]["nan"])


def test_an_unsound_file_that_cannot_be_set_aside_is_told(kept_folder, monkeypatch):
    file(kept_folder, "{")
    read_only(monkeypatch, kept_folder)
    assert "progress was not kept" in repr(Board()) and file(kept_folder).read_text() == "{"


# Better replaces worse.


@pytest.mark.parametrize(
    ("points", "of", "now"),
    [
        (3, 3, 3),
        (2, 3, 2),
        (5, 5, 3),
        (4, 5, 2),
        (1, 5, 0),
        (0, 5, 0),
        (2, 2, 2),
        (9, 3, 3),
        (9, 9, 3),
        (2, None, 2),
        (9, None, 3),
    ],
)
def test_points_of_another_version_of_an_exercise(kept_folder, points, of, now):
    """Now it has 3. Full points of a longer one stay full, a part stays a part; a shorter one's are what they were."""
    entry = {"points": points} | ({"of": of} if of else {})
    file(kept_folder, json.dumps({"solved": {"newest_row": entry}, "measured": {}}))
    assert POINTS == 3 and ("Open: newest_row" in markdown(progress.load(), only="00")) is (now < 3)
    assert kept_values.points(entry, 3) == now
    progress.record("newest_row", 0, 3)
    assert progress.load()["solved"]["newest_row"] == {"points": now, "of": 3}
    progress.record("newest_row", 3, 3)
    assert progress.load()["solved"]["newest_row"] == {"points": 3, "of": 3}


SENTENCE = "one offset for all rows"
WORSE = (  # kept, measured later, what is kept then
    ({"boundary": SENTENCE}, {"boundary": None}, {"boundary": SENTENCE}),
    ({"boundary": SENTENCE}, {"boundary": "-"}, {"boundary": SENTENCE}),
    ({"boundary": SENTENCE}, {"boundary": " "}, {"boundary": SENTENCE}),
    ({"boundary": SENTENCE}, {"boundary": "not written yet"}, {"boundary": SENTENCE}),
    ({"boundary": SENTENCE}, {"boundary": "another"}, {"boundary": "another"}),
    ({"boundary": "not written yet"}, {"boundary": SENTENCE}, {"boundary": SENTENCE}),
    ({"first": 2}, {"first": None}, {"first": 2}),
    ({"first": 2}, {"first": 0}, {"first": 0}),
    ({"first": True}, {"first": False}, {"first": False}),
    ({"first": None}, {"first": None}, {"first": None}),
    ({"predicted": {"a": 1, "b": "no"}}, {"predicted": {"a": None, "b": None}}, {"predicted": {"a": 1, "b": "no"}}),
    ({"predicted": {"a": 1, "b": None}}, {"predicted": {"a": None, "b": 2}}, {"predicted": {"a": 1, "b": 2}}),
    ({"predicted": {"a": 1}}, {"predicted": {}}, {"predicted": {"a": 1}}),
    ({"predicted": {"a": 1}}, {"predicted": None}, {"predicted": {"a": 1}}),
    ({"newest_row": "own"}, {"newest_row": "not written yet"}, {"newest_row": "own"}),
    ({"newest_row": "not written yet"}, {"newest_row": "own"}, {"newest_row": "own"}),
    ({"mask": "own", "rows": 3}, {"mask": "the course's", "rows": 4}, {"mask": "own", "rows": 3}),
    ({"mask": "the course's", "rows": 3}, {"mask": "own", "rows": 4}, {"mask": "own", "rows": 4}),
    ({"mask": "the course's", "rows": 3}, {"mask": "the course's", "rows": 4}, {"mask": "the course's", "rows": 4}),
    ({"mask": "own", "rows": 3}, {"mask": "the course's", "new": 4}, {"mask": "own", "rows": 3, "new": 4}),
    (
        {"mask": "own", "rows": 3, "boundary": "old"},
        {"mask": "the course's", "rows": 4, "boundary": "new"},
        {"mask": "own", "rows": 3, "boundary": "new"},
    ),
    ({"repaired": "Steps, Mask"}, {"repaired": "Steps"}, {"repaired": "Steps, Mask"}),
    ({"repaired": "Steps, Mask"}, {"repaired": "none yet"}, {"repaired": "Steps, Mask"}),
    ({"repaired": "Steps"}, {"repaired": "Steps, Mask"}, {"repaired": "Steps, Mask"}),
    ({"places": "learned, offset 3"}, {"places": "learned"}, {"places": "learned"}),
)


@pytest.mark.parametrize(("kept", "later", "then"), WORSE)
def test_what_was_written_or_measured_is_not_replaced_by_nothing(kept, later, then):
    progress.measure("05", **kept)
    progress.measure("05", **later)
    assert progress.load()["measured"]["05"] == then


class Mute:
    def __str__(self):
        raise ValueError


VALUES = (
    (torch.tensor(3), 3), (torch.tensor([2.5]), 2.5), (numpy.float64(2.5), 2.5), (numpy.int64(3), 3), ((1, 2), [1, 2]),
    ({3}, [3]), ({1: None}, {"1": None}), (Mute(), "Mute"), ("\ud800", "?"), (torch.float32, "torch.float32"),
    (10**5000, "int"), ("z" * 20_000, "z" * 10_000), (b"x", "b'x'"), (Path("a"), "a"), (True, True),
)  # fmt: skip


@pytest.mark.parametrize(("value", "kept"), VALUES, ids=lambda value: str(type(value)))
def test_any_value_can_be_measured(value, kept):
    progress.measure("05", value=value)
    assert progress.load()["measured"]["05"] == {"value": kept} and progress.read()[1] is None


def test_endless_values_are_cut():
    endless = []
    endless.append(endless)
    progress.measure("05", value=endless, deep={"a": endless})
    assert "…" in str(progress.load()["measured"]["05"]["value"]) and progress.read()[1] is None
