"""The warm-up's grader and questions are code under test; so is the sample on which a check is shown."""

import pytest
from graders import graded

from helpers import progress
from helpers.checks import EXERCISES, lesson00
from helpers.checks.lesson00 import demonstrate
from helpers.checks.registry import Question

QUESTIONS = [name for name, e in EXERCISES.items() if e.lesson == "00" and isinstance(e, Question)]
RIGHT = [
    "x[:, -1]",
    "x[:, x.shape[1] - 1, :]",
    "x.select(1, -1)",
    "x.flip(1)[:, 0]",
    "torch.stack([row[-1] for row in x])",
]
RIGHT += ["x.transpose(0, 1)[-1]", "x.unbind(1)[-1]"]
WRONG = [  # (what is returned, what the learner must be told)
    ("x[-1]", "It looks like: the last row of the batch"),
    ("x[..., -1]", "It looks like: the last channel"),
    ("x[:, -1:]", "the result has shape [3, 1, 4]; expected of shape [B, C] = [3, 4].\n        It looks like: the axis of length 1 is kept"),
    ("x[:, 0]", "got 0, expected 16.\n        It looks like: the first token; the newest is the last"),
    ("x[:, -2]", "the token before the newest"),
    ("x[:, 4]", "FAIL  a text of 1 token\n        What was seen: IndexError, in newest_row"),
    ("x[:, -1].float()", "torch.float32; expected torch.int64"),
    ("x[:, -1].T", "the right axes in another order"),
    ("x[:, -1], x", "the result is a tuple"),
    ("x[:, -1].tolist()", "the result is a list"),
    ("x.add_(1)[:, -1] - 1", "the call changed its argument x in place"),
    ("x[:, ::2][:, -1] + 1", "12 of 12 numbers of the result differ"),
    ("None", "is a `return` missing?"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def progress_apart(monkeypatch, tmp_path):
    monkeypatch.setenv("KV_CACHE_PROGRESS", str(tmp_path))


def answer(code):
    return f"import torch\ndef newest_row(x):\n    return {code}\n"


@pytest.mark.parametrize(("code", "message"), WRONG)
def test_wrong_answers_fail_with_their_message(code, message):
    result = graded("newest_row", answer(code))
    assert float(result) < EXERCISES["newest_row"].points and message in str(result), str(result)


@pytest.mark.parametrize("code", RIGHT)
def test_right_answers_pass_however_they_are_written(code):
    result = graded("newest_row", answer(code))
    assert float(result) == EXERCISES["newest_row"].points and result.notes == (), str(result)


def test_each_check_is_failed_by_some_wrong_answer():
    failed = {r.text for code, _ in WRONG for r in graded("newest_row", answer(code)).rows if r.mark == "FAIL"}
    assert failed == {check.title for check in EXERCISES["newest_row"].checks}


def test_the_warm_up_has_three_hints():
    assert len(EXERCISES["newest_row"].hints) == 3


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_have_one_right_answer_and_a_reason_for_each(name):
    question = EXERCISES[name]
    answers = list(question.options) or list(question.reasons)
    assert set(answers) == set(question.reasons) and len(answers) >= 3 and question.hints
    points = {answer: float(graded(name, f"{name} = {answer!r}")) for answer in answers}
    assert points == {answer: float(answer == question.right) for answer in answers}


def marks(result):
    return [row.mark for row in result.rows]


def test_the_sample_shows_a_pass_and_a_fail():
    assert marks(demonstrate(lambda i, cached: cached + i)) == ["pass"] * 3
    failed = demonstrate(lambda i, cached: i)
    assert marks(failed) == ["pass", "FAIL", "--"] and "positions that restart at 0" in str(failed)
    assert "got 9, expected 11" in str(demonstrate(lambda i, cached: cached or i))


def test_the_sample_survives_what_learners_code_does():
    def endless(i, cached):
        while True:
            pass

    assert "still running after 1 seconds" in str(demonstrate(endless))
    assert "ZeroDivisionError, in <lambda>, line" in str(demonstrate(lambda i, cached: i / 0))
    assert "asked the kernel to end" in str(demonstrate(lambda i, cached: exit()))
    assert "is a `return` missing?" in str(demonstrate(lambda i, cached: None))
    assert marks(demonstrate(lambda i, cached: float(i + cached))) == ["FAIL", "--", "--"]


def test_the_sample_is_not_filed_and_nothing_of_it_is_kept():
    demonstrate(lambda i, cached: cached + i)
    assert lesson00.position_of.name not in EXERCISES and progress.load()["solved"] == {}
