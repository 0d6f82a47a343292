"""What lesson 04 looks with: traces compared, a tolerance from two sides, work and bytes counted, two runs beside each other."""

import math

import pytest
import torch

from helpers.checks.small import fed_in, small_model, some_tokens
from helpers.decoding import Oracle, generate, teacher_forced
from helpers.lab import costs, repeats, traces
from helpers.lab.memory import peak_bytes
from helpers.model import Config, MiniGPT

T0, N = 5, 4


@pytest.fixture(scope="module")
def model():
    return small_model()


@pytest.fixture(scope="module")
def trace(model):
    return generate(Oracle(model), some_tokens(T0), N)


# ---- traces ----


def test_a_difference_is_found_with_its_place_and_its_size(trace):
    other = trace.logits.clone()
    other[2, 1, 7] += 0.5
    step, row, difference, _ = traces.compare(trace.logits, other)
    assert (step, row) == (1, 2) and difference == pytest.approx(0.5)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_an_infinite_difference(trace, value):
    other = trace.logits.clone()
    other[2, 1, 7] = value
    for pair in ((trace.logits, other), (other, trace.logits)):
        assert traces.compare(*pair) == (1, 2, math.inf, False)


def test_certified_means_that_the_text_is_the_same_and_not_that_the_logits_are():
    a = torch.zeros(1, 1, 3, dtype=torch.float64)
    a[..., 0] = 4.0
    assert traces.compare(a, a + torch.tensor([0.0, 1.75, 0.0]))[3] is True
    assert traces.compare(a, a + torch.tensor([0.0, 2.0, 0.0]))[3] is False


@pytest.mark.parametrize("cut", [lambda x: x[:1], lambda x: x[:, :1], lambda x: x[..., :1]])
def test_traces_that_would_broadcast_are_refused(trace, cut):
    with pytest.raises(ValueError, match="one shape"):
        traces.compare(trace.logits, cut(trace.logits))


def test_empty_traces_are_refused(trace):
    with pytest.raises(ValueError, match="none of them empty"):
        traces.compare(trace.logits[:, :0], trace.logits[:, :0])


@pytest.mark.parametrize(
    ("nulls", "faults", "right"),
    [
        ([1e-14, 4e-14], [9.0, 0.25], 1e-7),
        ([0.0], [1.0], 2.0**-26),
        ([0.5], [4.0], None),
        ([], [1.0], None),
        ([1.0], [], None),
        ([math.nan], [1.0], None),
        ([1e-9], [math.inf], None),
    ],
)
def test_a_tolerance_stands_between_both_sides_or_there_is_none(nulls, faults, right):
    assert traces.pick_tolerance(nulls, faults) == (right and pytest.approx(right))


def test_right_ways_to_compute_agree_to_rounding_and_rounding_is_there(model, trace):
    found = {
        name: traces.compare(trace.logits, x)[2]
        for name, x in traces.schedules(model, trace.prompt, trace.tokens).items()
    }
    assert len(found) == 4 and 0 < max(found.values()) < 1e-12


# ---- costs ----


@pytest.mark.parametrize(("prompt", "new"), [(6, 5), (1, 1), (1, 6), (4, 2)])
def test_rows_computed_again_are_those_that_a_model_computes_again(prompt, new):
    fed = fed_in(lambda model, tokens, n: generate(Oracle(model), tokens, n), prompt, new)
    assert costs.rows_redone(prompt, new) == sum(fed) - max(fed)
    assert [(p.rows, p.again) for p in costs.passes(prompt, new)] == list(zip(fed, [0, *fed]))
    assert costs.rows_redone(prompt, 0) == 0


def test_passes_need_a_prompt_and_a_new_token():
    for prompt, new in ((0, 3), (3, 0)):
        with pytest.raises(ValueError, match="at least 1"):
            costs.passes(prompt, new)


def test_the_triangle_draws_one_mark_for_each_row_and_says_what_it_shows():
    plot = costs.triangle(3, 3)
    assert plot.title == "7 of 12 K/V rows are computed again" and plot.rows[-1] == [2, 5, 1, 4]
    assert [len(c.get_offsets()) for c in plot.figure.axes[0].collections] == [0, 3, 3, 1, 4, 1]


def test_the_panel_counts_as_the_closed_form_does():
    panel = costs.waste_panel().set(prompt=6, new=5)
    assert (
        repr(panel) == "Waste: A prompt of 6, 5 new: 40 K/V rows a layer in 5 passes, 30 of them computed again (75%)."
    )
    assert panel.area.value.count(">a</text>") == 30 + 1  # and one in the legend


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("t", [1, 7])
def test_multiply_adds_are_those_that_torch_counts(cached, t):
    block = MiniGPT(Config(7, 16, n_layers=1, n_heads=2, d_model=20, d_ff=80)).blocks[0]
    assert costs.counted_macs(block, t, cached) == costs.layer_macs(t, 20, cached)


def test_bytes_are_those_held_at_one_time():
    assert peak_bytes(lambda: torch.zeros(1000)) == 4000
    assert peak_bytes(lambda: (torch.zeros(1000), torch.zeros(500))) == 6000
    assert peak_bytes(lambda: [torch.zeros(1000).sum() for _ in range(3)]) < 4100  # given back each time
    assert peak_bytes(lambda: torch.zeros(1000).view(10, 100).T) == 4000  # views hold nothing of their own


def test_a_pass_holds_more_the_longer_its_text(model):
    assert peak_bytes(lambda: model(some_tokens(16))) > 3 * peak_bytes(lambda: model(some_tokens(4)))


# ---- two runs ----


def outcome(model, way, change):
    return repeats.repeat(model, some_tokens(T0)[:2], 8, way, change)


@pytest.mark.parametrize("way", repeats.WAYS)
def test_the_same_call_with_the_same_seed_is_the_same_run(model, way):
    r = outcome(model, way, "nothing")
    assert r.parts_at is None and r.difference == 0 and "bit by bit" in repeats.sentence(r)


def test_argmax_is_a_function_of_the_tokens(model):
    for change in repeats.CHANGES:
        assert outcome(model, "argmax", change).parts_at is None


def test_sampled_rows_one_by_one_write_other_texts_from_equal_logits(model):
    r = outcome(model, "sampling", "rows one by one")
    assert r.parts_at is not None and 0 < r.difference < 1e-12
    assert f"the texts part at new token {r.parts_at}" in repeats.sentence(r)


@pytest.mark.parametrize("change", ["rows one by one", "another seed"])
def test_forgotten_dropout_moves_the_logits(model, change):
    assert outcome(model, "dropout left on", change).difference > 0.1


def test_a_forgetful_model_has_the_same_weights_and_is_another_object(model):
    twin = repeats.forgetful(model)
    assert twin.training and not model.training
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), twin.parameters()))
    tokens = some_tokens(T0)
    assert torch.equal(
        teacher_forced(Oracle(twin.eval()), tokens, tokens), teacher_forced(Oracle(model), tokens, tokens)
    )


def test_torch_s_own_generator_is_left_as_it_was(model):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    outcome(model, "dropout left on", "nothing")
    assert torch.equal(before, torch.get_rng_state())


def test_other_words_are_refused(model):
    with pytest.raises(ValueError, match="way must be one of"):
        outcome(model, "beam search", "nothing")


def test_the_panel_frames_what_differs(monkeypatch, model):
    monkeypatch.setattr(repeats.TOKENIZER, "decode", lambda ids: "".join(f" {int(i)}" for i in ids), raising=False)
    panel = repeats.repeat_panel(model, some_tokens(T0)[:2], 8)
    assert "&#10007;" not in panel.area.value and repr(panel).startswith("Twice: argmax")
    panel.set(way="sampling", change="rows one by one")
    assert "&#10007;" in panel.area.value
    assert panel.report("sampling", "rows one by one") is panel.report("sampling", "rows one by one")
