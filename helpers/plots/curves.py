"""Figures of the lessons. Each says its finding in its title and has its numbers as a table under it.

Drawn with `matplotlib.figure.Figure`, which no global list keeps alive. Colours are Okabe and Ito's; marks and end-of-line
labels say the same without colour.
"""

import io
from dataclasses import dataclass, field
from html import escape

from ..figures import approx

BLUE, ORANGE, GREEN, RED, BLACK = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#000000"
FLOOR = 1e-8  # where an exact 0 is drawn on a log axis
STYLES = [(BLUE, "o"), (RED, "s"), (GREEN, "^"), (ORANGE, "D"), (BLACK, "x")]


@dataclass
class Plot:
    """A figure with its `title` (the finding), `alt` (what can be seen) and numbers: a `header` and `rows` of strings."""

    figure: object
    title: str
    alt: str
    header: list = field(default_factory=list)
    rows: list = field(default_factory=list)

    def png(self):
        file = io.BytesIO()
        self.figure.savefig(file, format="png", dpi=110, bbox_inches="tight", metadata={"Software": None})
        return file.getvalue()

    def __repr__(self):
        lines = [f"{self.title}. {self.alt}", *(" | ".join(map(str, row)) for row in [self.header, *self.rows] if row)]
        return "\n".join(lines)

    def table(self):
        if not self.rows:
            return ""
        head = "".join(f"<th>{escape(str(cell))}</th>" for cell in self.header)
        body = "".join("<tr>" + "".join(f"<td>{escape(str(c))}</td>" for c in row) + "</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _ipython_display_(self):
        from IPython.display import display

        display({"image/png": self.png(), "text/plain": f"{self.title}. {self.alt}"}, raw=True)
        if self.rows:
            display({"text/html": f"<p>{escape(self.alt)}</p>{self.table()}", "text/plain": repr(self)}, raw=True)


def canvas(width, height, columns=1):
    """A new figure and its axes (a list)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def kv_work(prompt_length, steps):
    """Which K/V rows each step computes (squares) or reads from the cache (dots), without and with a cache."""
    last = prompt_length + steps
    figure, axes = canvas(8, 0.3 * steps + 1.9, 2)
    for axis, cached in zip(axes, (False, True)):
        for step in range(steps + 1):
            rows = prompt_length + step
            first = rows - 1 if cached and step else 0  # the first row that this step computes
            axis.scatter(range(first, rows), [step] * (rows - first), marker="s", s=75, color=ORANGE)
            axis.scatter(range(first), [step] * first, marker=".", s=30, color=BLUE)
        axis.set(xlabel="position of the K/V row", xlim=(-0.7, last - 0.3), ylim=(steps + 0.6, -0.6))
        axis.set_title("with a cache" if cached else "without a cache", fontsize=10)
        axis.set_yticks(range(steps + 1), ["prefill", *map(str, range(1, steps + 1))] if not cached else [])
    axes[0].set_ylabel("step")
    uncached = sum(range(prompt_length, last + 1))
    title = f"A cache computes {last} K/V rows where {uncached} are computed without one"
    figure.suptitle(title, fontsize=12)
    alt = (
        "Squares are computed, dots are read from the cache: without a cache a growing block, with one a thin diagonal."
    )
    return Plot(figure, title, alt)


def lines(series, title, xlabel, ylabel, alt, log=False, guide=None):
    """Lines `{name: (x values, y values)}` labelled at their ends; `guide` is (y, words) of a horizontal dashed line."""
    figure, [axis] = canvas(7, 3.4)
    axis.set(xlabel=xlabel, ylabel=ylabel, yscale="log" if log else "linear")
    for (_, (x, y)), (color, marker) in zip(series.items(), STYLES):
        axis.plot(x, y, color=color, marker=marker, markersize=4, fillstyle="none", linewidth=1.2)
    label_ends(axis, series)
    if guide:
        axis.axhline(guide[0], color=BLACK, linestyle="--", linewidth=1)
        axis.annotate(guide[1], (0, guide[0]), (2, 3), textcoords="offset points", fontsize=9)
    axis.set_title(title, fontsize=12, loc="left")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.spines[["top", "right"]].set_visible(False)
    return Plot(figure, title, alt)


def label_ends(axis, series, gap=0.07):
    """Each line's name at its right end, pushed up where two would overlap (`gap` is a share of the axis' height)."""
    axis.get_ylim()  # asks for the limits, which are settled only on demand
    to_share = axis.transScale + axis.transLimits  # data -> share of the axes
    ends = sorted((to_share.transform((x[-1], y[-1]))[1], i, name) for i, (name, (x, y)) in enumerate(series.items()))
    free = 0.0
    for height, i, name in ends:
        free = max(height, free)
        color = STYLES[i][0]
        axis.annotate(name, (1.01, free), xycoords="axes fraction", color=color, va="center", fontsize=9)
        free += gap


def trace(differences, tolerance, what="decoders"):
    """Largest logits difference per step, `{decoder: [one a step]}`, on a log axis with the tolerance line."""
    series = {name: (range(len(values)), [max(v, FLOOR) for v in values]) for name, values in differences.items()}
    beyond = {name: [s for s, v in enumerate(values) if not v <= tolerance] for name, values in differences.items()}
    wrong = [name for name, steps in beyond.items() if steps]
    title = f"{len(wrong)} of {len(differences)} {what} leave the oracle, each at its first wrong step"
    alt = "; ".join(
        f"{name}: {f'beyond it from step {s[0]} on' if s else 'below the tolerance'}" for name, s in beyond.items()
    )
    guide = tolerance, f"tolerance {approx(tolerance)}"
    plot = lines(series, title, "step (0 is the prefill)", "largest logits difference", alt, log=True, guide=guide)
    plot.header = [what.removesuffix("s"), "first wrong step", "largest difference"]
    plot.rows = [[name, (beyond[name] or ["none"])[0], approx(max(v))] for name, v in differences.items()]
    return plot


def masks(named, kept, title, alt):
    """Boolean masks `{name: [T, S]}` side by side: squares may be attended, dots are hidden, the last `kept` rows are outlined."""
    from matplotlib.patches import Rectangle

    height = max(len(mask) for mask in named.values())
    figure, axes = canvas(max(4.2, 0.34 * sum(m.shape[1] for m in named.values()) + 1), 0.3 * height + 1.5, len(named))
    for axis, (name, mask) in zip(axes, named.items()):
        T, S = mask.shape
        for visible, marker, size, color in ((True, "s", 110, BLUE), (False, ".", 20, BLACK)):
            queries, keys = (mask == visible).nonzero(as_tuple=True)
            axis.scatter(keys.tolist(), queries.tolist(), marker=marker, s=size, color=color)
        if kept:
            axis.add_patch(Rectangle((-0.5, T - kept - 0.5), S, kept, fill=False, edgecolor=RED, linewidth=2.5))
        axis.set(xlim=(-0.8, S - 0.2), ylim=(T - 0.3, -0.8), xlabel="key", aspect="equal")
        axis.set_xticks(range(S))
        axis.set_yticks(range(T))
        axis.set_title(name, fontsize=10)
    axes[0].set_ylabel("query, by its position" if kept else "query")
    figure.suptitle(title, fontsize=12)
    return Plot(figure, title, alt)


def visible_ranges(mask):
    """For each row of a boolean mask `[T, S]` of the newest T of S tokens: [query, position, keys seen, keys hidden], as words."""
    T, S = mask.shape
    return [[i, S - T + i, runs(row.tolist(), True), runs(row.tolist(), False)] for i, row in enumerate(mask)]


def runs(row, value):
    """Where a list holds `value`, as in "0-3, 6"; "none" if nowhere."""
    places = [i for i, item in enumerate(row) if item == value]
    starts = [i for i in places if i - 1 not in places]
    ends = [i for i in places if i + 1 not in places]
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends)) or "none"
