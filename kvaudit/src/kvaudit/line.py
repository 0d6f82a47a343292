"""The audit as a line: subject, plan, play, verdict, explanation, report. Each stage takes the one before it.

    report = audit(decoder)              # a decoder whose model is known (transformers, or registered)
    report = audit(decoder, uncached)    # with an uncached forward of one's own (see protocol.py)

Logic first: everything runs in float64, where a correct cache agrees to the last digits and the smallest bug does not.
Arithmetic second, in the dtype as it runs. Logits decide; rows, lengths and text only explain.
"""

from __future__ import annotations

import time
from typing import Any

from torch import Tensor

from .explain import SECONDS as NAMING
from .explain import explained
from .judge import judge
from .plan import plan_for
from .play import SECONDS, play
from .references import reference_for
from .report import Report, report_on
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
) -> Report:
    """Audit a decoder and return a `Report`; never raises for what the decoder does.

    decoder, reference: duck-typed (see protocol.py); a function that makes a decoder from a model will do. The reference
    is found from `decoder.model` where it is left out. prompt `[B, T0]`, tokens `[B, n]` (int64): fed in the plain script
    instead of random ones, which `seed` draws. float64=False judges in the dtype as it is only. explain=False stops at
    the verdict. call_seconds: what one call may take (main thread, not on Windows), None for no limit;
    name_seconds: what naming a bug may take. Raises TypeError and ValueError in words for what cannot be audited at all.
    """
    began = time.perf_counter()
    check_decoder(decoder)
    reference = reference_for(decoder) if reference is None else reference
    plan = plan_for(subject_of(decoder, reference, float64), prompt, tokens, seed)
    judged = judge(play(plan, call_seconds))
    return report_on(explained(judged, deep=explain, seconds=name_seconds), time.perf_counter() - began)


def assert_cached_equals_uncached(decoder: Any, reference: Any = None, **options: Any) -> Report:
    """One assertion for anyone's tests: passes for equal and for rounding, else fails with the report as its message."""
    report = audit(decoder, reference, **options)
    if not report.ok:
        raise AssertionError(str(report))
    return report
