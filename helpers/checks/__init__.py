"""Self-checks: `check("decode_step")` grades a name of the notebook, `hint("decode_step")` helps, `ask(...)` asks.

`lessonNN/` holds the exercises and questions of one lesson; the registry in `registry.py` is the one place where
points stand.
"""

from importlib import import_module
from pkgutil import iter_modules

from .core import ask, check, hint
from .registry import EXERCISES, find

for module in sorted(m.name for m in iter_modules(__path__) if m.name.startswith("lesson")):
    import_module(f"{__name__}.{module}")  # importing a lesson files its exercises

__all__ = ["EXERCISES", "ask", "check", "find", "hint"]
