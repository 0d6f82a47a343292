"""A report as a page that stands alone: no script, nothing to load, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from math import log10
from typing import TYPE_CHECKING

from ..explain.rows import Forensics, Grid
from . import chart
from .picture import picture
from .text import tolerance_words
from .verdicts import VERDICTS

if TYPE_CHECKING:
    from ..explain import Suspect
    from ..judge import Result
    from .report import Report

SIDE, GAP, LEFT = 12, 1, 64  # of a cell; between cells; for the names of layers
LEVELS = 6  # of wrong, one for two powers of ten; 0 is right
# Cividis, from little to much, and from much to little on a dark page: for colour-blind people as for others.
LIGHT = ("#e9e9e4", "#f0d95c", "#c9b464", "#a29672", "#7c7b78", "#4e576c", "#00224e")
DARK = ("#33363b", "#0a3a6e", "#3f4a6b", "#6b6d76", "#989176", "#cbb968", "#fee838")
INK = (
    "--ink: #1c1c1c; --page: #ffffff; --soft: #f3f3f0; --line: #8a8a85; --v0: #00694c; --v1: #a53800; --v2: #6b4c00",
    "--ink: #ececec; --page: #17181a; --soft: #232528; --line: #9a9a95; --v0: #4fd8ab; --v1: #ffa273; --v2: #f0c44c",
)
SIGNS = ("\N{CHECK MARK}", "\N{MULTIPLICATION X}", "?")  # of the exit codes; words and colour say it as well
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem }
table { border-collapse: collapse } th, td { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top }
pre { background: var(--soft); padding: .8rem; overflow-x: auto } figure { margin: 1rem 0 } svg { max-width: 100%; height: auto }
svg text { font: 10px system-ui, sans-serif; fill: var(--ink) } .key { display: flex; flex-wrap: wrap; gap: 1rem }
caption { text-align: left; padding-bottom: .3rem } .wide { overflow-x: auto } summary { cursor: pointer }
.verdict { border-left: .4rem solid; padding: .2rem .8rem; background: var(--soft) } .verdict strong { font-size: 1.3rem }
.wrong { stroke: var(--ink); stroke-width: .6 } .none { fill: none; stroke: var(--line); stroke-width: .3 }
"""


def style() -> str:
    """The page's style, with the colours of both modes."""
    light, dark = (
        "; ".join([ink, *(f"--{name}{n}: {color}" for name, row in rows for n, color in enumerate(row))])
        for ink, rows in zip(INK, ((("c", LIGHT), ("s", chart.LIGHT)), (("c", DARK), ("s", chart.DARK))))
    )
    modes = (
        f":root {{ color-scheme: light dark; {light} }} @media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    )
    return modes + STYLE + chart.STYLE + "\n".join(f".c{n} {{ fill: var(--c{n}) }}" for n in range(LEVELS + 1))


def html(report: Report, name: str = "") -> str:
    """The whole report as one page. `name`: what was audited."""
    title = escape(f"kvaudit: {report.verdict}" + (f" ({name})" if name else ""))
    parts = [
        f"<h1>{title}</h1>",
        verdict(report),
        suspects(report),
        scripts(report),
        chart.chart(report),
        *rows(report),
    ]
    parts += [
        shortest(report),
        f"<details><summary>The report as text</summary><pre>{escape(str(report))}</pre></details>",
    ]
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    page = f"<head>{head}<title>{title}</title><style>{style()}</style></head>\n<body><main>\n" + "\n".join(parts)
    return f'<!doctype html>\n<html lang="en">{page}\n</main></body></html>\n'


def verdict(report: Report) -> str:
    """The verdict in words, what decided, and the baseline's word where there is one."""
    code = report.exit_code
    sign = f'<strong><span aria-hidden="true">{SIGNS[code]}</span> {escape(report.verdict)}</strong>'
    known = "".join(
        f"<p>Baseline: {escape(words)}.</p>" for words in (report.baseline.lines() if report.baseline else ())
    )
    meant = f"{VERDICTS[report.verdict][1]} (exit code {code})"
    decided = f"Decided by {report.logic}; {tolerance_words(report.tolerance)}."
    said = f"<p>{escape(report.summary)}</p>{known}<p>{escape(decided)}</p>"
    return f'<div class="verdict" style="border-color: var(--v{code})"><p>{sign}: {escape(meant)}</p>{said}</div>'


def scripts(report: Report) -> str:
    names = ("script", "status", "largest difference", "first wrong", "what it exercises")
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(script(r) for r in report.results)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<h2>Scripts</h2><div class="wide">{table}</div>'


def script(r: Result) -> str:
    largest = f"{max(r.diffs):.1e}" if r.diffs else "-"
    first = f"step {r.first[0]}, row {r.first[1]}" if r.first else "-"
    words = f"{r.about}. {r.problem}" if r.problem else r.about
    cells = "".join(f"<td>{escape(cell)}</td>" for cell in (r.status, largest, first, words))
    return f'<tr><th scope="row">{escape(r.name)}</th>{cells}</tr>'


def suspects(report: Report) -> str:
    found = "".join(f"<li>{suspect(s)}</li>" for s in report.suspects)
    return f"<h2>Suspects</h2><ol>{found}</ol>" if found else ""


def suspect(s: Suspect) -> str:
    where = f" It gives these logits to {s.residual:.0e} in: {', '.join(s.where)}." if s.residual is not None else ""
    return f"<code>{escape(s.fault)}</code>: {escape(s.words)}. Look at: {escape(s.look)}.{escape(where)}"


def shortest(report: Report) -> str:
    if not report.test:
        return ""
    return f"<h2>The shortest case that shows it, as a test</h2><pre><code>{escape(report.test)}</code></pre>"


def rows(report: Report) -> Iterator[str]:
    """The sentence, a picture for each step, and both as text."""
    seen = report.forensics
    if seen is None:
        return
    yield "<h2>Rows</h2>"
    for one in (seen, *seen.also):
        yield f"<p>{escape(one.words)}.</p>"
    yield key()
    yield from (figure(seen, grid) for grid in seen.grids)
    yield f"<details><summary>The same as text</summary><pre>{escape(picture(seen))}</pre></details>"


def key() -> str:
    names = ("right", *[f"from 1e-{2 * (LEVELS - n)}" for n in range(1, LEVELS + 1)])
    box = f'<svg width="{SIDE}" height="{SIDE}" aria-hidden="true">'
    cells = "".join(
        f'<span>{box}<rect class="c{n}" width="{SIDE}" height="{SIDE}"/></svg> {name}</span>'
        for n, name in enumerate(names)
    )
    return f'<p class="key">{cells}</p>'


def figure(seen: Forensics, grid: Grid) -> str:
    """Layers downwards, rows to the right; keys beside values. Each cell says its number when it is pointed at."""
    S, L = max(map(len, grid.keys), default=0), len(grid.keys)
    step = SIDE + GAP
    wide, high = LEFT + 2 * S * step + SIDE, (L + 1) * step + 4
    told = f"{seen.script}, after step {grid.step}: " + ("some rows are wrong" if grid.wrong else "all rows are right")
    names = [f'<text x="0" y="{(n + 2) * step - 4}">layer {n}</text>' for n in range(L)]
    drawn = []
    for name, part, x in (("K", grid.keys, LEFT), ("V", grid.values, LEFT + S * step + SIDE)):
        drawn.append(f'<text x="{x}" y="10">{name}, row 0 … {S - 1}</text>')
        for layer, (row, right) in enumerate(zip(part, grid.right)):
            drawn += [
                cell(x + i * step, (layer + 1) * step, gap, right, f"{name}, layer {layer}, row {i}")
                for i, gap in enumerate(row)
            ]
    svg = f'<svg role="img" aria-label="{escape(told)}" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}">'
    return f"<figure>{svg}{''.join(names + drawn)}</svg><figcaption>{escape(told)}</figcaption></figure>"


def cell(x: int, y: int, gap: float | None, right: float, name: str) -> str:
    place = f'x="{x}" y="{y}" width="{SIDE}" height="{SIDE}"'
    if gap is None:
        return f'<rect class="none" {place}/>'
    if gap <= right:
        return f'<rect class="c0" {place}/>'
    level = min(max(LEVELS + int(log10(gap) // 2), 1), LEVELS)
    return f'<rect class="c{level} wrong" {place}><title>{name}: {gap:.1e}</title></rect>'
