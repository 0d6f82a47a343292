"""Exercises whose answer is a dict of values: each entry is graded by itself, so that a part of them is worth a part."""

from dataclasses import dataclass

from .registry import Exercise, Wrong, kind
from .values import number, plain


@dataclass
class Choices(Exercise):
    """`keys` are what the answer must have an entry for; keys may be given as strings or as numbers."""

    keys: tuple = ()
    in_order: bool = False

    def read(self, answer):
        """Plain keys and entries; an entry that states a number, as "6", 6.0 or tensor(6), is that number."""
        answer = plain(answer)
        return {stated(key): stated(value) for key, value in answer.items()} if isinstance(answer, dict) else answer

    def unfit(self, answer):
        if not isinstance(answer, dict):
            return f"{self.name} is {kind(answer)}; expected a dict {self.call}"
        given = {str(key) for key in answer}
        if not given & {str(key) for key in self.keys}:
            return f"{self.name} has the entries {sorted(given)}; expected {', '.join(map(repr, self.keys))}"


def stated(value):
    found = number(value)
    return value if found is None else found


def entry(answer, key):
    """The answer's value for `key`, strings in lower case without white space around; raises `Wrong` where there is none."""
    value = next((value for name, value in answer.items() if str(name) == str(key)), None)
    if value is None:
        raise Wrong(f"there is no entry for {key!r} yet")
    return value.strip().lower() if isinstance(value, str) else value
