"""What hypotheses answer to scripts: two that agree so far share a call, which is computed once.

A hypothesis about decode steps has the prefill of the correct witness; one about rollback has all its calls up to the
first `crop`. And an audit asks the same hypothesis twice: does it reproduce the decoder, and would the scripts show it?
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from ..plan.calls import Call, Script
from ..play.run import Watch, perform, rows_held
from ..subject.uncached import Uncached
from .witness import HANDING_ON, Rules, Witness

AGAIN = "a second prefill"  # what a rule about later requests waits for
ROOM = 128e6  # bytes kept for each reference; beyond them the longest unused calls are forgotten


@dataclass
class Answered:
    """A call as a witness answered it: its logits `[B, V]` (None for a crop, …), and its decoders, as they are then."""

    decoders: dict[str, Witness]
    logits: Tensor | None = None
    rows: list[int] | None = None
    ended: bool = False  # it raised: nothing comes after it

    @property
    def size(self) -> int:
        kept = [x for w in self.decoders.values() for x in (*w.keys, *w.values) if x is not None]
        return sum(x.nbytes for x in (*kept, self.logits) if x is not None)


class Replays:
    """Runs hypotheses on scripts over one reference; keeps what it computed, up to `room` bytes."""

    def __init__(self, reference: Uncached, room: float = ROOM) -> None:
        self.reference, self.room, self.used = reference, room, 0
        self.kept: OrderedDict[Any, Answered] = OrderedDict()

    def run(self, script: Script, rules: Rules, watch: Watch | None = None) -> list[list[int] | None]:
        """Rows per layer after each answering call. `watch(step, logits)` may return True to stop early."""
        rows: list[list[int] | None] = []
        for answered in self.answers(script, rules):
            if answered.logits is not None:
                rows.append(answered.rows)
                if watch is not None and watch(len(rows) - 1, answered.logits):
                    break
        return rows

    def answers(self, script: Script, rules: Rules) -> Iterator[Answered]:
        """Each call of the script as answered under these rules, up to the first that raises."""
        kinds: set[str] = set()
        answered = Answered({"main": Witness(self.reference, rules)})
        for i, call in enumerate(script.calls):
            kinds |= {call.kind, AGAIN} if call.kind == "prefill" and "prefill" in kinds else {call.kind}
            key = script.content, i, acting(rules, kinds)
            answered = self.find(key) or self.keep(key, answer(call, answered, rules))
            if answered.ended:
                break
            yield answered

    def find(self, key: Any) -> Answered | None:
        if key in self.kept:
            self.kept.move_to_end(key)
        return self.kept.get(key)

    def keep(self, key: Any, answered: Answered) -> Answered:
        self.kept[key] = answered
        self.used += answered.size
        while self.used > self.room:
            self.used -= self.kept.popitem(last=False)[1].size
        return answered


def replays(reference: Uncached) -> Replays:
    """The one `Replays` of a reference."""
    return reference.remembered("replays", lambda: Replays(reference))


def acting(rules: Rules, kinds: Iterable[str]) -> frozenset[Any]:
    """The rules that can have acted in calls of these kinds: whoever has the same ones has answered alike."""
    return frozenset((name, rule) for name, rule in rules.items() if acts_in(name, rule) in (None, *kinds))


def acts_in(name: str, rule: Any) -> str | None:
    """The kind of call (or AGAIN) without which a rule has not acted yet, None where it may act in any."""
    return name if name in HANDING_ON else getattr(rule, "kind", None)


def answer(call: Call, before: Answered, rules: Rules) -> Answered:
    """The call on copies of the decoders `before` it, under these rules."""
    twins = {id(w): w.copied(rules) for w in before.decoders.values()}  # one decoder may stand under two names
    decoders = {name: twins[id(w)] for name, w in before.decoders.items()}
    try:
        logits = perform(call, decoders)
    except Exception:  # noqa: BLE001 - a bug may well run out of positions: that is where its answers end
        return Answered({}, ended=True)
    if call.kind in HANDING_ON:
        return Answered(decoders)
    return Answered(decoders, logits, rows_held(decoders[call.on]))
