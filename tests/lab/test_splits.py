"""The panel of a step's parts, on spans that are known."""

from helpers.lab.splits import COUNTS, recorded_splits, render_split, split_panel

OWN, WHOLE = COUNTS
SPANS = [("step", 0.0, 20.0), ("attention", 2.0, 12.0), ("cache writes", 5.0, 8.0), ("cache writes", 15.0, 16.0)]


def test_the_panel_counts_both_ways():
    recorded = {(cache, 64): [SPANS] for cache in ("in place", "concatenated")}
    splits = recorded_splits(recorded)
    own = render_split(splits, "in place", 64, OWN).sentence
    whole = render_split(splits, "in place", 64, WHOLE).sentence
    assert "attention ≈ 7,000 ms" in own and "add up to ≈ 20,000 ms" in own
    assert "attention ≈ 10,000 ms" in whole and "add up to ≈ 34,000 ms, the step took ≈ 20,000 ms" in whole
    panel = split_panel(recorded)
    panel.set(cache="concatenated", count=WHOLE)
    assert panel.sentence.startswith("concatenated, 64 tokens, with all that happens within it")
