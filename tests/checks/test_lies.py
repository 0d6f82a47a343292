"""Results that lie about themselves: none gets points. What is compared are plain values, after patches are undone."""

import pytest
import torch

from helpers import progress
from helpers.checks import check, registry
from helpers.checks.choices import Choices, entry
from helpers.checks.compare import compare, inputs_kept, own, parts
from helpers.checks.registry import Exercise, Question, Wrong

from .graders import graded, names

LIARS = '''
import torch, numpy
class Yes:
    """Answers every comparison with yes."""
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__
    def __hash__(self): return HASH
    def __bool__(self): return True
class Int(Yes, int): pass
class Float(Yes, float): pass
class Str(Yes, str):
    def strip(self, *a): return self
    lower = __str__ = __repr__ = strip
class List(Yes, list):
    def __len__(self): return len(RIGHT)
    def __iter__(self): return iter(RIGHT)
    def __getitem__(self, i): return RIGHT[i]
class Tuple(Yes, tuple):
    __len__, __iter__, __getitem__ = List.__len__, List.__iter__, List.__getitem__
class Set(Yes, set): pass
class Frozen(Yes, frozenset): pass
class Dict(Yes, dict):
    def get(self, *a): return RIGHT
    __getitem__ = __missing__ = get
    def items(self): return [(1, RIGHT)]
class Types(type):
    def __eq__(self, other): return True
class Type(metaclass=Types): pass
class Pretends(Yes):
    @property
    def __class__(self): return KIND
class Tensor(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return torch.zeros(2, 3, dtype=torch.bool) if "isfinite" not in str(function) else torch.ones(2, 3, dtype=torch.bool)
class Looks(torch.Tensor):
    shape, dtype = torch.Size([2, 3]), torch.float32
    def double(self): return RIGHT.double()
    detach = double
def dressed(x):
    y = x.clone()
    y.double = y.detach = lambda: RIGHT.double()
    return y
'''
KINDS = {  # what a function must return (code), results that only pretend to be that
    "5": ["Int(4)", "Float(4.0)", "Str('5')", "Yes()", "Pretends()", "(Int(5.9),)", "True", "numpy.int64(4)"],
    "5.0": ["Int(4)", "Float(4.5)", "Yes()", "Pretends()", "numpy.float64(4)"],
    "'five'": ["Str('four')", "Yes()", "Pretends()"],
    "[1, 2]": [
        "List()",
        "Tuple()",
        "[Int(3), Int(4)]",
        "Yes()",
        "Pretends()",
        "[Yes(), Yes()]",
        "[[1, 2]]",
        "[Type, Type]",
    ],
    "(1, 2)": ["Tuple()", "List()", "(Int(3), Yes())", "Pretends()"],
    "{1, 2}": ["Set()", "Frozen()", "{Int(3), Int(4)}", "Yes()", "Pretends()"],
    "{'a': 1}": ["Dict()", "{'a': Int(2)}", "{Str('b'): 1}", "{'a': Yes()}", "Yes()", "Pretends()"],
    "torch.ones(2, 3)": [
        "torch.zeros(2, 3).as_subclass(Tensor)",
        "torch.zeros(2, 3).as_subclass(Looks)",
        "torch.zeros(1).as_subclass(Looks)",
        "dressed(torch.zeros(2, 3))",
        "torch.nn.Parameter(torch.zeros(2, 3))",
        "Yes()",
        "Pretends()",
    ],
}
LIES = [pytest.param(right, lie, id=f"{lie} for {right}") for right, lies in KINDS.items() for lie in lies]


@pytest.fixture(autouse=True)
def course(monkeypatch, tmp_path):
    """A registry with a question of each kind."""
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path / "progress"))
    monkeypatch.setattr(registry, "EXERCISES", {})
    Question(
        "which", "99", text="Which?", options={"a": "this", "b": "that"}, right="b", reasons={"a": "No.", "b": "Yes."}
    )
    Question("many", "99", text="How many?", right=5, reasons={5: "A hand.", 4: "No thumb."})


def returns(right):
    """An exercise whose answer must return `right`, compared as lessons compare: with isinstance, ==, in, and sorted."""
    exercise, value = Exercise("give", "99", "give()", 5, "easy", ()), eval(right)

    @exercise.check("gives it")
    def _(answer):
        got = answer()
        if isinstance(value, torch.Tensor):
            return compare(got, value, 0, "B T")
        if (
            isinstance(got, bool)
            or not isinstance(got, type(value))
            or got != value
            or not got == value
            or got not in [value]
        ):
            raise Wrong("another value")
        if isinstance(value, tuple):
            parts(got, ["one", "two"])


@pytest.mark.parametrize(("right", "lie"), LIES)
def test_a_result_that_lies_gets_nothing(right, lie):
    returns(right)
    assert float(check("give", names(f"import torch\ndef give(): return {right}"))) == 1
    lines = f"import torch\nRIGHT, KIND, HASH = {right}, type({right}), 1{LIARS}def give(): return {lie}"
    told = check("give", names(lines))
    assert (float(told), told.attempted) == (0, True) and "FAIL" in str(told), str(told)
    assert (lie == "Pretends()") is ("says that it is something else" in str(told)), str(told)


@pytest.mark.parametrize("lie", ["Int(4)", "Float(4.0)", "Str('4')", "Yes()", "Pretends()", "List()", "True", "Set()"])
def test_a_number_that_lies_gets_nothing(lie):
    assert float(graded("many", f"RIGHT, KIND, HASH = [], int, hash(5){LIARS}many = {lie}")) == 0


@pytest.mark.parametrize("lie", ["Str('a')", "Yes()", "Pretends()", "Tuple()"])
def test_a_letter_that_lies_gets_nothing(lie):
    assert float(graded("which", f"RIGHT, KIND, HASH = 'b', str, hash('b'){LIARS}which = {lie}")) == 0


@pytest.mark.parametrize(
    "lie", ["Dict({1: 4})", "{1: Int(4)}", "{1: Yes()}", "{Int(2): 5}", "{1: Pretends()}", "Pretends()"]
)
def test_entries_that_lie_get_nothing(lie):
    choices = Choices("choices", "99", "{1: number}", 5, "easy", (), keys=(1,))

    @choices.check("one")
    def _(answer):
        if not isinstance(entry(answer, 1), int) or entry(answer, 1) != 5:
            raise Wrong("not 5")

    assert float(graded("choices", "choices = {1: 5}")) == float(graded("choices", "choices = {'1': '5'}")) == 1
    assert float(graded("choices", f"RIGHT, KIND, HASH = 5, dict, 1{LIARS}choices = {lie}")) == 0


def test_an_input_that_lies_about_having_changed(course):
    keeps = Exercise("keeps", "99", "keeps(items)", 5, "easy", ())
    keeps.check("items stay")(lambda answer: inputs_kept(own(answer), ("items",), [1, 2]))
    assert float(graded("keeps", "def keeps(items): return items")) == 1
    changed = f"RIGHT, KIND, HASH = 1, int, 1{LIARS}def keeps(items): items[0] = Int(7)"
    assert float(graded("keeps", changed)) == 0


@pytest.mark.parametrize("patch", ["__ne__", "__eq__", "__gt__", "__sub__", "double", "any"])
@pytest.mark.parametrize("form", ["function", "class"])
def test_a_comparison_that_was_patched_within_the_call(form, patch):
    """A method's patches, too, are undone before the check compares what it returned."""
    made = Exercise("Made", "99", "Made(), with twice(x)", 5, "easy", ())

    @made.check("twice")
    def _(answer):
        x = torch.arange(6.0).reshape(2, 3)
        compare(answer(x) if form == "function" else answer().twice(x), 2 * x, 1e-6, "B T", "y")

    false = "lambda *a, **k: torch.zeros(2, 3, dtype=torch.bool)"
    body = f"torch.Tensor.{patch} = {false}; return x"
    function, method = f"def Made(x): {body}", f"class Made:\n    def twice(self, x): {body}"
    before = torch.Tensor.__dict__.get(patch)
    told = graded("Made", f"import torch\n{function if form == 'function' else method}")
    assert float(told) == 0 and "differ by more than" in str(told) and torch.Tensor.__dict__.get(patch) is before


def test_a_class_works_as_it_does_without_a_check():
    """Its methods call each other, return their own objects, and are the learner's own again afterwards."""
    made = Exercise("Made", "99", "Made(n)", 5, "easy", ())

    @made.check("works")
    def _(answer):
        one, two = answer(3), answer(3)
        assert isinstance(one, torch.nn.Module) and len(list(one.parameters())) == 2
        assert not torch.equal(one.inner.weight, two.inner.weight)  # random numbers go on
        assert one(torch.ones(2, 3)).shape == (2, 3) and one.both() == (1, 2) and one.size == 3

    code = """
import torch, collections
Both = collections.namedtuple("Both", "first second")
class Base(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n, self.inner = n, torch.nn.Linear(n, n)
class Made(Base):
    def forward(self, x): return self.inner(x) * self.both().first
    def both(self): return Both(1, 2)
    @property
    def size(self): return self.n
"""
    space = names(code)
    method = space["Made"].forward
    told = check("Made", space)
    assert float(told) == 1 and space["Made"].forward is method, str(told)


def test_what_is_patched_where_no_call_is_looked_at():
    """In a property, say: put back all the same, before the check itself needs the builtins again."""
    made = Exercise("Made", "99", "Made(), with size", 5, "easy", ())
    made.check("size")(lambda answer: answer().size)
    patches = "builtins.next = builtins.BaseException = builtins.all = builtins.isinstance = None"
    told = graded("Made", f"import builtins\nclass Made:\n    @property\n    def size(self): {patches}")
    assert float(told) == 1 and next(iter([3])) == 3, str(told)
