"""Of all that could be said of wrong rows, the fewest ways that cover them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from .described import Of, Wrong
from .kinds import PARTS, Cells, Sign

SAME = Of()


def told(cells: Cells) -> Iterator[Wrong]:
    """The fewest signs that cover the rows; of those that cover equally many, the least far-fetched. Others are unknown."""
    rest = set(range(len(cells.batch)))
    while rest:
        counts = Counter(sign for i in rest for sign in cells.signs[i])
        if not counts:
            break
        places = {sign: len({cells.rows[i] for i in rest if sign in cells.signs[i]}) for sign in counts}
        best = max(sorted(counts, key=str), key=lambda sign: counts[sign] - 0.2 * cost(sign, places[sign]))
        some = {i for i in rest if best in cells.signs[i]}
        yield wrong(cells, sorted(some), *best)
        rest -= some
    if rest:
        yield wrong(cells, sorted(rest), "unknown")


def cost(sign: Sign, rows: int) -> float:
    """How far-fetched it is of so many rows; of a single one, to turn it twice is any turn."""
    kind, of, detail = sign
    told = 0.3 * bool(detail) + 0.3 * ("=" in detail) + 1.2 * (kind == "fed") + 0.5 * detail.count(",")
    if detail == "not" or (detail == "again" and rows > 1):
        told -= 0.5
    return of.cost + told + 0.5 * (detail == "again" and rows == 1)


def agreed(cells: Iterable[Cells]) -> None:
    """What can be said of a key and of the value beside it is said of both."""
    at: dict[tuple[int, int, tuple[int, ...]], list[set[Sign]]] = {}
    for some in cells:
        for key, signs in zip(zip(some.batch, some.rows, [some.heads] * len(some.rows)), some.signs):
            at.setdefault(key, []).append(signs)
    for pair in at.values():
        both = set.intersection(*pair)
        for signs in pair if both else ():
            signs &= both


def wrong(cells: Cells, some: Sequence[int], kind: str, of: Of = SAME, detail: str = "") -> Wrong:
    batch, rows = ({*(x[i] for i in some)} for x in (cells.batch, cells.rows))
    part = PARTS[cells.part]
    extra = cells.want is None
    kind, detail = ("extra", detail or kind) if extra else (kind, detail)
    return Wrong(cells.layer, part, tuple(sorted(batch)), cells.heads, tuple(sorted(rows)), kind, of, detail)
