"""Memory that a computation holds, counted from its tensors: no process figures, so that small sizes can be compared."""

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveBytes(TorchDispatchMode):
    """Keeps the largest number of bytes (`peak`) that tensors made meanwhile held at the same time.

    Memory that a kernel takes inside one operation is not seen; what was there before does not count.
    """

    def __init__(self):
        super().__init__()
        self.known, self.live, self.peak = set(), {}, 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        before = {x.untyped_storage()._cdata for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)}
        out = operation(*args, **(kwargs or {}))
        for x in tree_leaves(out):
            if isinstance(x, torch.Tensor) and x.untyped_storage()._cdata not in before:
                self.live[StorageWeakRef(x.untyped_storage())] = x.untyped_storage().nbytes()
        self.live = {ref: size for ref, size in self.live.items() if not ref.expired()}
        self.peak = max(self.peak, sum(self.live.values()))
        return out


def peak_bytes(compute):
    """The most bytes that the tensors made by `compute()` held at one time."""
    with LiveBytes() as counter:
        compute()
    return counter.peak
