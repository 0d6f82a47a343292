"""The largest difference of each step as a chart in a page: a line, a colour and a mark for each script; and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING

from ..judge import Result
from .plot import worst

if TYPE_CHECKING:
    from .report import Report

WIDE, HIGH, LEFT, RIGHT, TOP, BOTTOM = 720, 300, 64, 16, 12, 44
TICKS = 10  # labels of an axis at most
# Okabe and Ito's colours, darker on a light page and lighter on a dark one: at least 3:1 against it.
LIGHT = ("#0072b2", "#c04f00", "#00795a", "#8a6200", "#1c1c1c")
DARK = ("#56b4e9", "#ff9a5c", "#2fcf9f", "#f0c44c", "#ececec")
MARKS = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-4-4h8v8h-8z",
    "M0-5L5 4H-5z",
    "M0-6L6 0L0 6L-6 0z",
    "M-4-4L4 4M4-4L-4 4",
)
STYLE = """
.line { fill: none; stroke-width: 1.5 } .mark { fill: var(--page); stroke-width: 1.5 } .axis { stroke: var(--line) }
.grid { stroke: var(--line); stroke-width: .3 } .tolerance { stroke: var(--ink); stroke-dasharray: 6 4 }
""" + "\n".join(f".s{n} {{ stroke: var(--s{n}) }}" for n in range(len(MARKS)))


@dataclass(frozen=True)
class Scale:
    """Where a step and a difference stand. `low`, `high`: powers of ten; what is 0 stands at the foot, on its own line."""

    steps: int
    low: int
    high: int

    @classmethod
    def of(cls, drawn: list[Result], tolerance: float) -> Scale:
        gaps = [gap for r in drawn for gap in r.diffs]
        there = [gap for gap in (*gaps, tolerance) if gap > 0 and isfinite(gap)] or [1.0]
        low = floor(log10(min(there))) - any(gap == 0 for gap in gaps)
        return cls(max(len(r.diffs) for r in drawn), low, max(ceil(log10(max(there))), low + 1))

    def x(self, step: float) -> float:
        return round(LEFT + (WIDE - LEFT - RIGHT) * (step + 0.5) / self.steps, 1)

    def y(self, gap: float) -> float:
        power = self.high if not isfinite(gap) else log10(gap) if gap > 0 else self.low
        share = (min(max(power, self.low), self.high) - self.low) / (self.high - self.low)
        return round(HIGH - BOTTOM - share * (HIGH - TOP - BOTTOM), 1)


def chart(report: Report) -> str:
    """The figure and its table; nothing where no script gave an answer."""
    drawn = worst(report)
    if not drawn:
        return ""
    scale = Scale.of(drawn, report.tolerance.value)
    told = "; ".join(f"{r.name} up to {max(r.diffs):.1e}" for r in drawn)
    label = f"Largest difference in the logits of each step: {told}. Tolerance {report.tolerance.value:.1e}."
    inside = [*axes(scale, any(0 in r.diffs for r in drawn)), *limit(scale, report.tolerance.value)]
    inside += [part for n, r in enumerate(drawn) for part in line(scale, n, r)]
    svg = f'<svg role="img" aria-label="{escape(label)}" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" height="{HIGH}">'
    names = "".join(f"<span>{sign(n)} {escape(r.name)}</span>" for n, r in enumerate(drawn))
    more = len([r for r in report.results if r.diffs]) - len(drawn)
    rest = f" The {len(drawn)} scripts with the largest ones; {more} more are not drawn." if more else ""
    words = f"Largest difference in the logits of each step.{rest}"
    figure = f'<figure>{svg}{"".join(inside)}</svg><p class="key">{names}</p><figcaption>{words}</figcaption></figure>'
    return f"<h2>Steps</h2>{figure}{table(report)}"


def axes(scale: Scale, zero: bool) -> Iterator[str]:
    every = ceil((scale.high - scale.low) / TICKS)
    for power in range(scale.high, scale.low - 1, -every):
        y = scale.y(10.0**power)
        words = "0" if zero and power == scale.low else f"1e{power:+d}"
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 3}" text-anchor="end">{words}</text>'
    foot = HIGH - BOTTOM
    yield f'<line class="axis" x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{foot}" y2="{foot}"/>'
    for step in range(0, scale.steps, ceil(scale.steps / TICKS)):
        yield f'<text x="{scale.x(step)}" y="{foot + 16}" text-anchor="middle">{step}</text>'
    yield f'<text x="{(LEFT + WIDE) / 2}" y="{HIGH - 8}" text-anchor="middle">step (0: prefill)</text>'


def limit(scale: Scale, tolerance: float) -> Iterator[str]:
    y = scale.y(tolerance)
    yield f'<line class="tolerance" x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{y}" y2="{y}"/>'
    yield f'<text x="{WIDE - RIGHT}" y="{y - 4}" text-anchor="end">tolerance {tolerance:.1e}</text>'


def line(scale: Scale, n: int, result: Result) -> Iterator[str]:
    places = [(scale.x(step), scale.y(gap)) for step, gap in enumerate(result.diffs)]
    yield f'<polyline class="line s{n}" points="{" ".join(f"{x},{y}" for x, y in places)}"/>'
    for step, ((x, y), gap) in enumerate(zip(places, result.diffs)):
        told = f"<title>{escape(result.name)}, step {step}: {gap:.1e}</title>"
        yield f'<path class="mark s{n}" transform="translate({x} {y})" d="{MARKS[n]}">{told}</path>'


def sign(n: int) -> str:
    return f'<svg width="14" height="14" viewBox="-7 -7 14 14" aria-hidden="true"><path class="mark s{n}" d="{MARKS[n]}"/></svg>'


def table(report: Report) -> str:
    """The differences of all scripts as a table that unfolds."""
    ran = [r for r in report.results if r.diffs]
    steps = range(max(len(r.diffs) for r in ran))
    head = "".join(f'<th scope="col">{step}</th>' for step in steps)
    rows = "".join(
        f'<tr><th scope="row">{escape(r.name)}</th>{"".join(f"<td>{gap:.1e}</td>" for gap in r.diffs)}</tr>'
        for r in ran
    )
    words = "<caption>Largest difference in the logits, by script and step</caption>"
    whole = f'<table>{words}<thead><tr><th scope="col">script</th>{head}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<details><summary>The same as a table, for every script</summary><div class="wide">{whole}</div></details>'
