"""Audits the six decoders and all their mistakes, and counts: `python -m foreign.score [NAME …]` from this package's tests.

A name is a decoder's or a mistake's. Seconds are process time. Bounds are exact (Clopper and Pearson), 95 %, two-sided.
"""

import sys
import time
from collections import Counter
from dataclasses import dataclass
from math import comb

import torch

from kvaudit import audit

from . import exercise
from .catalogue import CASES, SUBJECTS

MOVED = 1e-6  # of logits of size 1: above what a float32 softmax gives (2e-7), below any of the mistakes
FLAGS = {"differs", "unknown pattern", "not deterministic", "error in the decoder"}


@dataclass
class Row:
    """One audited mistake. `moved`, `moved_mixed`: by exercise.COMMON and exercise.MIXED."""

    subject: str
    mutant: type
    moved: float
    moved_mixed: float
    report: object
    seconds: float

    @property
    def really_wrong(self):
        return max(self.moved, self.moved_mixed) > MOVED

    @property
    def fair(self):
        return self.mutant.mutation.fair

    @property
    def flagged(self):
        return self.report.verdict in FLAGS | ({"rounding"} if "rounding" in self.fair else set())

    @property
    def families(self):
        """Of the first suspect; a pair of bugs has two. Rounding is a verdict."""
        if self.report.verdict == "rounding":
            return {"rounding"}
        return {family for s in self.report.suspects[:1] for family in s.family.split(" + ")}

    @property
    def outcome(self):
        """harmless | missed | right | wrong | error (the decoder broke off) | unknown."""
        if not self.flagged:
            return "missed" if self.really_wrong else "harmless"
        if self.families:
            return "right" if self.families <= self.fair else "wrong"
        return "error" if self.report.verdict == "error in the decoder" else "unknown"

    @property
    def said(self):
        """The first suspects, or the verdict."""
        named = [f"{s.fault} ({s.family})" for s in self.report.suspects[:3]]
        return ", ".join(named) or self.report.verdict

    def __str__(self):
        moved = f"{max(self.moved, self.moved_mixed):.0e}" + (
            "" if self.moved > MOVED else "*" if self.really_wrong else ""
        )
        return (
            f"{self.subject:<8} {self.mutant.__name__:<26} {moved:>7} {'yes' if self.flagged else 'no':<3} "
            f"{self.outcome:<8} {self.seconds:5.1f}  {self.said}"
        )


def scored(cases, **options):
    """A Row for each (subject, mutant)."""
    for subject, mutant in cases:

        def made(mutant=mutant, subject=subject):
            return mutant(subject.weights)

        moved, mixed = (exercise.moves(made, subject.reference, texts) for texts in (exercise.COMMON, exercise.MIXED))
        began = time.process_time()
        report = audit(made(), subject.reference, **options)
        yield Row(subject.name, mutant, moved, mixed, report, time.process_time() - began)


def bounds(hits, n, confidence=0.95):
    """(low, high) of a rate of which `hits` in `n` were seen: Clopper and Pearson."""
    tail = (1 - confidence) / 2

    def root(at_least, hits):
        low, high = 0.0, 1.0
        for _ in range(50):
            p = (low + high) / 2
            above = sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(hits, n + 1))
            low, high = (p, high) if above < at_least else (low, p)
        return low

    return (root(tail, hits) if hits else 0.0), (root(1 - tail, hits + 1) if hits < n else 1.0)


def rate(words, hits, n):
    low, high = bounds(hits, n)
    return f"{words:<34} {hits:>3} of {n:<3} = {hits / max(n, 1):6.1%}  [{low:.1%}, {high:.1%}]"


def totals(rows):
    wrong = [row for row in rows if row.really_wrong]
    outcomes = Counter(row.outcome for row in wrong)
    yield rate("flagged, of those really wrong", sum(row.flagged for row in wrong), len(wrong))
    yield rate(
        "  … in what a test tries first",
        sum(r.flagged for r in wrong if r.moved > MOVED),
        sum(r.moved > MOVED for r in wrong),
    )
    for outcome, words in (
        ("right", "named right"),
        ("wrong", "named wrong"),
        ("unknown", "unknown"),
        ("error", "error"),
    ):
        yield rate(words, outcomes[outcome], len(wrong))
    named = outcomes["right"] + outcomes["wrong"]
    yield rate("right, of those named", outcomes["right"], named)
    seconds = sorted(row.seconds for row in rows)
    yield f"seconds: median {seconds[len(seconds) // 2]:.1f}, largest {seconds[-1]:.1f}, sum {sum(seconds):.0f}"


def main(names):
    torch.set_num_threads(1)
    for subject in SUBJECTS:
        if not names or subject.name in names:
            report = audit(subject.correct(), subject.reference)
            print(f"{subject.name:<8} correct: {report.verdict}. {report.summary}", flush=True)
    print("\ndecoder  mistake                    logits* flagged, named, seconds, said  (*: moved by mixed calls only)")
    rows = []
    for row in scored([c for c in CASES if not names or {c[0].name, c[1].__name__} & set(names)]):
        rows.append(row)
        print(row, flush=True)
    print("\n" + "\n".join(totals(rows)))


if __name__ == "__main__":
    main(sys.argv[1:])
