"""Sensitivity: known bugs are injected into this very model, and the audit's scripts must show them."""

from collections.abc import Iterable

from torch import Tensor

from ..plan import Script
from ..play.history import expected
from ..subject import Uncached
from ..witness.hypotheses import Hypothesis, catalogue
from ..witness.replays import replays
from .explained import Explained


def inject(found: Explained) -> None:
    """How many known bugs, injected into this model, these scripts would have shown, and which not."""
    reference = found.judged.side.reference
    if not reference.tapped:
        return
    ran = [script for script, result in found.pairs() if result.status != "not exercised" and not script.ends]
    key = "".join(script.content for script in ran)
    seen = reference.remembered(key, lambda: injected(ran, reference, found.tolerance))
    found.unseen = [fault for fault, shown in seen.items() if not shown]
    found.caught, found.injected = len(seen) - len(found.unseen), len(seen)
    if found.verdict == "equal" and found.injected and not found.caught:
        found.verdict = "inconclusive"
        found.summary = (
            f"None of {found.injected} injected bugs shows in these scripts: that they agree proves nothing."
        )


def injected(scripts: Iterable[Script], reference: Uncached, tolerance: float) -> dict[str, bool]:
    """{fault: does any script show it?}, the cheapest scripts first."""
    scripts = sorted(scripts, key=lambda script: script.cost)
    right = {script.name: expected(reference, script) for script in scripts}
    seen: dict[str, bool] = {}
    for h in catalogue(reference):
        if h.family != "rounding" and h.fault not in seen:  # a fault by its likeliest form
            seen[h.fault] = any(shows(h, script, reference, right[script.name], tolerance) for script in scripts)
    return seen


def shows(hypothesis: Hypothesis, script: Script, reference: Uncached, right: list[Tensor], tolerance: float) -> bool:
    found = False

    def watch(step: int, logits: Tensor) -> bool:
        nonlocal found
        found = step < len(right) and float((logits.double() - right[step].double()).abs().max()) > tolerance
        return found

    replays(reference).run(script, hypothesis.rules, watch)
    return found
