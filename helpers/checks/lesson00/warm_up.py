"""Lesson 00: a warm-up, three questions about reading a check, and a sample exercise on which a check is shown at work."""

import torch

from ..compare import compare, inputs_kept, own
from ..core import given, run_checks
from ..registry import Exercise, Question, Wrong, kind


class Sample(Exercise):
    """An exercise that is only shown: it is not filed, so nothing of it counts and nothing of it is kept."""

    def __post_init__(self):
        pass


position_of = Sample(
    name="position_of",
    lesson="00",
    call="position_of(i, cached) -> int",
    minutes=1,
    difficulty="easy",
    hints=(),
    seconds=1.0,
)


def demonstrate(answer):
    """What the check of the sample exercise says to `answer`, a function (i, cached) -> position. Nothing is kept."""
    return run_checks(position_of, given(answer), answer.__globals__, [])


def position_is(answer, i, cached):
    got, right = answer(i, cached), cached + i
    if isinstance(got, bool) or not isinstance(got, int) or got != right:
        shown = got if isinstance(got, (int, float)) else kind(got)
        looks = "positions that restart at 0 in each call" if got == i else None
        raise Wrong(f"new token {i} after {cached} cached ones: got {shown}, expected {right}", looks)
    return f"{got}"


for when, i, cached in (
    ("nothing cached, token 4", 4, 0),
    ("9 cached, the first new token", 0, 9),
    ("9 cached, a chunk's third token", 2, 9),
):

    @position_of.check(when)
    def _(answer, i=i, cached=cached):
        return position_is(answer, i, cached)


newest_row = Exercise(
    name="newest_row",
    lesson="00",
    call="newest_row(x [B, T, C]) -> [B, C]",
    minutes=2,
    difficulty="easy",
    hints=(
        "Three axes: batch, tokens, channels. Which one runs over the text?",
        "The newest token is the last one of its axis; the other two axes stay whole.",
        "A single index on the middle axis, counted from the end, takes the row and drops the axis.",
    ),
)

AXES = {
    "the last row of the batch: the first axis is the batch": lambda x: x[-1],
    "the last channel of each token: the last axis is the channels": lambda x: x[..., -1],
    "the axis of length 1 is kept: index with a number, not with a slice": lambda x: x[:, -1:],
    "the first token; the newest is the last": lambda x: x[:, 0],
    "the token before the newest": lambda x: x[:, -2],
}


@newest_row.check("the last of 5 tokens, for each of 3 rows")
def _(answer):
    x = torch.arange(3 * 5 * 4).reshape(3, 5, 4)
    got = answer(x)
    looks = next((w for w, take in AXES.items() if isinstance(got, torch.Tensor) and torch.equal(got, take(x))), None)
    try:
        compare(got, x[:, 4], 0, "B C", "the result")
    except Wrong as wrong:
        raise Wrong(wrong.seen, looks or wrong.looks_like) from None


@newest_row.check("a text of 1 token")
def _(answer):
    x = torch.arange(4).reshape(1, 1, 4)  # a batch of 1 too: no axis may vanish because it has one entry
    compare(answer(x), x[:, 0], 0, "B C", "the result")


@newest_row.check("x is unchanged")
def _(answer):
    inputs_kept(own(answer), ("x",), torch.arange(24).reshape(2, 3, 4))


Question(
    name="answer_00_1",
    lesson="00",
    text="A check has 5 rows: pass, pass, FAIL, --, --. How many of them say something about your code?",
    right=3,
    reasons={
        1: "A pass says something too: this much is right",
        2: "The FAIL counts too: it is the row that helps most",
        3: "A row with -- was not compared: it may pass or fail",
        5: "The rows with -- were not compared",
    },
    hints=("Look at the sample with a mistake in it: what does it say behind --?",),
)

Question(
    name="answer_00_2",
    lesson="00",
    text="Somebody's cached decoder writes a note that reads well; no shape was wrong, no error was raised. What is known about its cache?",
    options={
        "a": "it is right: a wrong cache would write nonsense",
        "b": "nothing yet: fluent text and right shapes do not show that the logits are those of a run without a cache",
        "c": "it is wrong: notes of a cached decoder always differ a little",
    },
    right="b",
    reasons={
        "a": "The second note at the top reads well too, and three of its values are wrong",
        "b": "So the course compares logits, at every step, with a run that has no cache",
        "c": "With greedy decoding and a right cache the two notes are equal, up to rounding in the logits",
    },
    hints=("Did the second note at the top read worse than the first?",),
)

Question(
    name="answer_00_3",
    lesson="00",
    text="You solved an exercise, closed the lab and opened it the next day. The check cell was not run again. What does the board at the end of this lesson say?",
    options={
        "a": "the exercise is open: the kernel is a new one",
        "b": "solved: the best points are kept in a file outside the lessons",
        "c": "it depends on whether the notebook was saved",
    },
    right="b",
    reasons={
        "a": "The board reads a file, not the kernel",
        "b": "And worse points never replace better ones",
        "c": "The notebook keeps your code, the progress file your points; the board reads the second",
    },
    hints=("Read *What is kept*, above the question.",),
)
