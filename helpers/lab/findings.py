"""The audit behind the bug lab: verdict and suspects of a decoder with some faults, computed once and kept."""

import re
from dataclasses import dataclass
from functools import lru_cache
from html import escape

from ..audit import audit
from ..faults import find
from ..faults.registry import WINDOW
from ..reference import MiniGPTReference
from .bugs import build, ledger_model
from .calls import Setting

CAPACITY = 37  # rows of a buffer that is to overflow: the audit's own prompts have 13 tokens


@dataclass(frozen=True)
class Finding:
    """What an audit says: its `verdict` and `summary`, and `suspects` as (what the code does, where to look)."""

    verdict: str
    summary: str
    suspects: tuple[tuple[str, str], ...]

    def __str__(self):
        lines = [f"Audit: {self.verdict.upper()}. {self.summary}"]
        for n, (words, look) in enumerate(self.suspects, 1):
            lines += [f"Suspect {n}: {words}", f"  look at: {look}"]
        return "\n".join(lines)


@lru_cache(maxsize=64)
def audited(faults=(), positions="learned", explain=True):
    """Audit the decoder with `faults` (a tuple of ids) on prompts of the audit's own: a `Finding`.

    Takes about a second, for several faults some twenty (pairs are tried out); explain=False stops at the verdict.
    Raises ValueError as `run` does.
    """
    needs = {find(id).needs for id in faults}
    buffer = any(find(id).scenario == "overflow" for id in faults)
    setting = Setting(frozenset(), CAPACITY if buffer else None, WINDOW if "window" in needs else None)
    report = audit(
        build(ledger_model(positions), faults, setting), reference(positions, setting.window), explain=explain
    )
    summary = re.sub(r"\b(by|to) (?=\d)", r"\1 ≈ ", report.summary)  # figures that move from machine to machine
    return Finding(report.verdict, summary, tuple((s.words, s.look) for s in report.suspects))


@lru_cache
def reference(positions, window):
    """Kept, because the audit measures its tolerance and its sensitivity once on each."""
    return MiniGPTReference(ledger_model(positions), window)


def render_finding(finding):
    """The finding as a small piece of HTML."""
    items = "".join(f"<li>{escape(words)} <br>Look at: {escape(look)}.</li>" for words, look in finding.suspects)
    suspects = f'Suspects:<ol style="margin:4px 0;padding-left:24px">{items}</ol>' if items else ""
    return f"<p><b>Audit (float64, prompts of its own): {escape(finding.verdict)}.</b> {escape(finding.summary)}</p>{suspects}"
