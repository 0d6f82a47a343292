"""What a check is handed in the place of the learner's function or class: each call returns plain values and leaves
nothing behind, so that no call can spoil the next one or the comparison after it.
"""

import functools
from types import FunctionType

from .compare import copied
from .restore import KeptInCall
from .values import plain

UNTOUCHED = {"__new__", "__del__", "__getattr__", "__getattribute__", "__setattr__", "__init_subclass__"}
inside = []  # holds something while the learner's code runs: what it calls of its own is not looked at


def given(answer):
    """A plain function gets copies of its tensors; whatever it changes in torch is put back after each call."""
    if is_class(answer) or not callable(answer):
        return answer
    call = settled(lambda *args, **options: answer(*copied(list(args)), **copied(options)))
    call.own = settled(answer)  # for the checks that ask whether it writes into its input
    return call


def settled(function, random=True):
    """`function`, whose outermost call leaves torch as it was and returns plain values; `random`: random numbers too."""

    def call(*args, **options):
        if inside:
            return function(*args, **options)
        inside.append(function)
        try:
            with KeptInCall(random):
                value = function(*args, **options)
        finally:
            inside.clear()
        return plain(value)

    return call


def held(run, answer):
    """`run(answer)`; if that is a class, its methods are settled meanwhile. Random numbers go on, as weights need it."""
    inside.clear()
    own = [owner for owner in answer.__mro__ if owner.__module__ == answer.__module__] if is_class(answer) else []
    kept = [(owner, name, f) for owner in own for name, f in vars(owner).items() if type(f) is FunctionType]
    try:
        for owner, name, function in kept:
            if name not in UNTOUCHED:
                setattr(owner, name, functools.wraps(function)(settled(function, random=False)))
        return run(answer)
    finally:
        for owner, name, function in kept:
            setattr(owner, name, function)


def is_class(answer):
    """Asks its type: an object can say of itself that it is a class."""
    return issubclass(type(answer), type)
