"""Layer 0 by itself: its rows depend on one token and one position alone, so that a wrong one says what was fed where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import torch
from torch import Tensor

from ...subject import Uncached
from .described import Of
from .kinds import Cells
from .right import Right

TOKENS = POSITIONS = 64  # that are tried


class Enough(BaseException):
    """Layer 0 has been met. No `Exception`: nobody on the way shall take it for an error."""


def layer0(reference: Uncached, tokens: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values `[N, H_kv, T, D]` of layer 0 for tokens and positions `[N, T]`."""
    met: list[Tensor] = []

    def listen(layer: int, q: Tensor, k: Tensor, v: Tensor, scale: float) -> NoReturn:
        met.extend((k, v))
        raise Enough

    try:
        reference.forward(tokens, positions, listen)
    except Enough:
        pass
    return met[0].double().cpu(), met[1].double().cpu()


def fed(cells: Cells, reference: Uncached, right: Right) -> None:
    """Another token of the sequence, or the same at another position."""
    if cells.layer or not cells.rows:
        return
    history = right.witness.history.cpu()
    tokens = torch.tensor(sorted(set(history.flatten().tolist()))[:TOKENS])
    places = torch.arange(min(reference.block_size, max(POSITIONS, right.S + 8, *cells.rows)))
    grid = tokens[:, None].expand(-1, len(places)).to(reference.device)
    rows = layer0(reference, grid, places.expand(len(tokens), -1).to(reference.device))[cells.part][
        :, list(cells.heads)
    ]
    rows = cells.view.right(rows, places.expand(len(tokens), -1), reference)  # [tokens, H, positions, D]
    for i in range(len(cells.rows)):
        close = (rows - cells.x[i][None, :, None]).abs().amax(dim=(1, 3)) <= cells.limit
        hits = [(int(tokens[t]), p) for t, p in close.nonzero().tolist()]
        place = cells.rows[i]
        stands = int(right.positions[cells.batch[i], place]) if place < right.S else place
        hits = [hit for hit in hits if hit[1] == stands] or hits  # values need not say where they stand
        for hit in hits:
            cells.signs[i] |= {
                ("fed", Of(), said) for said in ways(history[cells.batch[i]], place, *hit, stands) if said
            }


def ways(history: Tensor, place: int, token: int, position: int, stands: int) -> Iterator[str]:
    """Ways to say which token at which position: those that are as they should be are left out."""
    own = place < len(history) and int(history[place]) == token
    where = (history == token).nonzero().flatten().tolist()
    which = [f"token of row {q - place:+d}" for q in where] or [f"token {token}"]
    at = [f"position {position - stands:+d}", f"position ={position}"]
    for t in [""] if own else which:
        for p in [""] if position == stands else at:
            yield ", ".join(filter(None, (t, p)))
