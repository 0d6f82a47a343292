"""Further caches behind the same seam as `ConcatCache`, one short class each, with what they need of `cache` alone.

From outside: the names below.
"""

from .buffer import BufferCache, CapacityError, PreallocatedCache
from .padded import PaddedCache
from .rounded import Int8Cache, RoundedCache
from .window import NoCacheWindow, WindowCache

__all__ = [
    "BufferCache",
    "CapacityError",
    "Int8Cache",
    "NoCacheWindow",
    "PaddedCache",
    "PreallocatedCache",
    "RoundedCache",
    "WindowCache",
]
