"""Lesson 05, prefill and decode: its exercises and graded questions."""

from .registry import Exercise, Question, Wrong

rows_expected = Exercise(
    name="rows_expected",
    lesson="05",
    call="rows_expected(prompt_length, emitted, window=None)",
    minutes=5,
    difficulty="easy",
    hints=(
        "Count what was fed, not what was chosen. Which token of an answer is never fed?",
        "Write down the first steps: after the prefill the first token is chosen but not fed; choosing the second one needs it fed.",
        "A window of W keeps the W newest rows of those, and all of them while there are fewer.",
    ),
)


@rows_expected.check("rows without a window")
def _(answer):
    for prompt, emitted, rows in [(5, 0, 5), (5, 1, 5), (5, 2, 6), (1, 1, 1), (7, 24, 30)]:
        got = answer(prompt, emitted)
        if got != rows:
            raise Wrong(f"a prompt of {prompt} and {emitted} tokens emitted: got {got!r}, expected {rows}")


Question(
    name="answer_05_1",
    lesson="05",
    text="Which tensors does one cached decode step compute anew?",
    options={"a": "x", "b": "y", "c": "z"},
    right="b",
    reasons={"b": "y it is"},
    hints=("think",),
)
