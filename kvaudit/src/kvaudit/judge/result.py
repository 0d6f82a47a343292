"""What became of one script: the largest difference of each step, and what the decoder held after it."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from ..play import Run


@dataclass
class Result:
    """One script, judged."""

    name: str
    about: str
    status: str  # "equal", "differs", "error" or "not exercised"
    diffs: list[float] = field(default_factory=list)  # per step, largest over the batch and the vocabulary
    first: tuple[int, int] | None = None  # (step, row) of the first difference
    rows: list[list[int] | None] = field(default_factory=list)  # per step, cached rows of each layer; None: not shown
    expected_rows: list[list[int] | None] = field(default_factory=list)
    wrote: tuple[int, int] | None = None  # (token it would write, token the oracle writes) at the first difference
    problem: str | None = None
    logits: list[Tensor] = field(default_factory=list, repr=False)

    @property
    def differs(self) -> bool:
        return self.status == "differs"


def result_of(run: Run, tolerance: float) -> Result:
    """Judge one run at a tolerance: its status, the first wrong step and row, and what would be written there."""
    script, trace = run.script, run.trace
    if run.left_out is not None:
        return Result(script.name, script.about, "not exercised", problem=run.left_out)
    result = Result(
        script.name, script.about, "equal", run.diffs, None, trace.rows, problem=trace.problem, logits=trace.logits
    )
    step = next((i for i, d in enumerate(run.diffs) if d > tolerance), None)
    if step is not None:
        row = int(run.gaps[step].gt(tolerance).nonzero()[0])
        result.status, result.first = "differs", (step, row)
        result.wrote = int(trace.logits[step][row].argmax()), int(run.right[step][row].argmax())
    elif trace.problem and not run.refused:
        result.status = "error"
    elif script.ends and not trace.problem and len(run.right) < len(trace.logits):
        result.status = "error"
        result.problem = "a token past the last position was accepted; it must be refused in words"
    else:
        result.problem = None
    return result
