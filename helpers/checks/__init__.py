"""Self-checks: `check("decode_step")` grades a name of the notebook, `hint("decode_step")` helps, `ask(...)` asks.

`lessonNN/` holds the exercises and questions of one lesson, `registry` the points, `stubs` what the learner's version of a
cell is. From outside: the names below (`approx` and `progress` stand here because every lesson needs them beside its
checks), `learner_report`, `stubs`, and of a lesson what its `__init__` names.
"""

from importlib import import_module
from pkgutil import iter_modules

from .. import progress
from ..figures import approx
from .board import Board
from .core import ask, check, hint
from .registry import EXERCISES, find

for module in sorted(m.name for m in iter_modules(__path__) if m.name.startswith("lesson")):
    import_module(f"{__name__}.{module}")  # importing a lesson files its exercises

__all__ = ["EXERCISES", "Board", "approx", "ask", "check", "find", "hint", "progress"]
