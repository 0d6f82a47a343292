"""Cache faults: one small class a fault, one module a family. `CATALOGUE` lists them, `faulty(model, id)` builds one."""

from . import position, mask, append, duplicate, reuse, layers, buffer, attention, window, batch  # noqa: F401, I001
from .registry import CATALOGUE, WINDOW, Fault, faulty, find

__all__ = ["CATALOGUE", "WINDOW", "Fault", "faulty", "find"]
