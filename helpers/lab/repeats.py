"""Two runs without a cache that should write the same: what makes them differ although no cache is there to blame."""

from dataclasses import dataclass, replace
from functools import cache
from html import escape

import torch

from ..decoding import Oracle, generate, teacher_forced
from ..figures import approx
from ..ledger import TOKENIZER
from ..model import MiniGPT
from . import svg
from .panel import Choice, Panel, View

WAYS = ("argmax", "sampling", "dropout left on")
CHANGES = ("nothing", "rows one by one", "another seed")
TEMPERATURE, DROPOUT = 2.0, 0.1


@dataclass
class Repeat:
    """Tokens `[B, n]` of two runs, and how far their logits lie apart at each step where both are fed the first one's."""

    way: str
    change: str
    first: torch.Tensor
    second: torch.Tensor
    gaps: list[float]

    @property
    def difference(self):
        return max(self.gaps)

    @property
    def parts_at(self):
        """The first new token that differs in any row; None if the texts are equal."""
        wrong = (self.first != self.second).any(dim=0).nonzero()
        return int(wrong[0]) if len(wrong) else None


def repeat(model, prompt, n, way, change):
    """Run `way` twice on `prompt` `[B, T0]` with `change` between the two; a `Repeat`. Raises ValueError for other words."""
    if way not in WAYS or change not in CHANGES:
        raise ValueError(f"way must be one of {WAYS} and change one of {CHANGES}, not {way!r} and {change!r}")
    decoder = Oracle(forgetful(model) if way == WAYS[2] else model)
    temperature = TEMPERATURE if way == WAYS[1] else 0.0
    first = seeded(0, lambda g: generate(decoder, prompt, n, temperature=temperature, generator=g))

    def write(rows, tokens, generator):
        return generate(decoder, rows, n, temperature=temperature, generator=generator).tokens

    def feed(rows, tokens, generator):
        return teacher_forced(decoder, rows, tokens)

    second, logits = (again(run, change, prompt, first.tokens) for run in (write, feed))
    return Repeat(way, change, first.tokens, second, (first.logits - logits).abs().amax(dim=(0, 2)).tolist())


def again(run, change, prompt, tokens):
    """What `run(prompt, tokens, generator)` gives after `change`."""
    rows = [[p[None], t[None]] for p, t in zip(prompt, tokens)] if change == CHANGES[1] else [[prompt, tokens]]
    return seeded(int(change == CHANGES[2]), lambda g: torch.cat([run(*row, g) for row in rows]))


def forgetful(model, dropout=DROPOUT):
    """A copy of a MiniGPT that has dropout and was left in training mode."""
    with torch.random.fork_rng(devices=[]):  # its first weights are drawn, and thrown away
        twin = MiniGPT(replace(model.config, dropout=dropout)).to(model.token.weight.dtype)
    twin.load_state_dict(model.state_dict())
    return twin.train()


def seeded(seed, run):
    """`run(generator)` with a new generator and torch's own one, both at `seed`; torch's is put back."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return run(torch.Generator().manual_seed(seed))


def sentence(r):
    at = r.parts_at
    texts = "the texts are equal" if at is None else f"the texts part at new token {at}"
    logits = (
        "the logits are equal, bit by bit"
        if r.difference == 0
        else f"the logits differ by up to {approx(r.difference)}"
    )
    return f"{r.way}, second run: {r.change}. In two runs {texts}; on the same tokens {logits}."


def render_repeat(r):
    """Both runs' texts, a row of the batch under the other; what differs in the second is framed."""
    boxes = []
    for title, tokens in (("First run", r.first), ("Second run", r.second)):
        lines = [marked(row, right) for row, right in zip(tokens, r.first)]
        body = "".join(f'<div style="line-height:1.8;overflow-wrap:anywhere">{line}</div>' for line in lines)
        boxes.append(
            f'<div style="border:1px solid {svg.FAINT};border-radius:4px;padding:8px"><b>{title}</b>{body}</div>'
        )
    return View(sentence(r), svg.columns(*boxes))


def marked(tokens, right):
    """The text of one row, from its first differing token on in a dashed frame with a cross."""
    wrong = (tokens != right).nonzero()
    if not len(wrong):
        return escape(TOKENIZER.decode(tokens))
    at = int(wrong[0])
    start, whole = TOKENIZER.decode(tokens[:at]), TOKENIZER.decode(tokens)
    rest = escape(whole[len(start) :])
    return f'{escape(start)}<span style="border-bottom:2px dashed #d55e00;font-weight:700">{rest} &#10007;</span>'


def repeat_panel(model, prompt, n=20):
    """Toggles: how the tokens are chosen, and what changes between the two runs.

    `panel.report(way, change)` is the `Repeat` behind a setting, computed once.
    """
    report = cache(lambda way, change: repeat(model, prompt, n, way, change))
    controls = {"way": Choice("Run:", {w: w for w in WAYS}), "change": Choice("Second run:", {c: c for c in CHANGES})}
    panel = Panel("Twice", controls, lambda way, change: render_repeat(report(way, change)))
    panel.report = report
    return panel
