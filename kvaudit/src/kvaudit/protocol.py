"""The protocol: what the audit calls. Duck-typed: nothing has to inherit from anything here.

Axes: B batch, T new tokens, S keys, H query heads, H_kv key/value heads, D head_dim, V vocabulary.

A *decoder* is under audit. It must have `prefill` and `decode`; what else it has is used:

    prefill(tokens [B, T]) -> logits [B, V]     starts a new sequence; `lengths` [B]: rows are padded on the left
    decode(token [B]) -> logits [B, V]          one token more
    extend(tokens [B, T]) -> logits [B, V]      a chunk on a filled cache         unlocks: chunks, second turns
    crop(n), reorder(parents [B]), fork()       rollback, beams, a shared prefix  unlocks: those scripts
    layers() -> [(K, V), …]                     rows of each layer [B, H_kv, S, D], axes in any order, or a whole buffer;
                                                unlocks: what wrong rows are
    block_table() -> [B, n] of block numbers    of a paged cache, where layers() gives pools [blocks, slots, H_kv, D] or
                                                [blocks, H_kv, slots, D]; -1 where there is no block
    generate(prompt [B, T], n) -> tokens [B, n] its own loop                      unlocks: the loop, too, is judged
    double()                                    the same in float64, where the audit cannot convert it by itself
    window, capacity                            tokens that a window keeps; rows that fit and must not be overrun
    model                                       where the reference can be found by itself

A *reference* computes without a cache. `logits` alone gives a verdict, also as a plain function:

    logits(tokens [B, T]) -> logits [B, T, V]   and vocab_size, block_size, dtype, device
    double()                                    the reference in float64               unlocks: logic judged in float64
    forward(tokens, positions, attend)          -> logits [B, T, V]; every layer's attention is done by
        attend(layer, q [B, H, T, D], k [B, H_kv, T, D], v, scale) -> [B, H, T, D]     unlocks: the bug's name, sensitivity
    n_layers                                    with `forward`
    rotary, rotate(x [B, H, T, D], by [T])      turns rows by so many positions more   unlocks: bugs of rotations
    shared_heads                                False where H_kv == H (default: True)
    window, windows, softcap                    of the attention: for all layers, for each one; bound of the scores
    last_position                               tokens that fit, where one more must be refused
    eps                                         where layers compute in fewer bits than the logits' dtype says
    independent_difference(tokens)              to a second uncached computation; `independence` says of which kind
    specification                               why cached and uncached are meant to differ, where they are
"""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor

Attend = Callable[[int, Tensor, Tensor, Tensor, float], Tensor]
Builder = Callable[[], Any]  # a fresh decoder each time


class Decoder(Protocol):
    """The least that a decoder under audit has."""

    def prefill(self, tokens: Tensor, /) -> Tensor: ...

    def decode(self, token: Tensor, /) -> Tensor: ...


class Reference(Protocol):
    """The least that a reference has."""

    vocab_size: int
    block_size: int
    dtype: torch.dtype
    device: torch.device

    def logits(self, tokens: Tensor, /) -> Tensor: ...
