"""The audit's report: a plain dataclass, and its text as a person reads it."""

import json
from dataclasses import dataclass, field

VERDICTS = {  # verdict -> (exit code, what it means)
    "equal": (0, "the cached decoder computes what the uncached model computes"),
    "rounding": (0, "the logic is right; the numbers differ by rounding"),
    "different by specification": (0, "cached and uncached are meant to differ"),
    "differs": (1, "the cached decoder does not compute what the uncached model computes"),
    "unknown pattern": (1, "the logits differ, and no known bug reproduces them"),
    "not deterministic": (1, "the same call on the same tokens gives different logits"),
    "error in the decoder": (1, "the decoder broke off or broke the rules of the call"),
    "inconclusive": (2, "the difference lies where neither a bug nor rounding can be excluded"),
    "the oracles disagree": (2, "the reference itself cannot be trusted: two uncached computations differ"),
}


@dataclass
class Result:
    """One script: the largest difference of each step, and what the decoder held after it."""

    name: str
    about: str
    status: str  # "equal", "differs", "error" or "not exercised"
    diffs: list = field(default_factory=list)  # per step, largest over the batch and the vocabulary
    first: tuple | None = None  # (step, row) of the first difference
    rows: list = field(default_factory=list)  # per step, cached rows of each layer; None where not shown
    expected_rows: list = field(default_factory=list)
    wrote: tuple | None = None  # (token it would write, token the oracle writes) at the first difference
    problem: str | None = None
    logits: list = field(default_factory=list, repr=False)
    right: list = field(default_factory=list, repr=False)  # the uncached logits, as `logits`
    gaps: list = field(default_factory=list, repr=False)  # per step, the largest difference of each row [B]
    raised: Exception | None = field(default=None, repr=False)

    @property
    def differs(self):
        return self.status == "differs"


@dataclass
class Suspect:
    """One candidate bug: catalogue id, family, what it does, where to look, and how closely it reproduces the logits."""

    fault: str
    family: str
    words: str
    look: str
    residual: float | None
    where: tuple


@dataclass
class Report:
    """Everything an audit found. `str(report)` is the text, `report.ok` the answer, `report.exit_code` the shell's."""

    verdict: str
    summary: str
    dtype: str
    max_abs_diff: float
    tolerance: object  # tolerance.Tolerance, of the run that decided
    results: list
    native: list = field(default_factory=list, repr=False)  # the same scripts in the dtype as it runs
    suspects: list = field(default_factory=list)
    first: tuple | None = None  # (script, step, row)
    logic: str = ""  # which run decided: float64 or as it is
    arithmetic: float | None = None  # RMS(cached - float64) / RMS(uncached - float64)
    caught: int = 0  # injected faults that these scripts would have shown
    injected: int = 0
    unseen: list = field(default_factory=list)  # faults that could not be exercised, and why
    independence: str = ""
    regret: float | None = None
    certificate: str = ""
    notes: list = field(default_factory=list)
    test: str = ""
    seconds: float = 0.0

    @property
    def ok(self):
        return self.exit_code == 0

    @property
    def exit_code(self):
        return VERDICTS[self.verdict][0]

    def __str__(self):
        return "\n".join(self.lines())

    def lines(self):
        yield f"Verdict: {self.verdict.upper()}. {self.summary}"
        yield f"  decided by   {self.logic}; {self.tolerance_words()}"
        if self.arithmetic is not None:
            yield f"  arithmetic   {self.dtype}: cached is {self.arithmetic:.2f} times as far from float64 as uncached is"
        yield ""
        yield "  script           largest     first wrong   what it exercises"
        yield from (self.script_line(r) for r in self.results)
        yield from self.suspect_lines()
        yield ""
        yield from self.closing_lines()
        if self.test:
            yield "\nThe shortest case that shows it, as a test:\n\n" + self.test

    def tolerance_words(self):
        t = self.tolerance
        return (
            f"tolerance {t.value:.1e}, between {t.null:.1e} ({t.schedules} correct schedules) and {t.fault:.1e} "
            f"(the smallest of {t.faults} injected faults)"
        )

    def script_line(self, r):
        largest = f"{max(r.diffs):.1e}" if r.diffs else "-"
        first = f"step {r.first[0]}, row {r.first[1]}" if r.first else "-"
        words = f"not exercised: {r.problem}" if r.status == "not exercised" else r.about
        if r.status == "error":
            words = f"ERROR: {r.problem}"
        return f"  {r.name:<16} {largest:<11} {first:<13} {words}"

    def suspect_lines(self):
        shown = next((r for r in self.results if self.first and r.name == self.first[0]), None)
        if shown is not None and shown.wrote and shown.wrote[0] != shown.wrote[1]:
            yield f"\n  At that step it would write token {shown.wrote[0]} where the oracle writes {shown.wrote[1]}."
        if shown is not None and shown.rows and shown.rows[-1] is not None and shown.expected_rows:
            if shown.rows != shown.expected_rows[: len(shown.rows)]:
                yield f"\n  Rows per layer at the end: {shown.rows[-1]}, expected {shown.expected_rows[len(shown.rows) - 1]}."
            else:
                yield f"\n  Rows per layer are as expected at every step ({shown.rows[-1]} at the end): lengths tell nothing here."
        for n, s in enumerate(self.suspects, 1):
            yield f"\n  Suspect {n}: {s.words}  [{s.fault}, family: {s.family}]"
            if s.residual is not None:
                yield f"     a decoder with this bug gives these logits to {s.residual:.0e} in: {', '.join(s.where)}"
            yield f"     look at: {s.look}"
        explained = {name for s in self.suspects for name in s.where}
        rest = [r.name for r in self.results if r.differs and r.name not in explained]
        if explained and rest:
            yield f"\n  Not explained by any of them: {', '.join(rest)}. There may be a second bug."

    def closing_lines(self):
        if self.injected:
            unseen = f"; not exercised: {', '.join(self.unseen)}" if self.unseen else ""
            yield f"  sensitivity  would have caught {self.caught} of {self.injected} known bugs injected here{unseen}"
        if self.independence:
            yield f"  oracle       {self.independence}"
        if self.regret is not None:
            yield f"  free run     largest gap of a chosen token to the oracle's best: {self.regret:.1e}"
        if self.certificate:
            yield f"  certificate  {self.certificate}"
        yield from (f"  note         {note}" for note in self.notes)
        yield f"  time         {self.seconds:.1f} s"

    def plot(self):
        """A figure: the largest difference of each step, one line a script, over the tolerance."""
        from helpers.plots.curves import trace

        ran = {r.name: r.diffs for r in self.results if r.diffs}
        worst = sorted(ran, key=lambda name: -max(ran[name]))[:5]  # as many lines as an eye can follow
        return trace({name: ran[name] for name in worst}, self.tolerance.value, what="scripts")

    def to_dict(self):
        """Plain values, for JSON."""
        return {
            "verdict": self.verdict,
            "summary": self.summary,
            "dtype": self.dtype,
            "max_abs_diff": self.max_abs_diff,
            "tolerance": {**vars(self.tolerance), "value": self.tolerance.value} if self.tolerance else None,
            "first": self.first,
            "suspects": [vars(s) for s in self.suspects],
            "scripts": [
                {k: v for k, v in vars(r).items() if k not in ("logits", "right", "gaps", "raised")}
                for r in self.results
            ],
            "arithmetic": self.arithmetic,
            "caught": self.caught,
            "injected": self.injected,
            "unseen": self.unseen,
            "regret": self.regret,
            "notes": self.notes,
        }

    def to_json(self):
        return json.dumps(self.to_dict(), indent=2)
