"""A report as a picture. matplotlib is an extra: kvaudit[plot]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..judge import Result

if TYPE_CHECKING:
    from .report import Report

COLORS, MARKS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#000000"), "os^Dx"  # Okabe and Ito's
FLOOR = 1e-17  # where an exact 0 is drawn on a log axis
LINES = len(MARKS)


def worst(report: Report) -> list[Result]:
    """The scripts that are drawn: those with the largest differences."""
    return sorted((r for r in report.results if r.diffs), key=lambda r: -max(r.diffs))[:LINES]


def figure(report: Report) -> Any:
    """Largest difference in the logits against the step, one line a script (the five worst), and the tolerance."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8, 4), layout="constrained")
    axis = drawn.subplots()
    for result, color, mark in zip(worst(report), COLORS, MARKS):
        axis.plot([max(d, FLOOR) for d in result.diffs], color=color, marker=mark, fillstyle="none", label=result.name)
    axis.axhline(report.tolerance.value, color="grey", linestyle="--", label="tolerance")
    axis.set(yscale="log", xlabel="step (0: prefill)", ylabel="largest difference in the logits")
    axis.set_title(f"{report.verdict}. {report.summary}", fontsize=10, wrap=True)
    axis.legend(fontsize=8)
    return drawn
