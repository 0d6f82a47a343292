"""Figures of speed: the blog's table against its card, milliseconds and speed-up, the roofline, the parts of a step.

As in `plots`: the title says the finding, a table under it holds the numbers.
"""

import itertools

from ..bench import BLOG, SHAPES, limit_ms, step_flops
from ..bench.spans import OWN_WORDS, PARTS
from ..figures import approx
from .bench import draw
from .curves import BLACK, BLUE, GREEN, ORANGE, RED, STYLES, Plot, canvas

CARD_BYTES, CARD_FLOPS = 936e9, 35.6e12  # GeForce RTX 3090, a second, as its maker gives them (float32)
MARKS = dict(zip(PARTS, ((BLUE, ""), (ORANGE, "//"), (RED, "xx"), (GREEN, ".."))))


class Table:
    """Figures that move, as a table: columns that spaces align would move with them."""

    def __init__(self, header, rows):
        self.header, self.rows = header, rows

    def __repr__(self):
        return "\n".join(" | ".join(map(str, row)) for row in [self.header, *self.rows])

    def _repr_html_(self):
        return Plot(None, "", "", self.header, self.rows).table()


def blog_against_card():
    """The blog's milliseconds per token beside what its card needs for the bytes and operations of GPT-2's shape."""
    config, lengths = SHAPES["gpt2"], list(BLOG)
    least = {
        "card's limit, without": [1e3 * step_flops(config, n, n) / CARD_FLOPS for n in lengths],
        "card's limit, with": [limit_ms(config, n, CARD_BYTES) for n in lengths],
    }
    told = {"blog, without": [BLOG[n][0] for n in lengths], "blog, with": [BLOG[n][1] for n in lengths]}
    figure, [axis] = canvas(7.5, 3.6)
    draw(axis, {name: (lengths, ms) for name, ms in (told | least).items()}, "ms per token")
    times = told["blog, with"][-1] / least["card's limit, with"][-1]
    title = f"At 1,024 tokens the blog's cached step takes {times:.0f} times what its card needs"
    axis.set_title(title, fontsize=12, loc="left")
    alt = (
        "Four lines over the length: the blog's two lie far above the two that its card's memory and arithmetic allow, "
        "and the gap grows with the length."
    )
    rows = [[n, *(f"{ms[i]:.3g}" for ms in (told | least).values())] for i, n in enumerate(lengths)]
    return Plot(figure, title, alt, ["length", *(f"{name} (ms)" for name in told | least)], rows)


def curves(ms, speedups):
    """ms per token `{name: {length: ms}}` and speed-ups `{name: {length: times}}` over the length, the blog's beside them."""
    speedups = speedups | {"the blog's": {n: times for n, (_, _, times) in BLOG.items()}}
    figure, axes = canvas(12, 4, 2)
    for axis, series, ylabel in zip(axes, (ms, speedups), ("ms per token", "speed-up, times")):
        draw(axis, {name: (list(line), list(line.values())) for name, line in series.items()}, ylabel)
    lengths = sorted(next(iter(ms.values())))
    first = next(iter(speedups.values()))
    short, long = lengths[0], lengths[-1]
    grown = f"grows {approx(first[long] / first[short], '×')}"
    title = f"From {short} to {long} tokens the speed-up {grown}, the blog's {BLOG[1024][2] / BLOG[64][2]:.0f} ×"
    figure.suptitle(title, fontsize=12)
    alt = (
        "Left: milliseconds per token against length, a line that rises without a cache and a nearly flat one with it. "
        "Right: speed-up against length, ours and the blog's."
    )
    named = ms | speedups
    rows = [[n, *(approx(line[n]) if n in line else "–" for line in named.values())] for n in lengths]
    header = ["length", *(f"{name} (ms)" for name in ms), *(f"{name} (×)" for name in speedups)]
    return Plot(figure, title, alt, header, rows)


def roofline(points, bandwidth, flops):
    """Where computations `{name: (operations, bytes, seconds)}` stand under this machine's roof: GFLOP/s over FLOP/byte."""
    figure, [axis] = canvas(8, 4)
    intensities = [done / read for done, read, _ in points.values()]
    xs = [0.1, flops / bandwidth, 1e4]
    axis.plot(xs, [min(x * bandwidth, flops) / 1e9 for x in xs], color=BLACK, linewidth=1.5)
    axis.annotate("what memory and cores allow", (xs[-1], flops / 1e9), (0, 5), textcoords="offset points", ha="right")
    rows = []
    below = itertools.cycle(
        (3, -4, -13, -13)
    )  # points at the left stand on each other, those at the right under the roof
    for ((name, (done, _, seconds)), x), (color, marker) in zip(zip(points.items(), intensities), STYLES):
        y, roof = done / seconds / 1e9, min(x * bandwidth, flops) / 1e9
        axis.plot([x], [y], color=color, marker=marker, markersize=9, fillstyle="none", linestyle="none")
        axis.annotate(name, (x, y), (9, next(below)), textcoords="offset points", fontsize=9)
        rows.append([name, approx(x), approx(y, "GFLOP/s"), approx(roof, "GFLOP/s"), approx(100 * y / roof, "%")])
    axis.set(xscale="log", yscale="log", xlabel="operations per byte read", ylabel="GFLOP/s")
    axis.set_ylim(top=2 * flops / 1e9)
    axis.spines[["top", "right"]].set_visible(False)
    title = "A cached step waits for the memory, a pass without a cache for the cores"
    axis.set_title(title, fontsize=12, loc="left")
    alt = (
        "A roof that rises with the operations per byte and then stays level; the cached steps stand at its left, under "
        "the slope, the passes without a cache at its right, under the level part."
    )
    return Plot(figure, title, alt, ["", "operations per byte", "reached", "allowed", "share"], rows)


def parts(splits, title):
    """Bars of a step's parts: `{name: {part: ms}}`."""
    figure, [axis] = canvas(8, 0.45 * len(splits) + 1.6)
    names, left = list(splits), [0.0] * len(splits)
    for part in PARTS:
        widths = [splits[name].get(part, 0.0) for name in names]
        color, hatch = MARKS[part]
        axis.barh(
            names, widths, left=left, color=color, hatch=hatch, edgecolor="white", label=OWN_WORDS.get(part, part)
        )
        left = [a + b for a, b in zip(left, widths)]
    axis.invert_yaxis()
    axis.set_xlabel("ms per token")
    axis.legend(loc="upper center", bbox_to_anchor=(0.45, -0.25), ncols=len(PARTS), frameon=False, fontsize=9)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_title(title, fontsize=12, loc="left")
    alt = "One bar a cache and length, in four parts: the cache's writes grow with the length for the concatenated cache alone."
    rows = [[name, *(approx(split.get(part, 0.0)) for part in PARTS)] for name, split in splits.items()]
    return Plot(figure, title, alt, ["ms of", *(OWN_WORDS.get(part, part) for part in PARTS)], rows)
