"""Functions that a learner's code replaced are the original ones again: Python's, torch's, numpy's and the course's own.

What is compared after a call must not depend on what the call did to `Tensor.__eq__`, `torch.equal` or `math.isclose`.
"""

import builtins
import operator
import sys
from itertools import chain
from types import FunctionType, ModuleType

import torch

BUILTINS = vars(builtins)
PYTHON = (
    "sys os io cmath random time copy functools itertools collections statistics numbers fractions json warnings signal gc "
    "threading traceback contextlib numpy numpy.linalg numpy.random"
)
COMPARING = "math operator torch torch.nn torch.nn.functional torch.linalg"  # what checks themselves compare with
OURS = ("helpers", "kvaudit")
TORCH = (torch, torch.Tensor, torch.nn.functional, torch.nn.Module)
LAYERS = [
    value for value in vars(torch.nn.modules).values() if isinstance(value, type) and value is not torch.nn.Module
]
COMPILER = tuple(f"{torch.__path__[0]}/{part}" for part in ("_dynamo/", "_compile.py"))  # torch patches itself there
PRINTING = {"__repr__", "__str__", "__format__", "__dir__"}  # the notebook may use a package that replaces these
current = {"modules": None}  # the watched names: made again when modules were imported since


class Watched:
    """The names of some modules and classes."""

    def __init__(self, owners):
        self.owners = list(dict.fromkeys(owners))
        self.names, self.values = (
            [getattr(vars(o), part)() for o in self.owners] for part in ("keys", "values")
        )  # live

    def taken(self):
        """What the names, and the builtins, are now."""
        return self, BUILTINS.copy(), list(map(list, self.names)), list(map(list, self.values))


def watched():
    """(`Watched` for all that a check uses, the part of it with which answers are compared)."""
    if current["modules"] != len(sys.modules):
        ours = [name for name in list(sys.modules) if name.partition(".")[0] in OURS]
        modules = {name: sys.modules.get(name) for name in [*PYTHON.split(), *COMPARING.split(), *ours]}
        modules = {name: module for name, module in modules.items() if isinstance(module, ModuleType)}
        own = [v for name in ours for v in vars(modules[name]).values() if type(v) is type and v.__module__ == name]
        comparing = [
            modules[name] for name in modules if name in COMPARING.split() or name.startswith("helpers.checks")
        ]
        everything = Watched([*TORCH, *modules.values(), torch.nn.Parameter, *LAYERS, *own])
        current.update(modules=len(sys.modules), watched=(everything, Watched([*TORCH, *comparing])))
    return current["watched"]


def put_back(kept, is_=operator.is_, all_=all, map_=map, list_=list, zip_=zip, len_=len, chain_=chain.from_iterable):
    """Undo what was replaced since `taken`. The builtins come first, with none of them called until they are right."""
    watched, builtin, names, values = kept
    if len_(BUILTINS) != len_(builtin) or not all_(map_(is_, builtin.values(), BUILTINS.values())):
        for name in [*BUILTINS]:
            if name not in builtin:
                del BUILTINS[name]
        BUILTINS.update(builtin)
    if list_(map_(len_, watched.values)) != list_(map_(len_, values)) or not all_(
        map_(is_, chain_(values), chain_(watched.values))
    ):
        for owner, of_owner, were in zip_(watched.owners, names, values):
            undo(owner, dict(zip_(of_owner, were)))


def undo(owner, names):
    """The functions in `names` are what `owner` has again. A class loses new ones; other values of a module stay."""
    now = dict(vars(owner))
    for name, value in names.items():
        if now.get(name) is not value and fixed(owner, value) and not compiled(now.get(name)):
            setattr(owner, name, value)
    for name in now.keys() - names.keys() if isinstance(owner, type) else ():
        if not name.startswith("___"):  # a mark of torch's compiler
            delattr(owner, name)


def fixed(owner, value):
    """Whether nothing but a patch replaces it: a function, class, property or dtype; whatever stands in a class."""
    return isinstance(owner, type) or callable(value) or isinstance(value, (torch.dtype, float))


def compiled(value):
    """Whether torch's compiler, once loaded, put it there."""
    return type(value) is FunctionType and value.__code__.co_filename.startswith(COMPILER)


ORIGINALS = [(owner, dict(vars(owner))) for owner in TORCH]


def put_torch_back():
    """Before a check: torch's functions that the notebook replaced are torch's own again; their names."""
    found = []
    for owner, names in ORIGINALS:
        now = dict(vars(owner))
        new = {name for name in now.keys() - names.keys() if name.startswith("__") and callable(now[name])}
        changed = {name for name, value in names.items() if now.get(name) is not value and callable(value)}
        for name in sorted((new if isinstance(owner, type) else set()) | changed - PRINTING):
            if compiled(now.get(name)):
                continue
            if name in names:
                setattr(owner, name, names[name])
            else:
                delattr(owner, name)
            found.append(f"{owner.__name__}.{name}")
    return found
