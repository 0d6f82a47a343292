"""How many rows a correct cache holds after each step, beside how many there are."""

from torch import Tensor

from ...plan import Script
from ...subject import Side
from ...witness.replays import replays
from ..explained import Explained
from .record import record


def expect_rows(found: Explained) -> None:
    """Fill in `expected_rows` of the results whose decoder shows its rows as `[B, H_kv, S, D]`; others have no counts."""
    side = found.judged.side
    shown = [(script, result) for script, result in found.pairs() if result.rows and result.rows[0] is not None]
    if not side.reference.tapped or not shown:
        return
    usual = counted(shown[0][0], side)
    for script, result in shown:
        if usual:
            result.expected_rows = replays(side.reference).run(script, {})
        else:
            result.rows = [None] * len(result.rows)


def counted(script: Script, side: Side) -> bool:
    """Whether the third axis of the decoder's tensors is that of the rows."""
    first = Script(script.name, script.about, script.calls[:1])
    for step in record(first, side):
        right: Tensor = step.answers[-1].decoders[step.call.on].layers()[0][0]
        held = step.layers[0][0]
        return held.dim() == 4 and (held.shape[0], held.shape[3]) == (right.shape[0], right.shape[3])
    return True
