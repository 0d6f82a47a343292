"""Lesson 03: the pre-norm block, on a whole sequence and on a chunk after cached rows."""

import torch

from ...cache import ConcatCache
from ...model import Block as Right
from ...model import NoCache
from ...positions import Rotary
from ..compare import inputs_kept
from ..registry import Exercise, Wrong
from .feed_forward import CONFIG, filled, judged, numbers, parameters, same_names

Block = Exercise(
    name="Block",
    lesson="03",
    call="Block(config, layer)(x, cache, positions) -> [B, T, C]",
    minutes=15,
    difficulty="medium",
    hints=(
        "Two halves of the same form. What goes into a half, and what is its output added to?",
        "The norm stands inside the branch. Nothing stands on the way that x itself takes through the block.",
        "The second half starts from what the first one returned; cache and positions go to the attention untouched.",
    ),
)
NAMES = {
    "ffn": "an FFN whose layers have other names: see check('FFN')",
    "norm": "norms with other names, one norm for both halves, or norms without weights",
}


# Forms of one half: its norm and its branch (attention or FFN) -> a function of the stream h.
def pre(norm, branch):
    return lambda h: h + branch(norm(h))


def post(norm, branch):
    return lambda h: norm(h + branch(h))


def bare(norm, branch):
    return lambda h: branch(norm(h))


def normed(norm, branch):
    return lambda h: norm(h) + branch(norm(h))


def behind(norm, branch):
    return lambda h: h + norm(branch(h))


def plain(_, branch):
    return lambda h: h + branch(h)


def mistakes(x, a, m, f, n):
    """Known mistakes -> what they give; `a` is the attention with its norm `m`, `f` the FFN with its norm `n`."""
    return {
        "post-norm: the sum is normalised, not the branch's input": post(n, f)(post(m, a)(x)),
        "the residual around the attention is missing": pre(n, f)(bare(m, a)(x)),
        "the residual around the FFN is missing": bare(n, f)(pre(m, a)(x)),
        "both residuals are missing": bare(n, f)(bare(m, a)(x)),
        "the normalised x is added: the stream must pass untouched": normed(n, f)(normed(m, a)(x)),
        "the normalised x is added in the first half": pre(n, f)(normed(m, a)(x)),
        "the normalised x is added in the second half": normed(n, f)(pre(m, a)(x)),
        "norm1 in both halves": pre(m, f)(pre(m, a)(x)),
        "the two norms exchanged": pre(m, f)(pre(n, a)(x)),
        "no norm before the FFN": plain(n, f)(pre(m, a)(x)),
        "no norm before the attention": pre(n, f)(plain(m, a)(x)),
        "no norm at all": plain(n, f)(plain(m, a)(x)),
        "norms behind the branches; they stand before them": behind(n, f)(behind(m, a)(x)),
        "a parallel block: the FFN must read what the attention has been added to": pre(m, a)(x) + f(n(x)),
        "the second half added to the first x: what the attention gave is lost": x + f(n(pre(m, a)(x))),
        "the FFN before the attention": pre(m, a)(pre(n, f)(x)),
        "no FFN": pre(m, a)(x),
        "no attention": pre(n, f)(x),
    }


class Case:
    """The learner's block and the right one over the same weights: `T` new tokens after `n` cached rows."""

    def __init__(self, answer, n, T):
        self.mine, self.right = (filled(with_rotary(make(CONFIG, 0))) for make in (answer, Right))
        self.x, self.positions, self.cache = numbers(T), torch.arange(n, n + T), ConcatCache(1)
        if n:
            self.right(numbers(n, 6), self.cache, torch.arange(n))

    def judge(self):
        seen, wanted = self.cache.fork(), len(self.positions) + int(self.positions[0])
        got = self.mine(self.x.clone(), seen, self.positions)
        if isinstance(got, tuple):
            raise Wrong(
                f"the block gave a tuple of {len(got)}; expected x alone", "a cache handed back: it is kept in `cache`"
            )
        rows = 0 if seen.keys[0] is None else seen.keys[0].shape[2]
        if rows > wanted:
            seen = f"the cache holds {rows} rows after the call; expected {wanted}"
            raise Wrong(seen, "the attention called twice: each call stores its rows")
        right = self.right(self.x, self.cache.fork(), self.positions)
        return judged(got, right, self.mistakes, what="the block's output")

    def mistakes(self):
        r = self.right
        here = {
            "the cache is not handed to the attention: it sees the new tokens only": (NoCache(), self.positions),
            "positions that begin at 0 in every call: hand on those that were given": (
                self.cache.fork(),
                torch.arange(len(self.positions)),
            ),
        }
        known = {words: r(self.x, *given) for words, given in here.items()} if int(self.positions[0]) else {}
        return known | mistakes(
            self.x, lambda y: r.attention(y, self.cache.fork(), self.positions), r.norm1, r.ffn, r.norm2
        )


def with_rotary(block):
    same_names(parameters(block, "Block(config, layer)"), parameters(Right(CONFIG, 0), ""), NAMES)
    block.attention.rotary = Rotary(CONFIG.head_dim, CONFIG.block_size, CONFIG.rope_base)
    return block


@Block.check("its weights have the names and shapes of the weights file")
def _(answer):
    with_rotary(answer(CONFIG, 0))


@Block.check("a whole sequence of 5 tokens")
def _(answer):
    return Case(answer, 0, 5).judge()


@Block.check("a chunk of 2 tokens after 4 cached ones: cache and positions are handed on")
def _(answer):
    return Case(answer, 4, 2).judge()


@Block.check("x is unchanged")
def _(answer):
    case = Case(answer, 0, 5)
    inputs_kept(lambda x: case.mine(x, NoCache(), case.positions), ("x",), case.x)
