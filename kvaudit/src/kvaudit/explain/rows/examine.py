"""One script: how the decoder keeps its rows, and what they say beside the right ones."""

from __future__ import annotations

from collections.abc import Sequence

from ...judge import Result
from ...plan import Script
from ...subject import Side, Uncached
from .beside import lay
from .classify import known
from .described import Forensics
from .examined import Examined
from .record import Step, record
from .views import View, fitted, plain

SENSE = 0.9  # of layer 0's first rows must be right rows, be it others, where no state is known to be right


def proven(steps: Sequence[Step], gaps: Sequence[float], tolerance: float) -> list[Step]:
    """States in which the rows are right, however they are kept: the next token got right logits from them."""
    right = [step for step in steps if step.number < len(gaps) and gaps[step.number] <= tolerance]
    return [a for a in steps for b in right if follows(a, b)]


def follows(a: Step, b: Step) -> bool:
    """Whether the second answer is made of what is held after the first."""
    return (a.call.on, a.at + 1) == (b.call.on, b.at) and b.call.kind != "prefill"


def examine(
    script: Script, side: Side, result: Result, tolerance: float, others: Sequence[tuple[Script, Result]] = ()
) -> Forensics | None:
    """Compare the rows of a script whose `result` differs.

    `others`: scripts with right logits, in which the decoder shows how it keeps rows. None where it does not show them,
    where their form is not recognised, or where nothing can be said.
    """
    reference, steps = side.reference, again(script, side, result, tolerance)
    if not steps or any(len(step.layers) != reference.n_layers for step in steps):
        return None
    gaps, sure = result.diffs, proven(steps, result.diffs, tolerance)
    for other, right in others if not sure else ():
        sure += proven(again(other, side, right, tolerance), right.diffs, tolerance)
    views = viewed(script, steps, sure, reference)
    if not views:
        return None
    laid = [lay(step, views, reference) for step in steps]
    known_right = [lay(step, views, reference) for step in sure]
    unread = {at for state in known_right for at, x in state.laid.items() if bool(x.wrong.any())}
    for state in laid:
        state.laid = {at: x for at, x in state.laid.items() if at not in unread}
    late = next((i for i, gap in enumerate(gaps) if gap > tolerance), min(len(gaps), len(laid) - 1))
    seen = Examined(script, laid, known_right, views, reference, late, tolerance).told() if late < len(laid) else None
    return None if seen is None or (not sure and may_be_a_form(seen)) else seen


def again(script: Script, side: Side, result: Result, tolerance: float) -> list[Step]:
    """The script once more, with rows; empty where the decoder does not show them, or now gives other logits."""
    steps = record(script, side)
    alike = all(float((a.logits.double() - b.double()).abs().max()) <= tolerance for a, b in zip(steps, result.logits))
    return steps if alike else []


def viewed(script: Script, steps: Sequence[Step], sure: Sequence[Step], reference: Uncached) -> dict[int, View]:
    """How keys and values are kept: as far as it is known that rows are right, else as most of the first ones make sense."""
    views: dict[int, View] = {}
    for part in (0, 1):
        view = fitted(sure or steps[:1], part, reference)
        if view is None and not sure:
            tries = {
                made: known(script, lay(steps[0], {part: made}, reference), made, part, reference)
                for made in plain(steps[0], part)
            }
            best = max(tries, key=tries.__getitem__, default=None)
            view = best if best is not None and tries[best] >= SENSE else None
        if view is not None:
            views[part] = view
    return views


def may_be_a_form(seen: Forensics) -> bool:
    """Whether all rows are off in one way that could also be how a right cache keeps them, and that is not what is used."""
    S, layer = len(seen.grids[seen.step].keys[0]), min((w.layer for w in seen.wrong), default=0)
    wrong = [w for w in seen.wrong if w.kind != "unknown"]
    whole = all(len(w.rows) == S and len(w.batch) == seen.shapes[0] for w in wrong)
    others = [w.of for w in wrong if w.kind == "other"]
    exchanged = {w.part for w in wrong if w.layer == layer and w.of.part is not None} == {"K", "V"}
    layers = {of.layer for of in others} == set(range(seen.shapes[2]))
    alike = all(w.kind in ("scaled", "order", "heads", "rotated", "other", "zeros") for w in wrong)
    return whole and alike and (not others or exchanged or layers) and bool(wrong) and seen.residual is None
