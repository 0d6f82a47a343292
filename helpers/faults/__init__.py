"""Cache faults: one small class a fault, one module a family. `CATALOGUE` lists them, `faulty(model, id)` builds one."""

from . import append, position, stale  # noqa: F401  (importing a family files its faults)
from .registry import CATALOGUE, Fault, faulty, find

__all__ = ["CATALOGUE", "Fault", "faulty", "find"]
