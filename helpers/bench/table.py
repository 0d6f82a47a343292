"""A `Bench` as Markdown. Every figure that moves has its `≈`."""

from . import findings
from .limits import BLOG, BLOG_DEVICE
from .memory import weight_bytes
from .peak import predicted
from .run import key
from .variants import VARIANTS

MISSING = "–"
CACHED = 64e6  # bytes that the last cache of a processor may hold


def moving(value, digits=3):
    """`≈ 28.4`: three significant digits; a dash for what was not measured."""
    if value is None:
        return MISSING
    text = f"{value:#.{digits}g}".rstrip(".") if abs(value) < 10**digits else f"{value:,.0f}"
    return f"≈ {text}"


def markdown_table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def markdown(bench):
    """The whole report."""
    parts = [heading(bench)]
    if bench.steps:
        parts += [machine(bench), "## Milliseconds per token", step_table(bench)]
    if bench.loops:
        parts += ["## Speed-up over no cache", speedup_table(bench), SPEEDUP_NOTE.format(device=BLOG_DEVICE)]
    if bench.steps:
        parts += ["## Goals", goal_table(bench)]
    if bench.memory:
        parts += ["## Memory", memory_table(bench), memory_note(bench)]
    parts += [f"Not timed: {name}: {words}." for name, words in bench.refused.items()]
    return "\n\n".join(parts)


def heading(bench):
    plan, equality = bench.plan, bench.equality
    lines = [f"# Decoding at the shape {plan.shape!r}, lengths {', '.join(map(str, plan.lengths))}"]
    if bench.partial:
        lines.append("**Partial**: interrupted; what follows is what was measured until then.")
    if equality:
        lines.append(
            f"Compared before timing, step by step on the same tokens with the float64 loop: rounding "
            f"{moving(equality.rounding, 2)}, tolerance {moving(equality.tolerance, 2)}, a decoder with a known bug "
            f"{moving(equality.bug, 2)}."
        )
    if bench.late:
        exact = max(d for name, d in bench.late.items() if VARIANTS[name].exact)
        lines.append(
            f"Compared after timing: the last timed steps differ from the loop without a cache by at most "
            f"{moving(exact, 2)}, where the weights have all their bits."
        )
    return "\n\n".join(lines)


def machine(bench):
    lines = [
        str(bench.setup),
        f"Bandwidth: {moving(findings.bandwidth(bench) / 1e9)} GB/s over the matrix × vector products of one token "
        f"({bench.probe_bytes['decode probe'] / 1e6:,.0f} MB); a plain sum reads "
        f"{moving(findings.stream_bandwidth(bench) / 1e9)} GB/s.",
        f"Medians of {bench.steps.rounds} rounds in turns, quartiles in brackets. {bench.steps.noise.words}",
    ]
    if weight_bytes(bench.plan.config) < CACHED:
        lines.append(
            "The weights of this shape fit a processor's cache: the limit that the memory sets says little here."
        )
    if bench.loops:
        lines.append(f"The loops without a cache: {bench.loops.rounds} rounds. {bench.loops.noise.words}")
    return "\n\n".join(lines)


def step_table(bench):
    lengths = bench.plan.lengths
    rows = []
    for v in VARIANTS.values():
        timings = bench.steps if v.cached else bench.loops
        if timings and all(key(v.name, n) in timings.variants for n in lengths):
            rows.append([v.name, *(cell(timings[key(v.name, n)]) for n in lengths), difference(bench, v.name)])
    limits = [f"{moving(findings.limit_ms(bench, n))} ({findings.step_bytes(bench, n) / 1e6:,.0f} MB)" for n in lengths]
    rows.append(["limit: bytes read / bandwidth", *limits, MISSING])
    return markdown_table(["", *(f"length {n}" for n in lengths), "largest logits difference"], rows)


def cell(timing):
    low, high = timing.quartiles
    return f"{moving(1e3 * timing.median)} ({moving(1e3 * low)} to {moving(1e3 * high)})"


def difference(bench, name):
    return moving(bench.equality.differences.get(name) if bench.equality else None, 2)


SPEEDUP_NOTE = (
    "Without a cache means the faster of our loop and the library's, logits of the last position only. The total is that "
    "of generating so many tokens from one; it is added up from the lengths timed, with straight lines between them. The "
    "blog's own figures are from another machine ({device})."
)


def speedup_table(bench):
    rows = []
    for n in bench.plan.lengths:
        loop, blog = findings.baseline(bench, n), BLOG.get(n)
        rows.append(
            [
                n,
                f"{moving(loop and bench.loops.ms(loop))}" + (f" ({loop.rpartition(' at ')[0]})" if loop else ""),
                moving(findings.speedup(bench, n)),
                moving(findings.speedup_limit(bench, n)),
                moving(findings.speedup_total(bench, n)),
                f"{blog[0]} / {blog[1]} = {blog[2]}" if blog else MISSING,
            ]
        )
    header = ["length", "ms without a cache", "speed-up", "at the limit", "total", "the blog's ms and speed-up"]
    return markdown_table(header, rows)


def goal_table(bench):
    answers = {None: "not measured", True: "met", False: "MISSED"}
    rows = [
        [g.words, g.length or "", moving(g.measured), f"{'≤' if g.most else '≥'} {g.bound:.3g}", answers[g.met]]
        for g in findings.goals(bench)
    ]
    return markdown_table(["", "length", "measured", "goal", ""], rows)


def memory_table(bench):
    def mb(value):
        return MISSING if value is None else f"{value / 1e6:,.1f}"

    rows = []
    for name, peak in bench.memory.items():
        own = moving(peak.own / 1e6) if peak.own is not None else "not measured"
        total = moving(peak.peak / 1e6) if peak.peak is not None else "not measured"
        rows.append([name, mb(peak.weights), mb(peak.rows), mb(peak.room), own, total])
    header = ["MB", "weights", "K/V in use", "K/V allocated", "peak beyond the libraries", "peak of the process"]
    return markdown_table(header, rows)


def memory_note(bench):
    weights, rows = predicted(bench.plan.config, bench.plan.lengths[-1])
    return (
        f"At length {bench.plan.lengths[-1]}, each variant in a process of its own; most of its tokens are fed at once, "
        f"so that the peak holds the activations of so long a prompt. Predicted by the formulas: weights "
        f"{weights / 1e6:,.1f} MB, K/V {rows / 1e6:,.1f} MB."
    )
