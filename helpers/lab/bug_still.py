"""The bug lab's still picture, for readers without a kernel: both notes and the trace, as one PNG."""

import textwrap

from ..figures import approx
from ..plots.curves import BLACK, BLUE, FLOOR, RED, Plot
from .bug_view import sentence


def still(report):
    """PNG bytes of a `LabReport`: wrong values stand between crosses, wrong steps are squares."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.6), layout="constrained")
    axes = figure.subplot_mosaic([["oracle", "cached"], ["trace", "trace"]], height_ratios=[1, 1.2])
    write(axes["oracle"], "Oracle (no cache)", report.oracle_note, report.oracle_fields)
    write(axes["cached"], f"Cached, {report.title}", report.note, report.fields)
    draw(axes["trace"], report)
    return Plot(figure, report.title, sentence(report)).png()


def write(axis, title, note, fields):
    axis.axis("off")
    axis.set_title(title, loc="left", fontsize=11, fontweight="bold")
    lines = [textwrap.fill(line, 52) for line in marked(note, fields).split("\n")]
    axis.text(
        0, 1, "\n".join(lines), va="top", fontsize=10, linespacing=1.5, transform=axis.transAxes, parse_math=False
    )


def marked(note, fields):
    """The note with a cross before and behind each wrong value."""
    for value in sorted(fields.wrong, key=lambda value: -value.start):
        note = f"{note[: value.start]}✗{value.found}✗{note[value.end :]}"
    return note


def draw(axis, report):
    values = [max(value, FLOOR) for value in report.table.differences]
    for above, color, marker in ((False, BLUE, "o"), (True, RED, "s")):
        steps = [step for step, value in enumerate(values) if (value > report.tolerance) == above]
        axis.plot(steps, [values[s] for s in steps], marker, color=color, fillstyle="none" if marker == "o" else "full")
    for words, value, style in (("tolerance", report.tolerance, "--"), ("floor", report.floor, ":")):
        axis.axhline(value, color=BLACK, linestyle=style, linewidth=1)
        axis.annotate(f"{words} {approx(value)}", (0, value), (2, 3), textcoords="offset points", fontsize=9)
    axis.set(yscale="log", xlabel="step (0 is the prefill)", ylabel="largest logits difference", ylim=(1e-7, 1e2))
    axis.spines[["top", "right"]].set_visible(False)
