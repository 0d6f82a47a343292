"""Lesson 07: bytes of the keys and values, predicted from the sizes and counted in a cache's tensors."""

from dataclasses import dataclass

import torch

from ...cache import ConcatCache
from ..registry import Exercise, Wrong, kind

kv_bytes = Exercise(
    name="kv_bytes",
    lesson="07",
    call="kv_bytes(config, length, batch=1, itemsize=4) -> int",
    minutes=10,
    difficulty="easy",
    hints=(
        "Write down the shape of one layer's keys, and multiply. How many such tensors are there?",
        "The head axis of K and V has as many heads as the *keys* have: config.kv_heads.",
        "Keys and values, layers, batch, kv_heads, length, head_dim, bytes of one number: seven factors.",
    ),
)


@dataclass(frozen=True)
class Case:
    """A cache to be counted: L layers of `[B, H_kv, S, D]`; all sizes differ, so that no two can be exchanged."""

    n_heads: int = 6
    kv_heads: int = 6
    batch: int = 1
    dtype: torch.dtype = torch.float32
    n_layers: int = 5
    head_dim: int = 14
    length: int = 11
    vocab_size = block_size = 997

    @property
    def d_model(self):
        return self.n_heads * self.head_dim

    @property
    def n_kv_heads(self):
        return None if self.kv_heads == self.n_heads else self.kv_heads

    @property
    def itemsize(self):
        return torch.empty((), dtype=self.dtype).element_size()

    def counted(self):
        """Bytes of the tensors of a cache that has so many rows."""
        cache = ConcatCache(self.n_layers)
        rows = torch.zeros(self.batch, self.kv_heads, self.length, self.head_dim, dtype=self.dtype)
        for layer in range(self.n_layers):
            cache.update(rows, rows.clone(), layer)
        return sum(x.untyped_storage().nbytes() for pair in cache.layers() for x in pair)


def mistakes(case, right):
    """Known mistakes -> the number that each of them gives."""
    group = case.n_heads // case.kv_heads
    return {
        "the keys alone: the values take as much": right // 2,
        "one layer; each layer has rows of its own": right // case.n_layers,
        "one sequence; each row of the batch has a cache of its own": right // case.batch,
        "query heads; keys and values have kv_heads of them": right * group,
        "bytes of float32 whatever the itemsize": right // case.itemsize * 4,
        "numbers, not bytes": right // case.itemsize,
        "bits, not bytes": right * 8,
        "head_dim missing": right // case.head_dim,
        "one head": right // case.kv_heads,
        "one token": right // case.length,
        "d_model in the place of head_dim, the heads counted twice": right * case.n_heads,
        "room for the whole block, not the rows that are there": right // case.length * case.block_size,
    }


def bytes_are(answer, *cases):
    for case in cases:
        got, right = answer(case, case.length, batch=case.batch, itemsize=case.itemsize), case.counted()
        if isinstance(got, bool) or not isinstance(got, (int, float)) or got != right:
            looks = next((words for words, wrong in mistakes(case, right).items() if got == wrong != right), None)
            shown = f"{got:,}" if isinstance(got, (int, float)) else kind(got)
            sizes = (
                f"{case.n_layers} layers, {case.n_heads} query and {case.kv_heads} key heads of {case.head_dim}, "
                f"{case.length} tokens, batch {case.batch}, {case.dtype}"
            )
            raise Wrong(f"{sizes}: got {shown}, counted in the tensors {right:,}", looks)


@kv_bytes.check("as counted in a cache: a key head for each query head")
def _(answer):
    bytes_are(answer, Case(), Case(length=30))


@kv_bytes.check("shared key heads")
def _(answer):
    bytes_are(answer, Case(kv_heads=2), Case(kv_heads=1))


@kv_bytes.check("a batch of 3")
def _(answer):
    bytes_are(answer, Case(batch=3, kv_heads=3))


@kv_bytes.check("float16 and float64")
def _(answer):
    bytes_are(answer, Case(dtype=torch.float16), Case(dtype=torch.float64))


@kv_bytes.check("no token, no bytes")
def _(answer):
    got = answer(Case(length=0), 0, batch=2)
    if got != 0:
        raise Wrong(f"0 tokens: got {got!r}, expected 0")
