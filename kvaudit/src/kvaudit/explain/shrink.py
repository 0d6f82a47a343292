"""The shortest case that still shows a difference, printed as a test that stands alone."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from ..plan import Call, Script
from ..play.history import expected
from ..play.run import missing, run
from ..subject import Side
from .explained import Explained
from .source import source


def shorten(found: Explained) -> None:
    """Find the smallest batch, prompt and number of steps that shows the first difference, and write it as a test."""
    if found.verdict not in ("differs", "unknown pattern") or found.first is None:
        return
    name, step, _ = found.first
    script = next(script for script in found.judged.played.plan if script.name == name)
    side, tolerance = found.judged.side, found.tolerance
    best = next((smaller for smaller in candidates(script, step) if fails(smaller, side, tolerance)), script)
    gaps = differences(best, side)
    wrong = next((i for i, gap in enumerate(gaps) if float(gap.max()) > tolerance), None)
    if wrong is not None:
        found.test = source(best, wrong, gaps[wrong], found.judged)


def candidates(script: Script, step: int) -> Iterator[Script]:
    """Smaller versions of a script, smallest first: fewer rows, shorter prompt, nothing after the first wrong step."""
    answers = script.answering
    calls = script.calls[: answers[step] + 1] if step < len(answers) else script.calls
    rows_fixed = any(c.kind == "reorder" or c.lengths is not None for c in calls)
    whole = any(c.kind == "crop" or c.lengths is not None for c in calls) or script.ends
    B0, T0 = calls[0].value.shape
    for B in [B0] if rows_fixed else range(1, B0 + 1):
        for T in (1, 2, 3, 5, 8, T0):
            if T <= T0 and (T == T0 or not whole):
                yield Script(script.name, script.about, tuple(cut(c, B, T) for c in calls))


def cut(call: Call, B: int, T: int) -> Call:
    if not isinstance(call.value, Tensor) or call.kind == "reorder":
        return call
    value = call.value[:B, :T] if call.kind == "prefill" else call.value[:B]
    return Call(call.kind, value.contiguous(), call.lengths, call.on)


def differences(script: Script, side: Side) -> list[Tensor]:
    """Largest difference of each row `[B]`, per answering call."""
    decoder = side.build()
    if missing(script, decoder):
        return []
    logits = run(script, decoder, side.reference.vocab_size).logits
    return [(a.double() - b.double()).abs().amax(dim=1) for a, b in zip(logits, expected(side.reference, script))]


def fails(script: Script, side: Side, tolerance: float) -> bool:
    return any(float(gap.max()) > tolerance for gap in differences(script, side))
