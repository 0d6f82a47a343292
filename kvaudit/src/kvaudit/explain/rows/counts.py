"""How many rows a correct cache holds after each step, beside how many there are."""

from ...witness.replays import replays
from ..explained import Explained


def expect_rows(found: Explained) -> None:
    """Fill in `expected_rows` of the results whose decoder shows its rows."""
    reference = found.judged.side.reference
    if not reference.tapped:
        return
    for script, result in found.pairs():
        if result.rows and result.rows[0] is not None:
            result.expected_rows = replays(reference).run(script, {})
