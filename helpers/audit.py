"""The audit: prove that a cached decoder computes what the uncached model computes, or say which bug it has.

    report = audit(decoder)              # the course's decoder, or any object with prefill and decode
    report = audit(decoder, reference)   # with an uncached forward of one's own (see reference.py)

Logic first: everything runs in float64, where a correct cache agrees to the last digits and the smallest bug does not.
Arithmetic second, in the dtype as it runs. Logits decide; rows, lengths and text only explain.
"""

import copy
import time
from dataclasses import replace

import torch
from torch import nn

from . import probes
from .diagnosis import diagnose
from .faults import CATALOGUE
from .hypotheses import catalogue
from .inputs import Unmade, check_decoder, check_prompt
from .reference import MiniGPTReference
from .report import VERDICTS, Report, Result, Suspect
from .scripts import expected, missing, run, scripts
from .shrink import shortest
from .tolerance import measure
from .witness import Witness


def audit(decoder, reference=None, *, prompt=None, tokens=None, seed=0, float64=True, explain=True):
    """Audit a decoder and return a `Report`; never raises for what the decoder does.

    decoder: duck-typed (see decoding.py), or a function that makes one from a model. reference: duck-typed (see
    reference.py); found from `decoder.model` where left out. prompt `[B, T0]`, tokens `[B, n]` (int64): fed in the main
    script instead of random ones. float64=False judges in the dtype as it is only. explain=False stops at the verdict.
    """
    began = time.perf_counter()
    check_decoder(decoder)
    reference = reference or reference_for(decoder)
    check_prompt(reference, prompt, tokens)
    build = builder(decoder, reference)
    capacity = trait(build(), "capacity")
    plans = scripts(
        min(reference.block_size, capacity or reference.block_size),
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


def reference_for(decoder):
    """The reference of the model that a decoder holds; ValueError in words where there is none to find."""
    model = getattr(decoder, "model", None)
    if hasattr(model, "blocks"):
        return MiniGPTReference(model, trait(decoder, "window"))
    if hasattr(model, "get_input_embeddings"):
        from .hf import HFReference  # only now: transformers is no requirement of the course

        return HFReference(model)
    raise ValueError(
        f"{type(decoder).__name__} has no .model that the audit knows; pass reference=, an object with logits(tokens), "
        "vocab_size, block_size, dtype and device (helpers/reference.py says what each must give)"
    )


def trait(decoder, name):
    """`window` or `capacity` of a decoder, or of the cache that it makes; None where it has none."""
    found = getattr(decoder, name, None)
    if found is None and callable(getattr(decoder, "new_cache", None)):
        found = getattr(decoder.new_cache(), name, None)
    return found if isinstance(found, int) else None


def builder(decoder, reference):
    """A function that gives a fresh decoder each time: what one script leaves behind must not reach the next."""
    if isinstance(decoder, type) or not hasattr(decoder, "prefill"):
        return lambda: made(decoder, reference.model)
    pristine = fresh(decoder)
    return lambda: fresh(pristine)


def made(maker, model):
    try:
        return maker(model)
    except Exception as error:  # noqa: BLE001 - the report says so
        return Unmade(error)


def fresh(decoder):
    """A copy with the same weights and its own caches."""
    try:
        return copy.deepcopy(decoder, {id(p): p for m in modules(decoder) for p in m.parameters()})
    except Exception:  # noqa: BLE001 - it holds something that cannot be copied: go on with the one there is
        return decoder


def modules(decoder):
    return (
        [value for value in vars(decoder).values() if isinstance(value, nn.Module)]
        if hasattr(decoder, "__dict__")
        else []
    )


def in_float64(reference, build):
    """(reference, builder) in float64, or None where the decoder cannot be converted."""
    if reference.dtype == torch.float64:
        return reference, build
    if not hasattr(reference, "double"):
        return None
    decoder = build()
    exact = remembered(reference, "float64", reference.double)
    if exact is None:  # the model's kernels know no float64
        return None
    if callable(getattr(decoder, "double", None)):
        twin = decoder.double()
    elif hasattr(decoder, "__dict__") and any(holds_floats(v) for v in vars(decoder).values()):
        twin = copy.copy(decoder)
        for name, value in vars(decoder).items():
            setattr(
                twin,
                name,
                exact.model
                if value is getattr(reference, "model", value) and isinstance(value, nn.Module)
                else upcast(value),
            )
    else:
        return None
    return exact, lambda: fresh(twin)


def holds_floats(value):
    if isinstance(value, dict):
        return any(holds_floats(v) for v in value.values())
    if isinstance(value, (list, tuple)):
        return any(holds_floats(v) for v in value)
    return isinstance(value, nn.Module) or (isinstance(value, torch.Tensor) and value.is_floating_point())


def upcast(value):
    """float64 copies of the modules and tensors in a value; anything else as it is."""
    if isinstance(value, nn.Module):
        return copy.deepcopy(value).double()
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    if isinstance(value, dict):
        return {k: upcast(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(upcast(v) for v in value)
    return value


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
        result.status, result.problem = (
            "error",
            "a token past the last position was accepted; it must be refused in words",
        )
    else:
        result.status, result.problem = "equal", None
    return result


def decide(plans, native, reference, exact_reference, exact_build):
    """The verdict, before anything is explained: float64 where there is one, the dtype as it is otherwise."""
    broken = next(
        (r for r, p in zip(native, plans) if r.status != "not exercised" and r.problem and not refused(r, p)), None
    )
    exact = exact_reference and [play(plan, exact_build, exact_reference) for plan in plans]
    if exact and any(e.problem and len(e.logits) < len(n.logits) for e, n in zip(exact, native)):
        exact = None  # it cannot run in float64 what it runs in its own dtype
    deciding = exact_reference if exact else reference
    tolerance = remembered(deciding, "tolerance", lambda: measure(deciding))
    results = [judge(r, plan, tolerance.value) for r, plan in zip(exact or native, plans)]
    logic = (
        "float64"
        if exact or reference.dtype == torch.float64
        else f"{short(reference.dtype)} as it is (no float64 run)"
    )
    largest = max((d for r in results for d in r.diffs), default=0.0)
    report = Report("equal", "", short(reference.dtype), largest, tolerance, results, logic=logic)
    differing = [r for r in results if r.differs]
    if differing:
        worst = differing[0]
        report.first = (worst.name, *worst.first)
        report.verdict = "differs" if tolerance.separates or largest > tolerance.fault else "inconclusive"
        report.summary = (
            f"{worst.name}: from step {worst.first[0]} on, by {max(worst.diffs):.3g} (row {worst.first[1]})."
        )
    elif broken or any(r.status == "error" for r in results):
        broken = broken or next(r for r in results if r.status == "error")
        report.verdict, report.summary = "error in the decoder", f"{broken.name}: {broken.problem}."
    elif all(r.status == "not exercised" for r in results):
        report.verdict, report.summary = "error in the decoder", f"nothing could be run: {results[0].problem}."
    elif not tolerance.separates:
        report.verdict = "inconclusive"
        report.summary = (
            f"in {report.dtype} rounding ({tolerance.null:.1e}) hides bugs as large as {tolerance.fault:.1e}."
        )
    else:
        report.summary = f"All {sum(r.status == 'equal' for r in results)} scripts agree, to {largest:.1e}."
    if exact and report.verdict == "equal" and exact_reference is not reference:
        arithmetic(report, native, exact)
    report.native = native
    return report


def short(dtype):
    return str(dtype).removeprefix("torch.")


def arithmetic(report, native, exact):
    """The paired ratio in the dtype as it runs: how far cached and uncached each are from float64."""
    cached, uncached = [], []
    for n, e in zip(native, exact):
        for mine, plain, right in zip(n.logits, n.right, e.right):
            cached.append((mine.double() - right).square().mean())
            uncached.append((plain.double() - right).square().mean())
    noise = float(torch.stack(uncached).mean()) if uncached else 0.0
    if noise > 0:
        report.arithmetic = (float(torch.stack(cached).mean()) / noise) ** 0.5
        if report.arithmetic > 3:
            report.verdict = "rounding"
            report.summary = f"Equal in float64; in {report.dtype} the cached path rounds {report.arithmetic:.1f} times as much as the uncached."


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
        probes.free_run(report, plans[0], build, reference)
    report.summary = report.summary or VERDICTS[report.verdict][1]
    if report.verdict in ("differs", "unknown pattern"):
        report.test = shortest(report, plans, make, deciding)


def expected_rows(report, plans, reference):
    if not hasattr(reference, "forward"):
        return
    for result, plan in zip(report.results, plans):
        if result.rows and result.rows[0] is not None:
            result.expected_rows = run(plan, Witness(reference)).rows


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
        report.summary = f"{matches[0].hypothesis.words}: this alone reproduces the logits (they differ by at most {report.max_abs_diff:.1e})."
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
    looks = [CATALOGUE[f].look for f in h.fault.split(" + ") if f in CATALOGUE] or [h.words]
    return Suspect(h.fault, h.family, h.words, "; ".join(looks), match.residual, match.where)


def remembered(reference, key, compute):
    """What was measured on a reference before: a table of many audits against one reference measures it once."""
    known = reference.__dict__.setdefault("measured", {})
    if key not in known:
        known[key] = compute()
    return known[key]


def sensitivity(report, plans, reference):
    """How many known bugs, injected into this model, these scripts would have shown, and which not."""
    ran = [p for p, r in zip(plans, report.results) if r.status != "not exercised" and not p.ends]
    key = str(
        [[c.kind, c.value.tolist() if isinstance(c.value, torch.Tensor) else c.value] for p in ran for c in p.calls]
    )
    seen = remembered(reference, key, lambda: injected(ran, reference, report.tolerance.value))
    missed = [fault for fault, shown in seen.items() if not shown]
    report.caught, report.injected = len(seen) - len(missed), len(seen)
    report.unseen = missed


def injected(plans, reference, tolerance):
    """{fault: does any script show it?}, the cheapest scripts first."""
    plans = sorted(plans, key=lambda p: sum(c.value.numel() for c in p.calls if isinstance(c.value, torch.Tensor)))
    right = {p.name: expected(reference, p) for p in plans}
    seen = {}
    for h in catalogue(reference):
        if h.family != "rounding" and not seen.get(h.fault):
            seen[h.fault] = any(shows(h, p, reference, right[p.name], tolerance) for p in plans)
    return seen


def shows(hypothesis, plan, reference, right, tolerance):
    found = False

    def watch(step, logits):
        nonlocal found
        found = step < len(right) and float((logits.double() - right[step].double()).abs().max()) > tolerance
        return found

    run(plan, Witness(reference, hypothesis.rules), watch=watch)
    return found


def assert_cached_equals_uncached(decoder, reference=None, **options):
    """One assertion for anyone's tests: passes for equal and for rounding, else fails with the report as its message."""
    report = audit(decoder, reference, **options)
    if not report.ok:
        raise AssertionError(str(report))
    return replace(report)
