"""A report as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..judge import Result, Tolerance

if TYPE_CHECKING:
    from .report import Report


def lines(report: Report) -> Iterator[str]:
    """The report, line by line."""
    yield f"Verdict: {report.verdict.upper()}. {report.summary}"
    yield f"  decided by   {report.logic}; {tolerance_words(report.tolerance)}"
    if report.arithmetic is not None:
        yield f"  arithmetic   {report.dtype}: cached is {report.arithmetic:.2f} times as far from float64 as uncached is"
    if report.baseline is not None:
        yield from (f"  baseline     {words}" for words in report.baseline.lines())
    yield ""
    yield "  script           largest     first wrong   what it exercises"
    yield from map(script_line, report.results)
    yield from at_the_difference(report)
    yield from row_lines(report)
    yield from suspect_lines(report)
    yield ""
    yield from closing_lines(report)
    if report.test:
        yield "\nThe shortest case that shows it, as a test:\n\n" + report.test


def tolerance_words(t: Tolerance) -> str:
    return (
        f"tolerance {t.value:.1e}, between {t.null:.1e} ({t.schedules} correct schedules) and {t.fault:.1e} "
        f"(the smallest of {t.faults} injected faults)"
    )


def script_line(r: Result) -> str:
    largest = f"{max(r.diffs):.1e}" if r.diffs else "-"
    first = f"step {r.first[0]}, row {r.first[1]}" if r.first else "-"
    words = {"not exercised": f"not exercised: {r.problem}", "error": f"ERROR: {r.problem}"}.get(r.status, r.about)
    return f"  {r.name:<16} {largest:<11} {first:<13} {words}"


def at_the_difference(report: Report) -> Iterator[str]:
    """What would be written at the first difference, and whether lengths give the bug away."""
    shown = next((r for r in report.results if report.first and r.name == report.first[0]), None)
    if shown is None:
        return
    if shown.wrote and shown.wrote[0] != shown.wrote[1]:
        yield f"\n  At that step it would write token {shown.wrote[0]} where the oracle writes {shown.wrote[1]}."
    if shown.rows and shown.rows[-1] is not None and shown.expected_rows:
        right, end = shown.expected_rows[: len(shown.rows)], shown.rows[-1]
        if shown.rows != right:
            yield f"\n  Rows per layer at the end: {end}, expected {right[-1]}."
        else:
            yield f"\n  Rows per layer are as expected at every step ({end} at the end): lengths tell nothing here."


def row_lines(report: Report) -> Iterator[str]:
    """What the rows say, in the first script that differs and in others that show something else."""
    seen = report.forensics
    if seen is not None:
        yield f"\n  Rows: {seen.words}."
        yield from (f"  Also: {other.words}." for other in seen.also)


def suspect_lines(report: Report) -> Iterator[str]:
    for n, s in enumerate(report.suspects, 1):
        yield f"\n  Suspect {n}: {s.words}  [{s.fault}, family: {s.family}]"
        if s.residual is not None:
            yield f"     a decoder with this bug gives these logits to {s.residual:.0e} in: {', '.join(s.where)}"
        yield f"     look at: {s.look}"
    explained = {name for s in report.suspects for name in s.where}
    rest = [r.name for r in report.results if r.differs and r.name not in explained]
    if explained and rest:
        yield f"\n  Not explained by any of them: {', '.join(rest)}. There may be a second bug."


def closing_lines(report: Report) -> Iterator[str]:
    if report.injected:
        unseen = f"; not exercised: {', '.join(report.unseen)}" if report.unseen else ""
        yield f"  sensitivity  would have caught {report.caught} of {report.injected} known bugs injected here{unseen}"
    if report.independence:
        yield f"  oracle       {report.independence}"
    if report.regret is not None:
        yield f"  free run     largest gap of a chosen token to the oracle's best: {report.regret:.1e}"
    if report.certificate:
        yield f"  certificate  {report.certificate}"
    yield from (f"  note         {note}" for note in report.notes)
    yield f"  time         {report.seconds:.1f} s"
