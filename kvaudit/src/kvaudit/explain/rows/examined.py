"""What the rows of one script say: the first step after which they are wrong, and what they are then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...plan import Script
from ...subject import Uncached
from .attended import behind, residual
from .beside import Beside, lay
from .classify import classified, unwritten
from .described import Forensics, Wrong
from .grids import grid
from .kinds import PARTS
from .order import BETWEEN, NEWEST
from .views import View
from .words import merged, sentence

LATER = ("rotated", "fed")  # what layer 0 says of a position or a token is clearer after some steps


class Examined:
    """A script's rows beside the right ones, and what they say. `late`: the first step with wrong logits."""

    def __init__(
        self,
        script: Script,
        laid: list[Beside],
        sure: Sequence[Beside],
        views: dict[int, View],
        reference: Uncached,
        late: int,
        tolerance: float,
    ) -> None:
        self.script, self.laid, self.views, self.reference, self.late = script, laid, views, reference, late
        self.tolerance, self.tail = tolerance, buffered(laid) or roomy(laid, sure)
        self.first = next((i for i, state in enumerate(laid[: late + 1]) if self.wrong_in(state)), None)
        self.now = laid[late if self.first is None else self.first]
        self.shown = self.now.step.number

    def told(self) -> Forensics | None:
        """What there is to say."""
        now, L = self.now, self.reference.n_layers
        seen = Forensics(
            script=self.script.name,
            step=now.step.number,
            logits_step=self.late,
            shown=self.shown,
            layout=next(iter(self.views.values())).layout.name,
            shapes=(now.right.B, max((x.want.shape[1] for x in now.laid.values()), default=0), L),
            behind=max((behind(x.held) for x in now.laid.values() if x.extra), default=0),
        )
        if self.first is None:
            wrong = self.rounded()
            attention = None if wrong or not self.complete(L) else L - 1
            seen = replace(seen, wrong=tuple(wrong), attention=attention)
        else:
            seen = replace(seen, wrong=tuple(self.wrong()), shown=self.shown, residual=self.residual())
            seen = self.with_attention(seen)
        seen = replace(seen, grids=[grid(state, L) for state in self.laid])
        return replace(seen, words=sentence(seen)) if seen.wrong or seen.attention is not None else None

    def wrong(self) -> list[Wrong]:
        """What is wrong after the first wrong step; of layer 0's positions and tokens, what the later ones show as well."""
        found = self.classified(self.now)
        for order in (NEWEST, BETWEEN) if any(x.extra for x in self.now.laid.values()) else ():
            other = self.read(lay(self.now.step, self.views, self.reference, order))
            tried = self.classified(other)
            if burden(tried) < burden(found) and other.right_rows >= self.now.right_rows:
                found, self.now, self.laid[self.now.step.number] = tried, other, other
        if found and all(w.layer == 0 and w.kind in LATER for w in found):
            last = self.last_of_request()
            later = self.classified(last, layers=1)
            if later and all(w.kind in LATER for w in later):
                self.shown = last.step.number
                return later
        if any(view.bits for view in self.views.values()):  # what is made of rounded rows is off by more than they are
            rest = [w for w in found if w.kind != "unknown" or w.layer == 0]
            return rest or self.rounded()
        return found

    def classified(self, state: Beside, layers: int = 0) -> list[Wrong]:
        layers = layers or self.reference.n_layers
        return classified(self.script, state, self.views, self.reference, self.tail, range(layers))

    def read(self, state: Beside) -> Beside:
        """The same without what cannot be read."""
        state.laid = {at: x for at, x in state.laid.items() if at in self.now.laid}
        return state

    def last_of_request(self) -> Beside:
        """The last state that follows from this one by tokens alone."""
        last = self.now
        for state in self.laid[self.now.step.number + 1 :]:
            follows = state.step.call.on == last.step.call.on and state.step.at == last.step.at + 1
            if not follows or state.step.call.kind == "prefill":
                break
            last = state
        return last

    def with_attention(self, seen: Forensics) -> Forensics:
        """New rows of a layer that are no known ones, over layers whose rows are right: what lies between is wrong."""
        if not seen.wrong:
            return seen
        layer = min(w.layer for w in seen.wrong)
        lowest = [w for w in seen.wrong if w.layer == layer]
        unknown = all(w.kind == "unknown" and not w.old for w in lowest) and {w.part for w in lowest} == {"K", "V"}
        if layer and all(w.kind == "unknown" for w in lowest) and not self.complete(layer + 1):
            return replace(seen, wrong=())
        if layer == 0 or not unknown:
            return seen
        last, T = self.now.right.S - 1, self.now.step.T
        ahead = T > 1 and all(last not in w.rows and len(w.rows) == T - 1 for w in lowest)
        if seen.step != seen.logits_step or (seen.residual is not None and not ahead):
            return seen
        return replace(seen, wrong=(), attention=layer - 1, ahead=ahead, residual=None)

    def complete(self, layers: int) -> bool:
        """Whether all rows of the first layers can be read."""
        return all((layer, part) in self.now.laid for layer in range(layers) for part in (0, 1))

    def wrong_in(self, state: Beside) -> bool:
        return any(bool(x.wrong.any()) or (not self.tail and unwritten(x)) for x in state.laid.values())

    def residual(self) -> float | None:
        """How closely attention over the rows gives the wrong logits; None where it does not."""
        late = self.laid[self.late]
        earlier = [x for x in self.laid[: self.late] if x.step.call.on == late.step.call.on]
        gap = residual(late, earlier[-1] if earlier and late.step.call.kind != "prefill" else None, self.reference)
        return gap if gap is not None and gap <= self.tolerance else None

    def rounded(self) -> list[Wrong]:
        """Rows that are kept in fewer bits, and are right but for that."""
        B, H, L = (
            self.now.right.B,
            max((x.want.shape[1] for x in self.now.laid.values()), default=0),
            self.reference.n_layers,
        )
        every = tuple(range(B)), tuple(range(H)), tuple(range(self.now.right.S))
        bits = [(part, view.bits) for part, view in self.views.items() if view.bits]
        return [Wrong(at, PARTS[part], *every, "rounded", detail=name) for at in range(L) for part, name in bits]


def burden(wrong: Sequence[Wrong]) -> int:
    """How much must be said: the order in which rows are told in the fewest words is the right one."""
    return sum(1 + 2 * ("unknown" in (w.kind, w.detail)) for w, _, _ in merged(wrong))


def roomy(laid: Sequence[Beside], sure: Sequence[Beside]) -> bool:
    """Whether there is room behind the rows: what stands there, zeros or not, did not harm where logits are right."""
    extra = [x for state in laid for x in state.laid.values() if x.extra]
    return any(not unwritten(x) for x in extra) or any(x.extra for state in sure for x in state.laid.values())


def buffered(laid: Sequence[Beside]) -> bool:
    """Whether rows stand in a buffer of one size, the last of which are not written yet, or not any more."""
    held = {tuple(sorted((at, x.held.shape[2]) for at, x in state.laid.items())) for state in laid}
    return laid[0].step.table is not None or (len(held) == 1 and len({state.right.S for state in laid}) > 1)
