"""Plain values of what a learner's code returned: a number, string or tensor that was made to lie says what it really is."""

import re
import sys
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from types import WrapperDescriptorType

import torch

SIMPLE = (int, float, str, bool, type(None))
BASES = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
}  # what a subclass holds, whatever it says of itself
AROUND = r"""^[\s("'\[]+|[\s)"'\].:]+$"""  # what people write round a letter
SHOWN = 80  # characters of an answer that are repeated


class Wrong(Exception):
    """What a check raises: `seen` is the fact (expected, got, where), `looks_like` the known mistake that fits."""

    def __init__(self, seen, looks_like=None):
        super().__init__(seen)
        self.seen, self.looks_like = seen, looks_like


def kind(value):
    """A value's type in a learner's words."""
    names = {"NoneType": "None (is a `return` missing?)", "generator": "a generator (the function contains `yield`)"}
    name = type(value).__name__[:SHOWN] or "thing without a name"
    return names.get(name, f"{'an' if name[0] in 'aeiou' else 'a'} {name}")


def told(value):
    """A simple value as it is written, anything else as its kind: its own words may be long, wrong or endless."""
    return repr(value)[:SHOWN] if type(value) in SIMPLE else kind(value)


def plain(value):
    """`value` as Python's and torch's own types say it, inside lists, tuples, sets and dicts too.

    numpy's numbers become Python's; other objects stay what they are. Raises `Wrong` for one that lies about its class.
    """
    if type(value) in SIMPLE or issubclass(type(value), type):
        return value
    if value.__class__ is not type(value):
        raise Wrong(f"what was returned is {kind(value)} and says that it is something else")
    for base, own in BASES.items():
        if isinstance(value, base):
            return own(value)
    if isinstance(value, torch.Tensor):
        return plain_tensor(value)
    for base in (list, tuple, set, frozenset):
        if isinstance(value, base):
            return plain_items(value, base)
    if isinstance(value, dict):
        items = {plain_item(key): plain_item(item) for key, item in dict.items(value)}
        same = type(value) is dict and all(item is value[key] for key, item in items.items())
        return value if same else items
    numpy = sys.modules.get("numpy")
    return numpy.generic.item(value) if numpy and isinstance(value, numpy.generic) else value


def plain_item(value):
    """`plain` of what a list or dict holds. `==` of the whole asks each item: none may answer by code of the notebook's."""
    value = plain(value)
    if type(value) in SIMPLE:
        return value
    owner = next(c for c in type(value).__mro__ if "__eq__" in vars(c))
    imported = (
        getattr(sys.modules.get(owner.__module__), owner.__name__, None) is owner and owner.__module__ != "__main__"
    )
    if imported or isinstance(vars(owner)["__eq__"], WrapperDescriptorType):
        return value
    raise Wrong(f"what was returned holds {kind(value)}, which has a == of its own; expected plain values")


def plain_items(value, base):
    """The value itself where nothing had to be replaced: what the code keeps and changes later stays the same list."""
    kept = list(base.__iter__(value))
    items = list(map(plain_item, kept))
    same = type(value) is base and all(a is b for a, b in zip(kept, items))
    return value if same else base(items)


def plain_tensor(value):
    """Without the methods of a subclass, and without those that were set on the tensor itself."""
    if type(value) is torch.Tensor and not value.__dict__:
        return value
    with torch._C.DisableTorchFunctionSubclass():
        return torch.Tensor.as_subclass(value, torch.Tensor)


def number(value):
    """The number that `value` states in whatever dress: 5, 5.0, "5", tensor(5), an array of one, a fraction; or None.

    A whole number comes back as an int. True is no number.
    """
    value = plain(value)
    numpy = sys.modules.get("numpy")
    if (
        isinstance(value, torch.Tensor)
        and value.numel() == 1
        or numpy
        and type(value) is numpy.ndarray
        and value.size == 1
    ):
        value = plain(value.item())
    if type(value) in (str, Fraction, Decimal):
        with suppress(ValueError, OverflowError):
            value = float(value) if type(value) is not str or not value.strip().isdecimal() else int(value)
    if type(value) is float and value.is_integer():
        return int(value)
    return value if type(value) in (int, float) else None


def letter(value):
    """Normal form of a lettered answer: " B ", "(b)" and "b." are as good as "b"; anything but a string becomes None."""
    value = plain(value)
    return re.sub(AROUND, "", value).lower() if isinstance(value, str) else None
