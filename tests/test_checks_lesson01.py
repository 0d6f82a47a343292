"""The graders of lesson 01 are code under test: wrong answers with the message each must get, right ones that must pass."""

import pytest
from alternatives01 import ALTERNATIVES
from answers01 import RIGHT
from graders import graded

from helpers.checks import EXERCISES
from helpers.checks.registry import Question

WRITTEN = [name for name, e in EXERCISES.items() if e.lesson == "01" and not isinstance(e, Question)]
QUESTIONS = [name for name, e in EXERCISES.items() if e.lesson == "01" and isinstance(e, Question)]

# exercise -> [(what stands in the right answer, what stands there instead, what the learner must be told)]
WRONG = {
    "causal_mask": [
        ("tril(t_key - t_query)", "tril()", "FAIL  a rectangle: 3 queries, 7 keys\n        What was seen: 12 of 21 numbers of the mask for 3 queries and "
         "7 keys differ; the first at T=0, S=1: got False, expected True.\n        It looks like: a triangle that starts at the top left"),
        ("square.tril(t_key - t_query)", "~square.tril(t_key - t_query)", "the other convention: True must mean *may attend*"),
        ("tril(t_key - t_query)", "tril(t_key - t_query - 1)", "a diagonal one too low (`<` for `<=`): a token does not see itself"),
        ("tril(t_key - t_query)", "tril(t_key - t_query + 1)", "a diagonal one too high: a token sees its successor"),
        ("tril(t_key - t_query)", "triu(t_key - t_query)", "the upper triangle: it shows the future"),
        ("square.tril(t_key - t_query)", "square", "nothing is hidden"),
        ("square.tril(t_key - t_query)", "square.tril() if t_query == t_key else square", "nothing is hidden: a chunk needs a mask like a prompt"),
        ("square.tril(t_key - t_query)", "~square.triu(1)", "starts at the top left"),
        ("square.tril(t_key - t_query)", "square.tril(t_query)", "nothing is hidden"),
        ("tril(t_key - t_query)", "tril(t_key - t_query).int()", "is torch.int32; expected torch.bool"),
        ("square.tril(t_key - t_query)", "torch.zeros(t_query, t_key).masked_fill(~square.tril(t_key - t_query), float('-inf'))",
         "It looks like: a mask that is added to the scores: that is the next exercise"),
        ("tril(t_key - t_query)", "tril(t_key - t_query).T", "FAIL  a square: 4 queries, 4 keys"),
        ("torch.ones(t_query, t_key,", "torch.ones(t_key, t_query,", "the right axes in another order"),
        ("torch.ones(t_query, t_key,", "torch.ones(t_key, t_key,", "has shape [7, 7]; expected of shape [T, S] = [3, 7]"),
        ("square.tril(t_key - t_query)", "square.tril(t_key - t_query)[None, None]", "has shape [1, 1, 4, 4]"),
        ("square.tril(t_key - t_query)", "square.tril(t_key - t_query), t_key", "is a tuple; expected a tensor of shape [T, S]"),
        ("square.tril(t_key - t_query)", "square.tril(t_key - t_query).tolist()", "is a list; expected a tensor"),
        ("    return square", "    square", "None (is a `return` missing?)"),
        (", device=device", "", "FAIL  it is made on the device that is asked for\n        What was seen: device='meta'"),
        (", device=None", "", "NameError"),
        ("tril(t_key - t_query)", "tril(t_key - t_query) if t_query > 1 else square.tril()", "FAIL  one row: 1 query, 6 keys"),
        ("tril(t_key - t_query)", "tril(t_key - t_query) if t_key > 1 else ~square", "FAIL  the first token: 1 query, 1 key"),
        ("    return square.tril(t_key - t_query)",
         "    causal_mask.calls = getattr(causal_mask, 'calls', 0) + 1\n    return square if causal_mask.calls == 6 else square.tril(t_key - t_query)",
         "FAIL  torch's attention with it gives the last 3 of all 7 rows"),
    ],
    "additive_mask": [
        ("hidden = ~causal", "hidden = causal", "the other convention: True must mean *may attend*"),
        ("-torch.inf", "-1e9", "holds -1e+09; expected 0 where visible and -inf where hidden.\n        It looks like: -1e9 or the like"),
        ("-torch.inf", "torch.finfo(dtype).min", "-1e9 or the like: a fully masked row then sees every key"),
        ("-torch.inf", "torch.inf", "are not finite"),
        ("-torch.inf", "1", "holds 1; expected 0 where visible"),
        ("torch.zeros(t_query, t_key, dtype=dtype).masked_fill(hidden, -torch.inf)", "hidden.to(dtype) * -torch.inf", "are NaN.\n        It looks like: 0 times infinity is NaN"),
        ("torch.zeros(t_query, t_key, dtype=dtype).masked_fill(hidden, -torch.inf)", "~hidden", "is torch.bool; expected torch.float32, numbers to add"),
        ("torch.zeros(t_query", "torch.ones(t_query", "holds 1; expected 0 where visible"),
        ("dtype=dtype)", "dtype=torch.float32)", "FAIL  the dtype that is asked for: float64 and float16\n        What was seen: the mask for 2 and 5 is torch.float32"),
        ("tril(t_key - t_query)", "tril()", "FAIL  a rectangle: 3 queries, 7 keys\n        What was seen: 12 of 21 numbers of the mask for 3 and 7 (True stands for 0)"),
        ("tril(t_key - t_query)", "tril(t_key - t_query - 1)", "a token does not see itself"),
        ("    return torch.zeros(t_query, t_key, dtype=dtype).masked_fill(hidden, -torch.inf)",
         "    torch.zeros(t_query, t_key, dtype=dtype).masked_fill(hidden, -torch.inf)", "None (is a `return` missing?)"),
        ("hidden, -torch.inf)", "hidden, -torch.inf), hidden", "is a tuple; expected a tensor"),
        ("hidden, -torch.inf)", "hidden, -torch.inf).tril()", "FAIL  a square"),
        ("hidden, -torch.inf)", "hidden, -torch.inf if t_query > 1 else 0) - float(t_query == 1)", "FAIL  one row: nothing is hidden, all zeros"),
        ("hidden, -torch.inf)", "hidden, -torch.inf if (t_query, dtype) != (3, torch.float64) else 0)", "FAIL  added to scores it does what the boolean mask does"),
    ],
    "masked_softmax": [
        ("masked_fill(~mask, -torch.inf)", "masked_fill(mask, -torch.inf)", "numbers of the weights are not finite"),
        ("masked_fill(~mask, -torch.inf).softmax(-1)\n    return weights.masked_fill(~mask, 0)", "masked_fill(mask, -torch.inf).softmax(-1)\n    return weights",
         "It looks like: a mask of the other convention"),
        ("masked_fill(~mask, -torch.inf).softmax(-1)\n    return weights.masked_fill(~mask, 0)", "masked_fill(mask == 0, -torch.inf).softmax(-2).nan_to_num(0)\n    return weights",
         "a softmax over the queries"),
        ("masked_fill(~mask, -torch.inf)", "masked_fill(~mask, 0)", "differ"),
        ("scores.masked_fill(~mask, -torch.inf).softmax(-1)\n    return weights.masked_fill(~mask, 0)", "scores.masked_fill(~mask, 0).softmax(-1)\n    return weights",
         "hidden scores set to 0: the exponential of 0 is 1"),
        ("scores.masked_fill(~mask, -torch.inf)", "scores", "masked afterwards: the rows no longer sum to 1"),
        ("softmax(-1)", "softmax(-2)", "a softmax over the queries"),
        ("weights.masked_fill(~mask, 0)", "weights", "FAIL  a row in which everything is hidden gives zeros\n        What was seen: the weights of row 1, which sees no key, are NaN; "
         "expected zeros.\n        It looks like: 0 / 0"),
        ("-torch.inf).softmax(-1)\n    return weights.masked_fill(~mask, 0)", "-1e9).softmax(-1)\n    return weights",
         "are 0.1667 each; expected zeros.\n        It looks like: -1e9 for -inf"),
        ("-torch.inf", "-1e9", "FAIL  float32 and float16 keep their dtype\n        What was seen: RuntimeError, in masked_softmax, line 4 `"),
        ("-torch.inf", "-100.0", "It looks like: a hidden score that is not low enough: -inf is below every score"),
        ("masked_fill(~mask, -torch.inf)", "masked_fill_(~mask, -torch.inf)", "the call changed its argument scores in place"),
        ("    weights =", "    mask.logical_and_(mask)\n    mask[0, 0] = False\n    weights =", "FAIL  hidden keys get 0"),
        ("weights.masked_fill(~mask, 0)", "weights.masked_fill(~mask, 0).float()", "the weights is torch.float32; expected torch.float64"),
        ("scores.masked_fill(~mask, -torch.inf).softmax(-1)", "scores.exp() * mask; weights = weights / weights.sum(-1, keepdim=True)",
         "FAIL  scores of 1000, visible and hidden\n        What was seen: "),
        ("scores.masked_fill(~mask, -torch.inf).softmax(-1)",
         "(scores - scores.amax(-1, keepdim=True)).exp() * mask; weights = weights / weights.sum(-1, keepdim=True)", "the largest *visible* score of the row"),
        ("scores.masked_fill(~mask, -torch.inf)", "(scores + mask)", "differ"),
        ("weights.masked_fill(~mask, 0)", "weights.masked_fill(~mask, 0), mask", "the weights is a tuple"),
        ("    weights = scores", "    mask = mask[0, 0] if mask.dim() == 4 else mask\n    weights = scores", "FAIL  a mask for each row of the batch, [B, 1, T, S]"),
        ("weights.masked_fill(~mask, 0)", "weights.masked_fill(~mask, 0).mT", "has shape [2, 3, 6, 4]; expected of shape [B, H, T, S] = [2, 3, 4, 6].\n        It looks like: the right axes in another order"),
    ],
    "mask_from": [
        ("age >= 0", "age > 0", "`<` for `<=`: a token does not see itself"),
        ("age >= 0", "age >= -1", "a token sees its successor"),
        ("age >= 0", "age <= 0", "queries and keys exchanged"),
        ("(age >= 0) & k_valid", "k_valid", "FAIL  2 rows, 3 queries after 4 keys"),
        ("(age >= 0) & k_valid[:, None, :]", "age >= 0", "padding that is visible: k_valid is not used"),
        ("& k_valid", "& ~k_valid", "k_valid the wrong way round"),
        ("k_valid[:, None, :]", "k_valid[:, :, None]", "RuntimeError, in mask_from, line"),
        ("age < window", "age <= window", "a window one too long: `<=` for `<`"),
        ("age < window", "age < window - 1", "a window one too short"),
        ("if window is not None:", "if False:", "FAIL  a window of 3 shows 3 keys\n        What was seen: 20 of 56 numbers of the mask differ; the first at B=0, 1=0, T=0, S=0: got True, "
         "expected False.\n        It looks like: a window that is not used"),
        ("mask = mask & (age < window)", "mask = (age.abs() < window) & k_valid[:, None, :]", "a window to both sides: the future is visible"),
        ("mask = mask & (age < window)", "mask = (age < window) & k_valid[:, None, :]", "a window in the place of the causal condition"),
        ("return mask[:, None]", "return mask", "the axis for the heads is missing"),
        ("return mask[:, None]", "return mask[:, None].mT", "the right axes in another order"),
        ("return mask[:, None]", "return ~mask[:, None]", "the other convention"),
        ("return mask[:, None]", "return mask[:, None].int()", "is torch.int32; expected torch.bool"),
        ("return mask[:, None]", "return mask[:, None], age", "the mask is a tuple"),
        ("age = q_pos[:, :, None] - k_pos[:, None, :]", "T, S = q_pos.shape[1], k_pos.shape[1]; age = (torch.arange(T)[:, None] - torch.arange(S)).expand(len(q_pos), T, S)",
         "a triangle by index that starts at the top left"),
        ("age = q_pos[:, :, None] - k_pos[:, None, :]",
         "T, S = q_pos.shape[1], k_pos.shape[1]; age = (torch.arange(S - T, S)[:, None] - torch.arange(S)).expand(len(q_pos), T, S)",
         "columns compared in the place of positions"),
        ("- k_pos[:, None, :]", "- k_pos.sort(-1).values[:, None, :]", "FAIL  keys in another order, as in a ring buffer"),
        ("q_pos[:, :, None]", "q_pos[:1, :, None]", "FAIL  left padding is hidden"),
        ("(age >= 0) & k_valid[:, None, :]", "(age >= 0) & (k_valid | (k_pos.shape[1] == 5))[:, None, :]", "FAIL  left padding is hidden"),
        ("age < window", "age < max(window, 2)", "FAIL  a window of 1 shows the token itself"),
        ("mask = mask & (age < window)", "mask = mask.triu(k_pos.shape[1] - q_pos.shape[1] - window + 1)", "FAIL  a window counts positions, not columns"),
        ("return mask[:, None]", "return mask[:, None] | ~mask[:, None].any(-1, keepdim=True)", "FAIL  a row that sees no key stays all False"),
        ("    age =", "    q_pos += 1; k_pos += 1\n    age =", "the call changed its argument q_pos in place"),
    ],
}  # fmt: skip


def wrong_answers():
    for name, rows in WRONG.items():
        for number, row in enumerate(rows):
            yield pytest.param(name, *row, id=f"{name}-{number}")


@pytest.fixture(autouse=True)
def progress_apart(monkeypatch, tmp_path):
    monkeypatch.setenv("KV_CACHE_PROGRESS", str(tmp_path))


@pytest.mark.parametrize(("name", "old", "new", "message"), list(wrong_answers()))
def test_wrong_answers_fail_with_their_message(name, old, new, message):
    assert RIGHT[name].count(old) == 1, "the mutation must change one place"
    result = graded(name, RIGHT[name].replace(old, new))
    assert float(result) < EXERCISES[name].points and message in str(result), str(result)


def right_answers():
    for name, code in RIGHT.items():
        for number, answer in enumerate([code, *ALTERNATIVES[name]]):
            yield pytest.param(name, answer, id=f"{name}-{number}")


@pytest.mark.parametrize(("name", "code"), list(right_answers()))
def test_right_answers_pass_however_they_are_written(name, code):
    result = graded(name, code)
    assert float(result) == EXERCISES[name].points, str(result)
    assert {row.mark for row in result.rows} == {"pass"} and result.notes == ()


def test_the_table_covers_every_exercise():
    assert set(WRONG) == set(RIGHT) == set(ALTERNATIVES) == set(WRITTEN)
    assert min(map(len, WRONG.values())) >= 6 and min(map(len, ALTERNATIVES.values())) >= 3


def test_each_check_is_failed_by_some_wrong_answer():
    """A check that no wrong answer fails might be one that cannot fail."""
    for name in WRONG:
        results = [graded(name, RIGHT[name].replace(old, new)) for old, new, _ in WRONG[name]]
        failed = {row.text for result in results for row in result.rows if row.mark == "FAIL"}
        assert not {check.title for check in EXERCISES[name].checks} - failed, name


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("value", ["None", "3", "lambda *args, **options: None", "torch.zeros", "print", "type"])
def test_nonsense_gets_no_full_points_and_stops_nothing(name, value):
    result = graded(name, f"import torch\n{name} = {value}")
    assert float(result) < EXERCISES[name].points and str(result) and "check itself failed" not in str(result)


@pytest.mark.parametrize("name", WRITTEN)
def test_every_exercise_has_three_hints_and_says_how_it_is_called(name):
    exercise = EXERCISES[name]
    assert len(exercise.hints) == 3 and exercise.call.startswith(name) and exercise.minutes > 0
    assert exercise.difficulty in ("easy", "medium", "hard")


@pytest.mark.parametrize("name", QUESTIONS)
def test_questions_have_one_right_answer_and_a_reason_for_each(name):
    question = EXERCISES[name]
    answers = list(question.options) or list(question.reasons)
    assert set(answers) == set(question.reasons) and len(answers) >= 3 and question.hints
    points = {answer: float(graded(name, f"{name} = {answer!r}")) for answer in answers}
    assert points == {answer: float(answer == question.right) for answer in answers}
