"""What is found beyond a verdict. Each look takes it, adds what it saw, and may sharpen the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..judge import Judged, Result
from ..plan import Script
from ..subject import Side

if TYPE_CHECKING:
    from .rows import Forensics


@dataclass
class Suspect:
    """One candidate bug: its id, family, what it does, where to look, and how closely it reproduces the logits."""

    fault: str
    family: str
    words: str
    look: str
    residual: float | None
    where: tuple[str, ...]


@dataclass
class Explained:
    """A verdict with what explains it. `verdict` and `summary` begin as the judged ones."""

    judged: Judged
    verdict: str
    summary: str
    suspects: list[Suspect] = field(default_factory=list)
    caught: int = 0  # injected bugs that these scripts would have shown
    injected: int = 0
    unseen: list[str] = field(default_factory=list)  # those that they would not
    regret: float | None = None
    certificate: str = ""
    notes: list[str] = field(default_factory=list)
    seconds: float | None = None  # what naming may take; None: no limit
    test: str = ""  # the shortest case, as the source of a test
    forensics: Forensics | None = None  # what the decoder's rows say

    @property
    def native(self) -> Side:
        return self.judged.played.plan.subject.native

    @property
    def results(self) -> list[Result]:
        return self.judged.settled.results

    @property
    def first(self) -> tuple[str, int, int] | None:
        return self.judged.settled.first

    @property
    def largest(self) -> float:
        return self.judged.settled.largest

    @property
    def tolerance(self) -> float:
        return self.judged.settled.tolerance.value

    @property
    def plain(self) -> Script:
        return self.judged.played.plan.plain

    @property
    def plain_broke(self) -> bool:
        """Whether the plain script broke off (in the dtype as it runs), or a call hung: then there is nothing to probe."""
        runs = self.judged.played.native
        return bool(runs[0].trace.problem or runs[0].left_out) or any(run.hung for run in runs)

    def pairs(self) -> Iterator[tuple[Script, Result]]:
        return zip(self.judged.played.plan, self.results)
