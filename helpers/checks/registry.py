"""The exercises and graded questions of the course: name, points, checks in order, staged hints."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType

from .values import Wrong, kind, letter, number, plain, told

EXERCISES: dict[str, "Exercise"] = {}


@dataclass(frozen=True)
class Check:
    """One row of a result. `run(answer)` raises `Wrong`, or returns None or a detail to print behind the title."""

    title: str
    run: Callable
    points: int = 1


@dataclass
class Exercise:
    """One thing to write. `call` is how the checks use it, as in `decode_step(model, token, past)`."""

    name: str
    lesson: str  # "05"
    call: str
    minutes: int
    difficulty: str  # "easy", "medium" or "hard"
    hints: tuple[str, ...]
    checks: list[Check] = field(default_factory=list)
    seconds: float = 10.0  # for each check; a loop is stopped after that
    slow: str = "a loop whose end condition is never met"  # what it looks like then
    in_order: bool = True  # whether a failed check keeps the later ones from running; False gives partial credit

    def __post_init__(self):
        if self.name in EXERCISES:
            raise ValueError(f"there are two exercises named {self.name!r}: names are unique in the course")
        EXERCISES[self.name] = self

    @property
    def points(self):
        return sum(check.points for check in self.checks)

    def check(self, title, points=1):
        """Decorator: append a check. Where order counts, it runs only if all checks before it passed."""

        def add(run):
            self.checks.append(Check(title, run, points))
            return run

        return add

    def read(self, answer):
        """What is graded of `answer`: plain values; where the exercise asks for a number, the number it states."""
        if callable(answer):
            return answer
        stated = number(answer) if self.call.startswith(f"{self.name} =") else None
        return plain(answer) if stated is None else stated

    def unfit(self, answer):
        """In words, why `answer`, as `read` gives it, cannot be graded at all; None if it can."""
        if not callable(answer):
            return f"{self.name} is {kind(answer)}, not something that can be called as {self.call}"


@dataclass
class Question(Exercise):
    """A graded question: `text`, `options` (letter -> words), the `right` letter or number, a reason for each answer.

    `reasons` maps an answer to what follows from it; the right one's is printed on a pass, a wrong one's on a fail.
    """

    call: str = ""
    minutes: int = 2
    difficulty: str = "easy"
    hints: tuple[str, ...] = ()
    text: str = ""
    options: dict[str, str] = field(default_factory=dict)
    right: object = None
    reasons: dict = field(default_factory=dict)
    worth: int = 1

    def __post_init__(self):
        super().__post_init__()
        self.check("the answer", self.worth)(self.judge)

    def read(self, answer):
        stated = letter(answer) if self.options else number(answer)
        return plain(answer) if stated is None else stated

    def unfit(self, answer):
        if self.options and (not isinstance(answer, str) or answer not in self.options):
            return f"{self.name} is {told(answer)}; it should be one of {', '.join(map(repr, self.options))}"
        if not self.options and type(answer) not in (int, float):
            return f"{self.name} is {told(answer)}; it should be a number"

    def judge(self, answer):
        said = f"{answer!r}. {self.reasons.get(answer, '')}".rstrip()
        if answer == self.right:
            return said
        raise Wrong(f"the answer {said}")


def find(name):
    """The exercise `name`; ValueError with the nearest known names if there is none."""
    if type(name) is not str:
        own = name.__name__ if type(name) in (FunctionType, type) else None
        example = own if own in EXERCISES else next(iter(EXERCISES), "name")
        raise ValueError(f'an exercise is named in quotes, as in "{example}"; this is {kind(name)}')
    if name not in EXERCISES:
        near = difflib.get_close_matches(name, EXERCISES, n=3)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"there is no exercise {name!r}{hint}")
    return EXERCISES[name]
