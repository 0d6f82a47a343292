"""Sensitivity: known bugs are injected into this very model, and the audit's scripts must show them."""

from ..plan.scripts import cost, expected
from ..subject.subject import remembered
from ..witness.hypotheses import catalogue
from ..witness.replays import replays


def sensitivity(report, plans, reference):
    """How many known bugs, injected into this model, these scripts would have shown, and which not."""
    ran = [p for p, r in zip(plans, report.results) if r.status != "not exercised" and not p.ends]
    key = "".join(p.content for p in ran)
    seen = remembered(reference, key, lambda: injected(ran, reference, report.tolerance.value))
    missed = [fault for fault, shown in seen.items() if not shown]
    report.caught, report.injected = len(seen) - len(missed), len(seen)
    report.unseen = missed


def injected(plans, reference, tolerance):
    """{fault: does any script show it?}, the cheapest scripts first."""
    plans = sorted(plans, key=cost)
    right = {p.name: expected(reference, p) for p in plans}
    seen = {}
    for h in catalogue(reference):
        if h.family != "rounding" and h.fault not in seen:  # a fault by its likeliest form
            seen[h.fault] = any(shows(h, p, reference, right[p.name], tolerance) for p in plans)
    return seen


def shows(hypothesis, plan, reference, right, tolerance):
    found = False

    def watch(step, logits):
        nonlocal found
        found = step < len(right) and float((logits.double() - right[step].double()).abs().max()) > tolerance
        return found

    replays(reference).run(plan, hypothesis.rules, watch)
    return found
