"""A number or a letter counts in whatever dress a person would accept it, and in no other."""

import nbformat
import pytest
import torch

from helpers import progress
from helpers.checks import EXERCISES, registry
from helpers.checks.learner_report import NOTEBOOKS, notebooks
from helpers.checks.registry import Exercise, Question
from helpers.checks.values import letter, number, plain

from .graders import graded

COURSE = EXERCISES


@pytest.fixture(autouse=True)
def course(monkeypatch, tmp_path):
    """A registry with a question of each kind."""
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path / "progress"))
    monkeypatch.setattr(registry, "EXERCISES", {})
    Question(
        "which", "99", text="Which?", options={"a": "this", "b": "that"}, right="b", reasons={"a": "No.", "b": "Yes."}
    )
    Question("many", "99", text="How many?", right=5, reasons={5: "A hand.", 4: "No thumb."})


@pytest.mark.parametrize(
    "answer",
    ["5", "5.0", "'5'", "' 5 '", "'5.0'", "numpy.int64(5)", "numpy.float32(5)", "torch.tensor(5)", "torch.tensor([5.0])",
     "numpy.array(5)", "fractions.Fraction(5)", "decimal.Decimal(5)", "numpy.str_('5')"],
)  # fmt: skip
def test_a_number_in_any_dress(answer):
    told = graded("many", f"import numpy, torch, fractions, decimal\nmany = {answer}")
    assert float(told) == 1 and "the answer: 5. A hand" in str(told)


@pytest.mark.parametrize(
    "answer", ["4", "5.5", "True", "'five'", "[5]", "torch.tensor([5, 5])", "torch.tensor(True)", "5j", "float('nan')",
               "10**400", "numpy.array([])", "'5 5'", "object()", "print", "int"]
)  # fmt: skip
def test_what_is_not_the_number(answer):
    told = graded("many", f"import numpy, torch\nmany = {answer}")
    assert (float(told), told.attempted) == (0, True) and "check itself failed" not in str(told)


@pytest.mark.parametrize("answer", ["'b'", "' B '", "'b)'", "'(b)'", "'B.'", "'\"b\"'", "numpy.str_('b')"])
def test_a_letter_in_any_dress(answer):
    assert float(graded("which", f"import numpy\nwhich = {answer}")) == 1


@pytest.mark.parametrize("answer", ["'a'", "'ab'", "'bb'", "'that'", "2", "['b']", "'a or b'", "''", "b''"])
def test_what_is_not_the_letter(answer):
    told = graded("which", f"which = {answer}")
    assert (float(told), told.attempted) == (0, True) and "check itself failed" not in str(told)


def test_the_form_of_an_answer_stands_where_it_is_written():
    """Before a failure: a question's cell in the learner's notebook says what is to be filled in."""
    cells = [cell for _, path in notebooks().values() for cell in nbformat.read(NOTEBOOKS / path, as_version=4).cells]
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    for question in (e for e in COURSE.values() if isinstance(e, Question)):
        form = "'a', 'b' or" if "c" in question.options else "'a'" if question.options else "a number"
        line = next(line for line in code.splitlines() if line.startswith(f"{question.name} = None"))
        assert form in line or form.replace(" or", ",") in line, line


def test_an_exercise_that_asks_for_a_number_takes_it_in_any_dress():
    boundary = Exercise("boundary", "99", "boundary = a number", 5, "easy", ())
    boundary.unfit = lambda answer: None if type(answer) is int else "no number"
    boundary.check("12")(lambda answer: None if answer == 12 else 1 / 0)
    for dress in ("12", "'12'", "12.0", "torch.tensor(12)"):
        assert float(graded("boundary", f"import torch\nboundary = {dress}")) == 1


def test_plain_values_keep_what_is_plain():
    """A list that the code keeps stays the same list: it may be meant to grow."""
    kept = [torch.ones(1), (1, "a"), {"k": [None, 2.5]}, {3}]
    assert plain(kept) is kept and plain(kept[2]) is kept[2]
    assert [number(x) for x in ("1e3", 2.5, None, "x")] == [1000, 2.5, None, None] and letter(3) is None
