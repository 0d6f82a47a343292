"""What can be wrong with a cache: one small class a fault, one module a family, all of them in `CATALOGUE`.

`faulty(model, id)` builds a decoder that has one. `scenarios` shows each, `controls` are right and look suspicious,
`mistakes` are those of an attention, `mysteries` and `reviews` are lesson 06's. From outside: these, not the families.
"""

from . import position, mask, append, duplicate, reuse, layers, buffer, attention, window, batch  # noqa: F401, I001
from .registry import CATALOGUE, WINDOW, Fault, faulty, find

__all__ = ["CATALOGUE", "WINDOW", "Fault", "faulty", "find"]
