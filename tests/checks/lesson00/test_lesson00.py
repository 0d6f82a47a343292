"""The warm-up's grader and questions are code under test; so is the sample on which a check is shown."""

from helpers import progress
from helpers.checks import EXERCISES
from helpers.checks.lesson00 import warm_up as lesson00
from helpers.checks.lesson00.warm_up import demonstrate

from ..graders import LessonGraders

WAYS = [
    "x[:, -1]",
    "x[:, x.shape[1] - 1, :]",
    "x.select(1, -1)",
    "x.flip(1)[:, 0]",
    "torch.stack([row[-1] for row in x])",
]
WAYS += ["x.transpose(0, 1)[-1]", "x.unbind(1)[-1]"]
MISTAKES = [  # (what is returned, what the learner must be told)
    ("x[-1]", "It looks like: the last row of the batch"),
    ("x[..., -1]", "It looks like: the last channel"),
    ("x[:, -1:]", "the result has shape [3, 1, 4]; expected of shape [B, C] = [3, 4].\n        It looks like: the axis of length 1 is kept"),
    ("x[:, 0]", "got 0, expected 16.\n        It looks like: the first token; the newest is the last"),
    ("x[:, -2]", "the token before the newest"),
    ("x[:, 4]", "FAIL  a text of 1 token\n        What was seen: IndexError, in newest_row"),
    ("x[:, -1:].squeeze()", "FAIL  a text of 1 token\n        What was seen: the result has shape [4]; expected of shape [B, C] = [1, 4]"),
    ("x[:, -1].float()", "torch.float32; expected torch.int64"),
    ("x[:, -1].T", "the right axes in another order"),
    ("x[:, -1], x", "the result is a tuple"),
    ("x[:, -1].tolist()", "the result is a list"),
    ("x.add_(1)[:, -1] - 1", "the call changed its argument x in place"),
    ("x[:, ::2][:, -1] + 1", "12 of 12 numbers of the result differ"),
    ("None", "is a `return` missing?"),
]  # fmt: skip


ANSWER = "import torch\ndef newest_row(x):\n    return {}\n"


class TestLesson00(LessonGraders):
    lesson = "00"
    right = {"newest_row": ANSWER.format(WAYS[0])}
    wrong = {"newest_row": [(WAYS[0], code, message) for code, message in MISTAKES]}
    alternatives = {"newest_row": [ANSWER.format(code) for code in WAYS[1:]]}


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


def test_the_sample_is_not_filed_and_nothing_of_it_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path))
    demonstrate(lambda i, cached: cached + i)
    assert lesson00.position_of.name not in EXERCISES and progress.load()["solved"] == {}
