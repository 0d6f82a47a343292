"""Runs a script on a decoder and writes down what it gave: logits, rows, and the error that ended it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from ..plan.calls import ANSWERING, Call, Script
from .limit import OutOfTime, limit

Watch = Callable[[int, Tensor], Any]  # (step, logits) -> true to stop early


@dataclass
class Trace:
    """What a script gave: logits `[B, V]` per answering call, rows per layer after it, and the error that ended it."""

    logits: list[Tensor] = field(default_factory=list)
    rows: list[list[int] | None] = field(default_factory=list)
    problem: str | None = None  # the decoder broke a rule of the game: raised, wrong shape, NaN, …
    raised: BaseException | None = None


def run(
    script: Script,
    decoder: Any,
    vocab_size: int | None = None,
    watch: Watch | None = None,
    seconds: float | None = None,
) -> Trace:
    """Run the script; `watch(step, logits)` may return True to stop early. Returns a Trace, whatever the decoder does.

    `seconds`: what one call may take.
    """
    trace, decoders = Trace(), {"main": decoder}
    for call in script.calls:
        step = len(trace.logits)
        given = call.value.clone() if isinstance(call.value, Tensor) else call.value
        try:
            with limit(seconds):
                answer = perform(replace(call, value=given), decoders)
        except OutOfTime as error:
            trace.problem, trace.raised = f"{call.kind} gave no answer within {seconds:g} s", error
            return trace
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a decoder under audit may raise anything
            trace.problem, trace.raised = f"{call.kind} raised {type(error).__name__}: {error}", error
            return trace
        if call.kind not in ANSWERING:
            continue
        changed = isinstance(given, Tensor) and not torch.equal(given, call.value)
        trace.problem = f"{call.kind} changed its input" if changed else wrong(answer, call, vocab_size)
        if trace.problem:
            return trace
        trace.logits.append(answer.clone() if isinstance(answer, Tensor) else answer)
        trace.rows.append(rows_held(decoders[call.on]))
        if watch is not None and watch(step, answer):
            return trace
    return trace


def perform(call: Call, decoders: dict[str, Any]) -> Any:
    """Make the call on the decoder that it names; a fork is filed under its own name."""
    decoder = decoders[call.on]
    if call.kind == "fork":
        decoders[call.value] = decoder.fork()
        return None
    if call.lengths is not None:
        return decoder.prefill(call.value, lengths=call.lengths)
    return getattr(decoder, call.kind)(call.value)


def wrong(answer: Any, call: Call, vocab_size: int | None) -> str | None:
    """In words, what is wrong with an answer before its numbers are looked at; None if nothing is."""
    if vocab_size is None:
        return None
    if not isinstance(answer, Tensor):
        return f"{call.kind} returned {type(answer).__name__} where a tensor of logits [B, V] is expected"
    expected = [call.value.shape[0], vocab_size]
    if list(answer.shape) != expected:
        return f"{call.kind} returned shape {list(answer.shape)}, expected logits [B, V] = {expected}"
    if not answer.is_floating_point():
        return f"{call.kind} returned {answer.dtype}, expected floating-point logits"
    if answer.device != call.value.device:
        return f"{call.kind} returned logits on {answer.device}, the tokens are on {call.value.device}"
    if not bool(torch.isfinite(answer).all()):
        kinds = (("NaN", bool(torch.isnan(answer).any())), ("infinity", bool(torch.isinf(answer).any())))
        bad = [name for name, there in kinds if there]
        return f"{call.kind} returned {' and '.join(bad)} in row {int((~torch.isfinite(answer)).nonzero()[0, 0])}"
    return None


def rows_held(decoder: Any) -> list[int] | None:
    """Rows per layer, measured from the tensors; None where the decoder does not show them."""
    try:
        return [int(k.shape[2]) for k, _ in decoder.layers()]
    except Exception:  # noqa: BLE001 - not offered, or in another form: the audit goes on without
        return None


def missing(script: Script, decoder: Any) -> list[str]:
    """The calls of the script that this decoder does not offer, in words; empty where it can run."""
    lacks = {call.kind for call in script.calls if not callable(getattr(decoder, call.kind, None))}
    if any(call.lengths is not None for call in script.calls) and not takes_lengths(decoder):
        lacks.add("prefill(lengths=)")
    return sorted(lacks)


def takes_lengths(decoder: Any) -> bool:
    try:
        return "lengths" in inspect.signature(decoder.prefill).parameters
    except (TypeError, ValueError):
        return False


def largest(a: list[Tensor], b: list[Tensor]) -> float:
    """Largest difference of two lists of logits, as far as both go."""
    return max((float((x.double() - y.double()).abs().max()) for x, y in zip(a, b)), default=0.0)
