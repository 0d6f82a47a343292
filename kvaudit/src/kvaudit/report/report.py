"""The report: a plain dataclass of everything that an audit found."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import __version__
from ..explain import Explained, Suspect
from ..explain.rows import Forensics
from ..judge import Result, Tolerance
from .baseline import SCHEMA, Compared, Known, compare, known, read_baseline
from .html import html
from .picture import picture
from .text import lines
from .verdicts import UNJUDGED, VERDICTS, WRONG


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
    baseline: Compared | None = None  # beside what was known before

    @property
    def ok(self) -> bool:
        return self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """0, 1 or 2, as the verdict says; what a baseline has is 0."""
        code = VERDICTS[self.verdict][0]
        return self.baseline.exit_code if self.baseline and code == WRONG else code

    def beside(self, before: Known) -> None:
        """Compare it with a baseline; where nothing was judged there is nothing to compare."""
        if VERDICTS[self.verdict][0] != UNJUDGED:
            self.baseline = compare(before, known(self.to_dict()))

    def write_baseline(self, file: str | os.PathLike[str]) -> None:
        """Write it as the baseline that later reports are compared with. Raises ValueError where nothing was judged."""
        if VERDICTS[self.verdict][0] == UNJUDGED:
            raise ValueError(f"{file} was not written as a baseline: nothing was judged ({self.verdict})")
        self.baseline = None
        Path(file).write_text(self.to_json() + "\n", encoding="utf-8")
        self.beside(read_baseline(file))

    def __str__(self) -> str:
        return "\n".join(lines(self))

    def plot(self) -> Any:
        """A matplotlib figure: the largest difference of each step, one line a script, over the tolerance."""
        from .plot import figure

        return figure(self)

    def picture(self) -> str:
        """Where rows are wrong, as text: a grid of layers and rows. Empty where they say nothing."""
        return picture(self.forensics) if self.forensics else ""

    def to_html(self, name: str = "") -> str:
        """The report as a page that stands alone, with a chart of the steps and the grids. `name`: what was audited."""
        return html(self, name)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; `schema.json` beside this module says what each is. A run gives the same every time."""
        told = ("verdict", "exit_code", "summary", "dtype", "logic", "max_abs_diff", "first", "arithmetic")
        more = ("caught", "injected", "unseen", "independence", "regret", "certificate", "notes", "test")
        return {
            "schema": SCHEMA,
            "kvaudit": __version__,
            **{name: getattr(self, name) for name in (*told, *more)},
            "tolerance": {**vars(self.tolerance), "value": self.tolerance.value},
            "suspects": [vars(s) for s in self.suspects],
            "scripts": [{k: v for k, v in vars(r).items() if k != "logits"} for r in self.results],
            "rows": self.forensics.to_dict() if self.forensics else None,
            "baseline": self.baseline.to_dict() if self.baseline else None,
        }

    def to_json(self) -> str:
        """The same as text; a number that is not finite, which JSON does not have, is null."""
        return json.dumps(finite(self.to_dict()), indent=2, allow_nan=False)


def finite(value: Any) -> Any:
    """Plain values with None for what is not finite."""
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
