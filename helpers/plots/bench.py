"""The benchmark's picture: milliseconds per token and speed-up against length, the blog's three points beside ours."""

from ..bench import findings
from ..bench.limits import BLOG
from ..bench.run import key
from ..bench.table import moving
from ..bench.variants import BUFFER, DYNAMIC, LIBRARY_LOOP, LOOP
from .curves import STYLES, Plot, canvas, label_ends


def curves(bench):
    """A `Plot` of a `Bench`. Raises ValueError where no step was timed."""
    if bench.steps is None:
        raise ValueError("there is nothing to draw: the measurement ended before a step was timed")
    figure, [left, right] = canvas(12, 4, 2)
    draw(left, milliseconds(bench), "ms per token")
    draw(right, speedups(bench), "speed-up, times")
    figure.suptitle(title(bench), fontsize=12)
    alt = (
        "Left: milliseconds per token against length, with the limit that the memory sets; lines with a cache rise little, "
        "lines without one steeply. Right: the speed-up, ours, the limit's and the blog's."
    )
    header = [f"{name}, ms" for name in milliseconds(bench)] + [f"speed-up, {name}" for name in speedups(bench)]
    plot = Plot(figure, title(bench), alt, ["length", *header])
    plot.rows = [[n, *(value(line, n) for line in all_lines(bench))] for n in bench.plan.lengths]
    return plot


def all_lines(bench):
    return [*milliseconds(bench).values(), *speedups(bench).values()]


def value(line, length):
    x, y = line
    return moving(y[x.index(length)]) if length in x else "–"


def title(bench):
    long, short = bench.plan.lengths[-1], bench.plan.lengths[0]
    grown = findings.growth(bench)[0] if long > short else None
    if not grown:
        return f"Milliseconds per token at length {long}"
    loops = [findings.baseline(bench, n) for n in (long, short)]
    without = (
        f", {moving(bench.loops.ms(loops[0]) / bench.loops.ms(loops[1]), 2)} times without one" if all(loops) else ""
    )
    return f"A token at {long} costs {moving(grown, 2)} times one at {short} with a cache{without}"


def milliseconds(bench):
    """`{name: (lengths, ms)}` of what was timed, and the limit."""
    found = {}
    for name, timings in (
        (BUFFER, bench.steps),
        (DYNAMIC, bench.steps),
        (LOOP, bench.loops),
        (LIBRARY_LOOP, bench.loops),
    ):
        x = [n for n in bench.plan.lengths if timings and key(name, n) in timings.variants]
        if x:
            found[name] = x, [timings.ms(key(name, n)) for n in x]
    lengths = list(bench.plan.lengths)
    return found | {"limit": (lengths, [findings.limit_ms(bench, n) for n in lengths])}


def speedups(bench):
    """`{name: (lengths, times)}`: ours and the limit's where the loops were timed, and the blog's."""
    lengths = list(bench.plan.lengths)
    found = {"ours": findings.speedup, "limit": findings.speedup_limit}
    series = {name: (lengths, [find(bench, n) for n in lengths]) for name, find in found.items()}
    measured = {name: line for name, line in series.items() if None not in line[1]}
    return measured | {"the blog's": (list(BLOG), [times for _, _, times in BLOG.values()])}


def draw(axis, series, ylabel):
    axis.set(xlabel="length (tokens)", ylabel=ylabel, xscale="log", yscale="log")
    for (x, y), (color, marker) in zip(series.values(), STYLES):
        axis.plot(x, y, color=color, marker=marker, markersize=5, fillstyle="none", linewidth=1.2)
    ticks = sorted({n for x, _ in series.values() for n in x})
    axis.set_xticks(ticks, [str(n) for n in ticks])
    axis.xaxis.minorticks_off()
    axis.yaxis.minorticks_off()
    axis.yaxis.get_major_locator().set_params(subs=(1, 2, 5))
    axis.yaxis.set_major_formatter(lambda number, _: f"{number:g}")
    label_ends(axis, series)
    axis.spines[["top", "right"]].set_visible(False)
