"""Probes beside the comparison: determinism, independence of rows and of padding, and the regret of a free run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from ..plan import Call, Script
from ..play.run import largest, missing, run
from ..protocol import Builder
from ..subject.copies import modules
from .explained import Explained


def determinism(found: Explained) -> None:
    """The same calls twice must give the same bits, or break off at the same call."""
    broke = next((r for r in found.judged.played.native if r.trace.problem and not r.refused and not r.hung), None)
    if broke is not None:
        answers = {len(broke.trace.logits), *answered_again(found, broke.script)}
        if len(answers) > 1:
            wavers(found, f"{broke.script.name}: {broke.trace.problem}, and another time the same calls went further.")
    if found.plain_broke:
        return
    first, second = (run(found.plain, found.native.build()) for _ in range(2))
    gap = largest(first.logits, second.logits)
    if gap == 0 and len(first.logits) == len(second.logits):
        return
    if gap > found.tolerance or len(first.logits) != len(second.logits):
        wavers(found, f"The same {len(found.plain.calls)} calls gave logits that differ by {gap:.2e} the second time.")
    else:
        found.notes.append(f"two runs of the same calls differ by {gap:.1e}, below the tolerance")


def answered_again(found: Explained, script: Script, times: int = 3) -> Iterator[int]:
    """How many answers the script gets when it is run again, each time after one more call to another copy.

    What breaks off at every n-th call, whichever it is, then does so at another step.
    """
    for extra in range(1, times + 1):
        opening = Script("", "", (found.plain.calls[:1] * extra))
        run(opening, found.native.build())
        yield len(run(script, found.native.build(), found.native.reference.vocab_size).logits)


def wavers(found: Explained, summary: str) -> None:
    """The decoder is not deterministic; a dropout that is still on is named."""
    found.verdict, found.summary = "not deterministic", summary
    trained = [m for module in modules(found.native.build()) for m in module.modules() if m.training]
    if any(type(m).__name__.startswith("Dropout") and getattr(m, "p", 0) > 0 for m in trained):
        found.summary += " A dropout layer is in training mode: call model.eval()."


def other_rows(found: Explained) -> None:
    """At fixed shapes, other rows' tokens must not reach row 0, not in one bit."""

    def others(call: Call) -> Call:
        if not isinstance(call.value, Tensor) or len(call.value) < 2:
            return call
        value = call.value.clone()
        value[1:] = value[:1]  # not an exchange of rows: a sum over the batch would not notice that
        return replace(call, value=value)

    gap = 0.0 if found.plain_broke else moved(found.plain, others, found.native.build, row=0)
    if gap > 0:
        found.notes.append(f"row 0 moves by {gap:.1e} when only other rows' tokens change: rows are mixed")


def pads(found: Explained) -> None:
    """Which ids the padding has must not matter, not in one bit."""
    padded = [script for script in found.judged.played.plan if any(call.lengths is not None for call in script.calls)]
    if found.plain_broke or not padded or missing(padded[0], found.native.build()):
        return

    def other_pads(call: Call) -> Call:
        if call.lengths is None:
            return call
        padding = torch.arange(call.value.shape[1]) < (call.value.shape[1] - call.lengths.cpu())[:, None]  # [B, T]
        return replace(call, value=torch.where(padding.to(call.value.device), call.value.flip(0), call.value))

    gap = moved(padded[0], other_pads, found.native.build)
    if gap > 0:
        found.notes.append(f"logits move by {gap:.1e} when only the ids of the padding change: padding is read")


def moved(script: Script, change: Callable[[Call], Call], build: Builder, row: int | None = None) -> float:
    """Largest change of the logits (of one row of the batch) when `change(call)` is made to every call."""
    changed = replace(script, calls=tuple(change(call) for call in script.calls))
    a, b = ([x if row is None else x[row] for x in run(one, build()).logits] for one in (script, changed))
    return largest(a, b)


def free_run(found: Explained, new: int = 8) -> None:
    """Through the decoder's own loop: the gap of each chosen token to the oracle's best, and the certificate.

    A decoder with a `generate(prompt, max_new_tokens) -> tokens [B, n]` of its own is run by it.
    """
    if found.plain_broke:
        return
    prompt, decoder, reference = found.plain.calls[0].value, found.native.build(), found.native.reference
    new = min(new, reference.block_size - prompt.shape[1])
    try:
        own = getattr(decoder, "generate", None)
        ids = own(prompt, new) if callable(own) else greedy(decoder, prompt, new)  # [B, n]
        logits = reference.logits(torch.cat([prompt, ids], dim=1))[:, prompt.shape[1] - 1 : -1].double()  # [B, n, V]
    except Exception as error:  # noqa: BLE001 - whatever a loop does, it is a line of the report
        found.notes.append(f"no free run: {type(error).__name__}: {error}")
        return
    best = logits.topk(2, dim=-1).values  # [B, n, 2]
    found.regret = float((best[..., 0] - logits.gather(-1, ids[..., None])[..., 0]).max())
    judge_free_run(found, found.regret, float((best[..., 0] - best[..., 1]).min()), float(logits.abs().max()))


def greedy(decoder: Any, prompt: Tensor, new: int) -> Tensor:
    """`new` greedy tokens `[B, new]` after `prompt` `[B, T0]`; the last one is chosen but not fed."""
    tokens = [decoder.prefill(prompt).argmax(dim=-1)]
    while len(tokens) < new:
        tokens.append(decoder.decode(tokens[-1]).argmax(dim=-1))
    return torch.stack(tokens, dim=1)


def judge_free_run(found: Explained, regret: float, margin: float, size: float) -> None:
    """Near ties may fall either way, by twice the difference of the logits; more than that is the loop's own mistake."""
    gap = max((d for run in found.judged.played.native for d in run.diffs), default=0.0)
    rounding = torch.finfo(found.native.reference.dtype).eps * size
    agree = found.verdict in ("equal", "rounding", "different by specification")
    if agree and regret > 2 * max(gap, 8 * rounding):
        found.verdict = "differs"
        found.summary = (
            "Step by step the logits agree, but the decoder's own loop writes tokens that are not the oracle's best, "
            f"by {regret:.3g}: look at what the loop feeds and chooses."
        )
    elif agree and margin > 2 * gap:
        certain = "at every step: greedy text is identical"
        found.certificate = f"margin {margin:.1e} > 2 x largest difference {gap:.1e} {certain}"
