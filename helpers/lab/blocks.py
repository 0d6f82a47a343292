"""The panels of lesson 03: gradients by depth, and what a wrong block or a lost offset does to the trained model."""

import torch

from ..cache import ConcatCache
from ..decoding import CachedDecoder, Oracle
from ..model import Block
from ..modules import with_modules
from ..plots import curves as plots
from . import svg
from .depth import PostNorm
from .fault_view import logits_verdict, mark, note_box, text_verdict, trace_picture
from .faults import run_decoder
from .panel import Choice, Panel, View

DEPTHS = (2, 4, 8, 16, 32)
CACHED = {"one pass, no cache": False, "prefill and decode, with a cache": True}


class FromZero(ConcatCache):
    """The offset is lost: every call numbers its tokens from 0."""

    def positions(self, T):
        return torch.arange(T)


class NoResidual(Block):
    """What the attention returns replaces the stream, where it should be added to it."""

    def forward(self, x, cache, positions):
        x = self.attention(self.norm1(x), cache, positions)
        return x + self.ffn(self.norm2(x))


# words on the button -> (block class, cache class)
MISTAKES = {
    "none": (Block, ConcatCache),
    "offset ignored": (Block, FromZero),
    "post-norm": (PostNorm, ConcatCache),
    "residual dropped": (NoResidual, ConcatCache),
}


def mistaken(model, mistake, cached):
    """A decoder over `model` (its weights are shared) with one of `MISTAKES`, with or without a cache."""
    block, cache = MISTAKES[mistake]
    changed = with_modules(model, [], [] if block is Block else [block])
    return CachedDecoder(changed, lambda: cache(model.config.n_layers)) if cached else Oracle(changed)


def run_block(model, task, mistake, cached, tolerance, max_new_tokens=60):
    """The `FaultReport` of one mistake on the `Example` `task`, beside the model as it was trained, without a cache."""
    return run_decoder(
        mistake, lambda: mistaken(model, mistake, cached), model, task, tolerance, max_new_tokens=max_new_tokens
    )


def render_block(report, cached):
    """The report as a `View`: both notes with their sensitive values marked, and the trace."""
    how = "with a cache" if cached else "without a cache"
    notes = svg.columns(
        note_box("The model as trained", report.oracle_note, report.oracle_fields),
        note_box(f"Mistake: {report.title}, {how}", report.note, report.fields),
    )
    key = f'<div style="margin:8px 0">{mark("right", True)} a value as in the record {mark("wrong", False)} another one</div>'
    sentence = f"Mistake: {report.title}, {how}: {logits_verdict(report)} {text_verdict(report)}"
    return View(sentence, notes + key + trace_picture(report.table.differences, report.tolerance))


def block_panel(model, tasks, tolerance):
    """Toggles: the mistake, with or without a cache, the prompt. `tasks` maps words to ledger `Example`s.

    `panel.report(words, mistake, cached)` is the `FaultReport` behind a setting, computed once.
    """
    reports = {}

    def report(task, mistake, cached):
        key = task, mistake, cached
        if key not in reports:
            reports[key] = run_block(model, tasks[task], mistake, cached, tolerance)
        return reports[key]

    def still():
        first = next(iter(tasks))
        return plots.trace({words: report(first, words, True).table.differences for words in MISTAKES}, tolerance).png()

    def show(mistake, cached, prompt):
        return render_block(report(prompt, mistake, cached), cached)

    controls = {
        "mistake": Choice("Mistake:", {words: words for words in MISTAKES}),
        "cached": Choice("Run:", CACHED),
        "prompt": Choice("Prompt:", {words: words for words in tasks}),
    }
    panel = Panel("Break the block", controls, show, still)
    panel.report = report
    return panel
