"""The report: a plain dataclass of everything that an audit found."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ..explain import Explained, Suspect
from ..explain.rows import Forensics
from ..judge import Result, Tolerance
from .html import html
from .picture import picture
from .text import lines

VERDICTS: dict[str, tuple[int, str]] = {  # verdict -> (exit code, what it means)
    "equal": (0, "the cached decoder computes what the uncached model computes"),
    "rounding": (0, "the logic is right; the numbers differ by rounding"),
    "different by specification": (0, "cached and uncached are meant to differ"),
    "differs": (1, "the cached decoder does not compute what the uncached model computes"),
    "unknown pattern": (1, "the logits differ, and no known bug reproduces them"),
    "not deterministic": (1, "the same call on the same tokens gives different logits"),
    "error in the decoder": (1, "the decoder broke off or broke the rules of the call"),
    "no answer in time": (2, "a call took longer than it may; nothing after it was run"),
    "inconclusive": (2, "the difference lies where neither a bug nor rounding can be excluded"),
    "the oracles disagree": (2, "the reference itself cannot be trusted: two uncached computations differ"),
}


@dataclass
class Report:
    """Everything an audit found. `str(report)` is the text, `report.ok` the answer, `report.exit_code` the shell's."""

    verdict: str
    summary: str
    dtype: str
    max_abs_diff: float
    tolerance: Tolerance  # of the run that decided
    results: list[Result]
    suspects: list[Suspect] = field(default_factory=list)
    first: tuple[str, int, int] | None = None  # (script, step, row)
    logic: str = ""  # which run decided: float64 or as it is
    arithmetic: float | None = None  # RMS(cached - float64) / RMS(uncached - float64)
    caught: int = 0  # injected bugs that these scripts would have shown
    injected: int = 0
    unseen: list[str] = field(default_factory=list)  # injected bugs that these scripts would not have shown
    independence: str = ""
    regret: float | None = None
    certificate: str = ""
    notes: list[str] = field(default_factory=list)
    test: str = ""
    forensics: Forensics | None = None  # what the decoder's rows say, where its logits are wrong
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        return VERDICTS[self.verdict][0]

    def __str__(self) -> str:
        return "\n".join(lines(self))

    def plot(self) -> Any:
        """A matplotlib figure: the largest difference of each step, one line a script, over the tolerance."""
        from .plot import figure

        return figure(self)

    def picture(self) -> str:
        """Where rows are wrong, as text: a grid of layers and rows. Empty where they say nothing."""
        return picture(self.forensics) if self.forensics else ""

    def to_html(self) -> str:
        """The report as a page that stands alone, with the grids."""
        return html(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        told = ("verdict", "summary", "dtype", "max_abs_diff", "first", "arithmetic", "caught", "injected", "unseen")
        return {
            **{name: getattr(self, name) for name in told},
            "tolerance": {**vars(self.tolerance), "value": self.tolerance.value},
            "suspects": [vars(s) for s in self.suspects],
            "scripts": [{k: v for k, v in vars(r).items() if k != "logits"} for r in self.results],
            "rows": self.forensics.to_dict() if self.forensics else None,
            "regret": self.regret,
            "notes": self.notes,
        }

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2)


def report_on(found: Explained, seconds: float = 0.0) -> Report:
    """The report on what was found; `seconds` is what finding it took."""
    judged = found.judged
    settled = judged.settled
    return Report(
        verdict=found.verdict,
        summary=found.summary,
        dtype=judged.dtype,
        max_abs_diff=settled.largest,
        tolerance=settled.tolerance,
        results=settled.results,
        suspects=found.suspects,
        first=settled.first,
        logic=judged.logic,
        arithmetic=judged.arithmetic,
        caught=found.caught,
        injected=found.injected,
        unseen=found.unseen,
        independence=judged.independence,
        regret=found.regret,
        certificate=found.certificate,
        notes=found.notes,
        test=found.test,
        forensics=found.forensics if VERDICTS[found.verdict][0] else None,
        seconds=seconds,
    )
