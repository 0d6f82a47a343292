"""The audit: prove that a cached decoder computes what the uncached model computes, or say which bug it has.

    report = audit(decoder)              # the course's decoder, or any object with prefill and decode
    report = audit(decoder, reference)   # with an uncached forward of one's own (see reference.py)

Logic first: everything runs in float64, where a correct cache agrees to the last digits and the smallest bug does not.
Arithmetic second, in the dtype as it runs. Logits decide; rows, lengths and text only explain.
"""

import time

import torch

from .bugs import BUGS
from .explain import probes
from .explain.names import diagnose
from .explain.sensitivity import sensitivity
from .explain.shrink import shortest
from .judge.tolerance import measure
from .plan.scripts import expected, missing, run, scripts
from .report.report import VERDICTS, Report, Result, Suspect
from .subject.inputs import check_decoder, check_prompt
from .subject.subject import builder, in_float64, reference_for, remembered, trait
from .witness.replays import replays

ROUNDS_ALIKE = 3  # cached within 3 times the uncached rounding: correct decoders give 0.5 to 2


def audit(decoder, reference=None, *, prompt=None, tokens=None, seed=0, float64=True, explain=True):
    """Audit a decoder and return a `Report`; never raises for what the decoder does.

    decoder: duck-typed (see decoding.py), or a function that makes one from a model. reference: duck-typed (see
    reference.py); found from `decoder.model` where left out. prompt `[B, T0]`, tokens `[B, n]` (int64): fed in the main
    script instead of random ones. float64=False judges in the dtype as it is only. explain=False stops at the verdict.
    """
    began = time.perf_counter()
    check_decoder(decoder)
    reference = reference or reference_for(decoder)
    build = builder(decoder, reference)
    capacity = trait(build(), "capacity")
    room = min(reference.block_size, capacity or reference.block_size)
    check_prompt(prompt, tokens, reference.vocab_size, room)
    plans = scripts(
        room,
        reference.vocab_size,
        prompt=prompt,
        tokens=tokens,
        device=reference.device,
        seed=seed,
        window=getattr(reference, "window", None),
        capacity=capacity or getattr(reference, "last_position", None),
    )
    exact_reference, exact_build = (in_float64(reference, build) if float64 else (None, None)) or (None, None)
    native = [play(plan, build, reference) for plan in plans]
    report = decide(plans, native, reference, exact_reference, exact_build)
    probes.independence(report, exact_reference or reference)
    if report.verdict == "the oracles disagree":
        explain = False
    if explain:
        describe(report, plans, build, reference, exact_reference, exact_build, seed)
    report.seconds = time.perf_counter() - began
    return report


def play(plan, build, reference):
    """Run one script on a fresh decoder and lay its logits beside the uncached ones. Not judged yet: status is ""."""
    decoder = build()
    lacks = missing(plan, decoder)
    if lacks:
        return Result(plan.name, plan.about, "not exercised", problem=f"the decoder has no {', '.join(lacks)}")
    trace = run(plan, decoder, reference.vocab_size)
    if isinstance(trace.raised, NotImplementedError) or (trace.problem or "").startswith(("crop", "reorder", "fork")):
        return Result(plan.name, plan.about, "not exercised", problem=trace.problem)
    right = expected(reference, plan)
    result = Result(
        plan.name, plan.about, "", rows=trace.rows, logits=trace.logits, problem=trace.problem, raised=trace.raised
    )
    gaps = [(a.double() - b.double()).abs().amax(dim=1) for a, b in zip(trace.logits, right)]  # [B] a step
    result.diffs = [float(gap.max()) for gap in gaps]
    result.gaps, result.right = gaps, right
    return result


def refused(result, plan):
    """Whether the one call that must be refused was, and no other."""
    return plan.ends and len(result.logits) == len(plan.calls) - 1


def judge(result, plan, tolerance):
    """Fill in status, first wrong step and row, and what would be written there."""
    if result.status == "not exercised":
        return result
    step = next((i for i, d in enumerate(result.diffs) if d > tolerance), None)
    if step is not None:
        row = int(result.gaps[step].gt(tolerance).nonzero()[0])
        wrote = int(result.logits[step][row].argmax()), int(result.right[step][row].argmax())
        result.status, result.first, result.wrote = "differs", (step, row), wrote
    elif result.problem and not refused(result, plan):
        result.status = "error"
    elif plan.ends and not result.problem and len(result.right) < len(result.logits):
        result.status = "error"
        result.problem = "a token past the last position was accepted; it must be refused in words"
    else:
        result.status, result.problem = "equal", None
    return result


def decide(plans, native, reference, exact_reference, exact_build):
    """The report with its verdict, before anything is explained: float64 where there is one, else the dtype as it is."""
    exact = exact_reference and [play(plan, exact_build, exact_reference) for plan in plans]
    if exact and any(e.problem and len(e.logits) < len(n.logits) for e, n in zip(exact, native)):
        exact = None  # it cannot run in float64 what it runs in its own dtype
    deciding, dtype = exact_reference if exact else reference, short(reference.dtype)
    report = settle(plans, exact or native, native, deciding, dtype)
    if not exact or report.verdict != "equal" or exact_reference is reference:
        return report
    report.arithmetic = arithmetic(native, exact)
    if report.arithmetic is None or report.arithmetic <= ROUNDS_ALIKE:
        return report
    own = settle(plans, native, native, reference, dtype)
    if own.max_abs_diff > own.tolerance.fault / 3:  # as large as a fault: a bug that only this dtype shows
        own.arithmetic = report.arithmetic
        own.notes.append("equal in float64: look for what is done in this dtype only")
        return own
    report.verdict = "rounding"
    times = f"{report.arithmetic:.1f} times as much as the uncached"
    report.summary = f"Equal in float64; in {dtype} the cached path rounds {times}."
    return report


def settle(plans, played, native, reference, dtype):
    """A report on the scripts as they were `played` against `reference`, at the tolerance measured on it."""
    tolerance = remembered(reference, "tolerance", lambda: measure(reference))
    results = [judge(r, plan, tolerance.value) for r, plan in zip(played, plans)]
    broken = [r for r, plan in zip(native, plans) if r.status != "not exercised" and r.problem and not refused(r, plan)]
    report = Report(*verdict(results, broken, tolerance, dtype), dtype, largest(results), tolerance, results, native)
    report.logic = "float64" if reference.dtype == torch.float64 else f"{dtype} as it is (no float64 run)"
    report.first = next(((r.name, *r.first) for r in results if r.differs), None)
    return report


def verdict(results, broken, tolerance, dtype):
    """(verdict, summary in words) from the judged results; `broken` are those that broke off in the dtype as it runs."""
    differing, errors = [r for r in results if r.differs], [r for r in results if r.status == "error"]
    if differing:
        first, sure = differing[0], tolerance.separates or largest(results) > tolerance.fault
        words = f"{first.name}: from step {first.first[0]} on, by {max(first.diffs):.3g} (row {first.first[1]})."
        return "differs" if sure else "inconclusive", words
    if broken or errors:
        worst = (broken or errors)[0]
        return "error in the decoder", f"{worst.name}: {worst.problem}."
    if all(r.status == "not exercised" for r in results):
        return "error in the decoder", f"nothing could be run: {results[0].problem}."
    if not tolerance.separates:
        hidden = f"rounding ({tolerance.null:.1e}) hides bugs as large as {tolerance.fault:.1e}"
        return "inconclusive", f"in {dtype} {hidden}."
    return "equal", f"All {sum(r.status == 'equal' for r in results)} scripts agree, to {largest(results):.1e}."


def largest(results):
    return max((d for r in results for d in r.diffs), default=0.0)


def short(dtype):
    return str(dtype).removeprefix("torch.")


def arithmetic(native, exact):
    """The paired ratio in the dtype as it runs: how far cached is from float64, in units of how far uncached is."""
    cached, uncached = [], []
    for n, e in zip(native, exact):
        for mine, plain, right in zip(n.logits, n.right, e.right):
            cached.append((mine.double() - right).square().mean())
            uncached.append((plain.double() - right).square().mean())
    noise = float(torch.stack(uncached).mean()) if uncached else 0.0
    return (float(torch.stack(cached).mean()) / noise) ** 0.5 if noise > 0 else None


def describe(report, plans, build, reference, exact_reference, exact_build, seed):
    """Everything beyond the verdict: suspects, sensitivity, probes without a tolerance, the shortest case."""
    deciding, make = (exact_reference, exact_build) if report.logic == "float64" else (reference, build)
    expected_rows(report, plans, deciding)
    if not report.native[0].problem:
        probes.determinism(report, plans[0], build)
    if hasattr(deciding, "forward"):
        if report.verdict in ("differs", "inconclusive") and report.first:
            name_it(report, plans, deciding, make)
        sensitivity(report, plans, deciding)
    if getattr(reference, "specification", None) and report.verdict in ("differs", "unknown pattern"):
        report.verdict, report.summary = "different by specification", reference.specification
    if not report.native[0].problem:  # what broke off in the plain script gives nothing to probe
        probes.other_rows(report, plans[0], build)
        probes.pads(report, next(p for p in plans if p.name == "left padding"), build)
        probes.free_run(report, plans[0], build, reference)
    report.summary = report.summary or VERDICTS[report.verdict][1]
    if report.verdict in ("differs", "unknown pattern") and report.first:
        report.test = shortest(report, plans, make, deciding)


def expected_rows(report, plans, reference):
    if not hasattr(reference, "forward"):
        return
    for result, plan in zip(report.results, plans):
        if result.rows and result.rows[0] is not None:
            result.expected_rows = replays(reference).run(plan, {})


def capacities(reference, decoder):
    found = {trait(decoder, "capacity"), reference.block_size}
    return sorted(c for c in found if c)


def name_it(report, plans, reference, make):
    """Suspects by witness; rounding is told apart from bugs here, by the storage that reproduces the numbers."""
    ran = [(plan, r) for plan, r in zip(plans, report.results) if r.logits]
    matches = diagnose(
        reference,
        [p for p, _ in ran],
        {r.name: r for _, r in ran},
        report.tolerance.value,
        capacities(reference, make()),
    )
    if matches and all(m.hypothesis.family == "rounding" for m in matches):
        report.verdict, report.suspects = "rounding", []
        report.summary = (
            f"{matches[0].hypothesis.words}: this alone reproduces the logits "
            f"(they differ by at most {report.max_abs_diff:.1e})."
        )
        return
    if matches:
        report.verdict = "differs"
        report.suspects = [suspect(m) for m in matches]
    elif report.verdict == "differs" and report.max_abs_diff < report.tolerance.fault / 3:
        report.verdict = "inconclusive"
        report.summary += " Smaller than any injected fault, and no known storage format reproduces it."
    elif report.verdict == "differs":
        report.verdict = "unknown pattern"


def suspect(match):
    h = match.hypothesis
    looks = [BUGS[f].look for f in h.fault.split(" + ")]
    return Suspect(h.fault, h.family, h.words, "; ".join(looks), match.residual, match.where)


def assert_cached_equals_uncached(decoder, reference=None, **options):
    """One assertion for anyone's tests: passes for equal and for rounding, else fails with the report as its message."""
    report = audit(decoder, reference, **options)
    if not report.ok:
        raise AssertionError(str(report))
    return report
