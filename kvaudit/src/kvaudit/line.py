"""The audit as a line: subject, plan, play, verdict, explanation, report. Each stage takes the one before it.

    report = audit(decoder)              # a decoder whose model is known (transformers, or registered)
    report = audit(decoder, uncached)    # with an uncached forward of one's own (see protocol.py)

Logic first: everything runs in float64, where a correct cache agrees to the last digits and the smallest bug does not.
Arithmetic second, in the dtype as it runs. Logits decide; rows, lengths and text only explain.
"""

from __future__ import annotations

import os
import time
from typing import Any

from torch import Tensor

from .explain import SECONDS as NAMING
from .explain import explained
from .judge import judge
from .plan import plan_for
from .play import SECONDS, play
from .progress import Tell, silent
from .references import reference_for
from .report import Report, read_baseline, report_on
from .subject import check_decoder, subject_of


def audit(
    decoder: Any,
    reference: Any = None,
    *,
    prompt: Tensor | None = None,
    tokens: Tensor | None = None,
    seed: int = 0,
    float64: bool = True,
    explain: bool = True,
    call_seconds: float | None = SECONDS,
    name_seconds: float | None = NAMING,
    baseline: str | os.PathLike[str] | None = None,
    progress: Tell | None = None,
) -> Report:
    """Audit a decoder and return a `Report`; never raises for what the decoder does.

    decoder, reference: duck-typed (see protocol.py); a function that makes a decoder from a model will do. The reference
    is found from `decoder.model` where it is left out. prompt `[B, T0]`, tokens `[B, n]` (int64): fed in the plain script
    instead of random ones, which `seed` draws. float64=False judges in the dtype as it is only. explain=False stops at
    the verdict. call_seconds: what one call may take (main thread, not on Windows), None for no limit;
    name_seconds: what naming a bug may take. baseline: a file with an earlier report's JSON; what deviates as it did there
    is `ok`. progress: called with words before each stage and each script; what it raises ends the audit. Raises
    TypeError and ValueError in words for what cannot be audited at all.
    """
    before = None if baseline is None else read_baseline(baseline)
    began, tell = time.perf_counter(), progress or silent
    tell("subject: the decoder and its reference")
    check_decoder(decoder)
    reference = reference_for(decoder) if reference is None else reference
    subject = subject_of(decoder, reference, float64)
    tell("plan: the scripts")
    plan = plan_for(subject, prompt, tokens, seed)
    played = play(plan, call_seconds)
    tell("judge: the tolerance, and the verdict")
    found = explained(judge(played), deep=explain, seconds=name_seconds, tell=tell)
    tell("report")
    report = report_on(found, time.perf_counter() - began)
    if before is not None:
        report.beside(before)
    return report


def assert_cached_equals_uncached(decoder: Any, reference: Any = None, **options: Any) -> Report:
    """One assertion for anyone's tests: passes for equal and for rounding, else fails with the report as its message."""
    report = audit(decoder, reference, **options)
    if not report.ok:
        raise AssertionError(str(report))
    return report
