"""When a mistake holds: in which calls, judged by what was called before. Scripts can be asked the same, without running."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..hypotheses.base import WITH_LAYER
from ..replays import AGAIN
from ..rules import Rules
from ..witness import Witness

Events = Sequence[str]  # kinds of all calls so far, the present one last


@dataclass(frozen=True)
class Scope:
    """`holds(events)`: whether it does in the last of these calls. `needs`: a kind without which it has not held yet."""

    words: str
    holds: Callable[[Events], bool]
    needs: str | None
    cost: int


def this_request(events: Events) -> Events:
    """The calls since the last prefill, that one first."""
    starts = [i for i, kind in enumerate(events) if kind == "prefill"]
    return events[starts[-1] :] if starts else events


def in_kind(kind: str) -> Callable[[Events], bool]:
    return lambda events: events[-1] == kind


def since(kind: str) -> Callable[[Events], bool]:
    return lambda events: kind in this_request(events)[:-1]


def first_step(events: Events) -> bool:
    return events[-1] == "decode" and "decode" not in this_request(events)[:-1]


def later_steps(events: Events) -> bool:
    return events[-1] == "decode" and not first_step(events)


def filled(events: Events) -> bool:
    return events[-1] in ("decode", "extend")


def second(events: Events) -> bool:
    return list(events).count("prefill") > 1


ALWAYS = Scope("in every call", lambda events: True, None, 0)
DECODE = Scope("in decode", in_kind("decode"), "decode", 0)
PREFILL = Scope("in prefill", in_kind("prefill"), "prefill", 1)
CHUNK = Scope("in a chunk on a filled cache", in_kind("extend"), "extend", 1)
FILLED = Scope("on a filled cache", filled, None, 1)
FIRST = Scope("in the first step after a prompt", first_step, "decode", 2)
LATER = Scope("from the second step on", later_steps, "decode", 2)
SECOND = Scope("from the second request on", second, AGAIN, 2)
CROPPED = Scope("after a rollback", since("crop"), "crop", 2)
REORDERED = Scope("after a change of beams", since("reorder"), "reorder", 2)
FORKED = Scope("after a fork", since("fork"), "fork", 2)
AFTER_CHUNK = Scope(
    "in steps after a chunk", lambda e: e[-1] == "decode" and "extend" in this_request(e)[:-1], "extend", 2
)
SCOPES = (ALWAYS, DECODE, PREFILL, CHUNK, FILLED, FIRST, LATER, SECOND, CROPPED, REORDERED, FORKED, AFTER_CHUNK)
ON_FILLED = tuple(scope for scope in SCOPES if scope is not PREFILL)


def scoped(scope: Scope, rules: Rules, layer: int | None = None, beside: Rules | None = None) -> Rules:
    """Rules that hold in a scope, and in one layer where that is given; elsewhere those `beside`, or the witness's own."""
    return {name: limited(scope, name, rule, layer, (beside or {}).get(name)) for name, rule in rules.items()}


def limited(
    scope: Scope, name: str, rule: Callable[..., Any], layer: int | None, beside: Callable[..., Any] | None
) -> Callable[..., Any]:
    def chosen(w: Witness, *args: Any) -> Any:
        here = layer is None or layer == (args[0] if name in WITH_LAYER else w.layer)
        if here and scope.holds(w.events):
            return rule(w, *args)
        return (beside or getattr(type(w), name))(w, *args)

    chosen.kind = None if beside else scope.needs  # type: ignore[attr-defined]
    return chosen
