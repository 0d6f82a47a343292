"""Bytes that a piece of code writes when it moves rows: what a cache costs beyond attention, counted and not timed.

    written_bytes(lambda: decoder.decode(token))     # {"cat": 1179648, "copy_": 0}

A concatenated cache writes all of its rows again at each step, a preallocated one only the new row.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .memory import kv_bytes

MOVES = ("cat", "copy_", "index_put_", "index_copy_", "clone", "slice_scatter")


class Moves(TorchDispatchMode):
    """While it is active, adds up the bytes that operations which only move numbers write."""

    def __init__(self):
        super().__init__()
        self.bytes = dict.fromkeys(MOVES, 0)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **kwargs or {})
        name = func.overloadpacket.__name__
        if name in self.bytes:
            new = args[2] if name == "index_put_" else result  # which is the whole buffer there; here, what is written
            self.bytes[name] += new.numel() * new.element_size()
        return result


@torch.inference_mode(False)
def written_bytes(call):
    """`{operation: bytes written}` while `call()` runs; operations that moved nothing are left out."""
    with Moves() as moves:
        call()
    return {name: count for name, count in moves.bytes.items() if count}


def concat_bytes(config, length, batch=1, itemsize=4):
    """Bytes that growing by concatenation has written by the time it holds `length` tokens, fed one by one.

    Each step from the second on writes every row again: 2 + 3 + … + `length` rows, of K and of V in every layer.
    """
    return kv_bytes(config, 1, batch, itemsize) * (length * (length + 1) // 2 - 1)
