"""Two faults at once: every pair of the catalogue is there with both its methods, or is refused in words."""

from itertools import combinations

import pytest

from helpers.faults import CATALOGUE, faulty, find
from helpers.faults.scenarios import run_scenario, scenario_of
from tests.wide import wide

MODEL = wide("rope")  # can have every fault
CACHES = {"buffer", "window", "left padding"}


def clash(a, b):
    """Why the two cannot be combined, from the catalogue alone; None if they can."""
    if (a.part, a.method) == (b.part, b.method):
        return "both replace"
    if {a.needs, b.needs} <= CACHES and a.needs != b.needs:
        return "one kind of cache"
    rewrites = [f for f, other in ((a, b), (b, a)) if f.method == "update" and other.needs == "buffer" != f.needs]
    return "that concatenates" if rewrites else None


@pytest.mark.parametrize("id", CATALOGUE)
def test_every_pair_runs_with_both_faults_or_says_why_not(id):
    others = [b for a, b in combinations(CATALOGUE, 2) if a == id]
    for other in others:
        a, b = find(id), find(other)
        reason = clash(a, b)
        if reason:
            with pytest.raises(ValueError, match="cannot be combined") as error:
                faulty(MODEL, id, other)
            assert reason in str(error.value) and (a.id in str(error.value) or b.id in str(error.value))
        else:
            assert both_are_there(faulty(MODEL, id, other), a, b), (id, other)
            trace = run_scenario(MODEL, (id, other), n=4)
            assert trace.steps or trace.error, (id, other)


def both_are_there(decoder, *faults):
    """A class further down the line of bases must not hide a fault's method."""
    parts = {"cache": decoder.new_cache(), "attention": decoder.model.blocks[0].attention, "decoder": decoder}
    return all(getattr(type(parts[f.part]), f.method) is vars(f.cls)[f.method] for f in faults)


@pytest.mark.parametrize(
    "ids",
    [
        ("pos_plus1", "tail_unmasked"),
        ("pos_minus1", "attend_then_append"),
        ("evict_pos_rows", "window_keeps_one_more"),
        ("gqa_tile", "rope_query_restarts"),
        ("leftpad_decode_pos_shared", "sdpa_top_left"),
        ("not_reset", "decode_row_twice"),
        ("refeed_last_prompt_token", "leftpad_arange_pos"),
    ],
)
def test_a_pair_is_neither_of_its_halves(ids):
    model = MODEL if "rope_query_restarts" in ids else wide()  # rotary positions hide what the padding does

    def logits(chosen):
        return run_scenario(model, chosen, scenario_of(ids)).steps[-1].logits

    both = logits(ids)
    for alone in ids:
        assert (both - logits((alone,))).abs().max() > 1e-3


def test_three_faults_of_three_parts():
    decoder = faulty(MODEL, "pos_zero", "gqa_tile", "not_reset")
    assert both_are_there(decoder, *map(find, ("pos_zero", "gqa_tile", "not_reset")))


def test_the_order_of_the_ids_does_not_matter():
    one, two = (
        run_scenario(MODEL, ids, "plain").steps
        for ids in (("tail_unmasked", "pos_zero"), ("pos_zero", "tail_unmasked"))
    )
    assert [a.difference for a in one] == [b.difference for b in two]


def test_a_scenario_with_another_cache_than_the_fault_is_refused():
    with pytest.raises(ValueError, match="left padding was asked for.*cannot be combined"):
        run_scenario(MODEL, ("tail_unmasked",), "ragged")
