"""Each fault of the catalogue: what it says of itself, where it first goes wrong, and how long its cache gets."""

import inspect

import pytest
import torch

from helpers.cache import ConcatCache
from helpers.decoding import CachedDecoder, Oracle, generate
from helpers.faults import CATALOGUE, WINDOW, faulty, find
from helpers.faults.scenarios import SCENARIOS, random_prompt, run_scenario, scenario_of, scenario_texts
from helpers.loops import beam_search
from tests.wide import wide

T0, N, CAPACITY = 7, 6, 9  # prompt, steps, slots in the scenario "overflow"
NEVER, TOLERANCE = None, 1e-9
MODELS = {positions: wide(positions) for positions in ("learned", "rope")}


def right(step):
    return T0 + step


# id -> (family, first wrong step, rows of a layer after each step); "second": of the second request on a stored prefix
TABLE = {
    "pos_zero": ("position", 1, right),
    "pos_restart": ("position", 1, right),
    "pos_plus1": ("position", 1, right),
    "pos_minus1": ("position", 1, right),
    "pos_uniform_shift": ("position", 0, right),
    "sdpa_top_left": ("mask", 1, right),
    "chunk_top_left": ("mask", 0, right),
    "mask_only_if_square": ("mask", 0, right),
    "no_mask_with_cache": ("mask", 0, right),
    "attend_then_append": ("append", 1, right),
    "frozen_cache": ("append", 2, lambda step: T0),
    "refeed_last_prompt_token": ("duplicate", 0, lambda step: T0 + 1 + step),
    # A step feeds the T0 + step tokens of the sequence on top of what is there.
    "refeed_everything": ("duplicate", 1, lambda step: T0 + sum(T0 + s for s in range(1, step + 1))),
    "decode_row_twice": ("duplicate", 1, lambda step: T0 + 2 * step),
    "not_reset": ("stale", 0, lambda step: (T0 + 1) + T0 + step),  # the first request fed its prompt and one token
    "value_is_key": ("K/V", 0, right),
    "layer_idx_stuck": ("layers", 1, right),
    "layers_share_list": ("layers", 0, lambda step: 3 * (T0 + step)),
    "tail_unmasked": ("preallocated", 0, right),
    "clamp_overflow": ("capacity", CAPACITY - T0 + 1, lambda step: min(T0 + step, CAPACITY)),
    "gqa_tile": ("shared heads", 0, right),
    # Step s stands at T0 + s; the first row is evicted at T0 + s = W, the first step after that is wrong.
    "evict_pos_rows": ("window", WINDOW - T0 + 2, lambda step: min(T0 + step, WINDOW)),
    "window_keeps_one_more": ("window", WINDOW - T0 + 1, lambda step: min(T0 + step, WINDOW + 1)),
    "rope_again": ("rotary", 1, right),
    "rope_query_restarts": ("rotary", 1, right),
    "leftpad_arange_pos": ("ragged batch", 0, right),
    "leftpad_decode_pos_shared": ("ragged batch", 1, right),
    "beam_no_reorder": ("beams", "change of parent", right),
    # Steps 0 to N - 1 are the first request's; the second one finds its rows behind the prefix.
    "prefix_store_mutated": ("aliasing", N, lambda step: T0 + step if step < N else T0 + step + 1),
    "spec_no_crop": ("rollback", 3, lambda step: T0 + step + (step >= 3) + (step >= 5)),
}
HARMLESS_WITH_ROPE = {"pos_uniform_shift", "leftpad_arange_pos"}
CASES = [(id, p) for id in TABLE for p in MODELS if CATALOGUE[id].fits(MODELS[p].config)]


def test_the_catalogue_has_exactly_these_faults_and_families():
    assert {id: fault.family for id, fault in CATALOGUE.items()} == {id: row[0] for id, row in TABLE.items()}


@pytest.mark.parametrize("id", TABLE)
def test_an_entry_has_all_its_words(id):
    fault = find(id)
    assert 2 <= len(fault.title.split()) <= 5
    assert fault.does.endswith(".") and len(fault.does) <= 130
    assert len(fault.look.split()) >= 5 and fault.look[-1] != "."
    owner, number = fault.report.split("#")
    assert owner.count("/") == 1 and number.isdigit()
    assert fault.scenario in SCENARIOS


def test_titles_and_words_are_all_different():
    for words in ("title", "does"):
        assert len({getattr(fault, words) for fault in CATALOGUE.values()}) == len(CATALOGUE)


@pytest.mark.parametrize("id", TABLE)
def test_a_class_overrides_exactly_one_method_in_a_few_lines(id):
    fault = find(id)
    names = [name for name in vars(fault.cls) if not name.startswith("_")]
    assert names == [fault.method]
    (base,) = fault.cls.__bases__
    assert callable(getattr(base, fault.method))  # it replaces something
    assert len(inspect.getsource(getattr(fault.cls, fault.method)).splitlines()) <= 7


@pytest.mark.parametrize(
    ("id", "prompt", "chunk", "first", "second"),  # of a prompt of 5, a chunk of 2, two single tokens
    [
        ("pos_zero", [0, 1, 2, 3, 4], [5, 6], [0], [0]),
        ("pos_restart", [0, 1, 2, 3, 4], [5, 6], [0], [1]),
        ("pos_plus1", [0, 1, 2, 3, 4], [5, 6], [8], [9]),
        ("pos_minus1", [0, 1, 2, 3, 4], [5, 6], [6], [7]),
        ("pos_uniform_shift", [3, 4, 5, 6, 7], [8, 9], [10], [11]),
    ],
)
def test_where_a_position_fault_puts_the_tokens(id, prompt, chunk, first, second):
    cache = find(id).cls(3)
    for expected in (prompt, chunk, first, second):
        assert cache.positions(len(expected)).tolist() == expected
        cache.advance(len(expected))


@pytest.mark.parametrize(("id", "positions"), CASES)
def test_first_wrong_step_and_rows(id, positions):
    model = MODELS[positions]
    trace = run_scenario(model, (id,), n=N)
    _, first, rows = TABLE[id]
    first = first_change_of_parent(model) if first == "change of parent" else first
    first = NEVER if positions == "rope" and id in HARMLESS_WITH_ROPE else first
    assert trace.error is None
    assert trace.first_wrong(TOLERANCE) == first
    assert [step.rows for step in trace.steps] == [[rows(s)] * 3 for s in range(len(trace.steps))]
    if first is not NEVER:
        assert trace.steps[first].difference > 1e-2  # a fault, not rounding


def first_change_of_parent(model):
    """Step 1 does not count: all beams are still the same."""
    parents = beam_search(Oracle(model), random_prompt(model)[:1], 3, N).parents.tolist()
    return next(s for s in range(2, N) if parents[s - 1] != [0, 1, 2])


@pytest.mark.parametrize("positions", MODELS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_correct_decoder_is_right_in_every_scenario(scenario, positions):
    trace = run_scenario(MODELS[positions], (), scenario, n=N)
    assert trace.first_wrong(TOLERANCE) is None
    assert all(step.rows == [min(step.fed, WINDOW if scenario == "window" else 99)] * 3 for step in trace.steps)
    if scenario == "overflow":
        assert len(trace.steps) == CAPACITY - T0 + 1 and "9 slots" in trace.error
    else:
        assert trace.error is None and len(trace.steps) == (2 * N if scenario == "prefix" else N)
        ours, truth = scenario_texts(MODELS[positions], (), scenario, n=N)
        assert torch.equal(ours, truth)


@pytest.mark.parametrize("id", ["leftpad_arange_pos", "leftpad_decode_pos_shared"])
def test_only_the_short_rows_of_a_padded_batch_are_wrong(id):
    for step in run_scenario(MODELS["learned"], (id,)).steps[1:]:
        difference = (step.logits - step.oracle).abs().amax(dim=1)  # [B]; row 0 has no padding
        assert difference[0] < TOLERANCE and bool((difference[1:] > 1e-2).all())


def test_a_model_of_one_layer_hides_a_missing_prefill_mask():
    trace = run_scenario(wide(n_layers=1), ("no_mask_with_cache",))
    assert trace.first_wrong(TOLERANCE) is NEVER


@pytest.mark.parametrize("id", ["chunk_top_left", "mask_only_if_square"])
def test_chunk_faults_need_a_chunk(id):
    assert run_scenario(MODELS["learned"], (id,), "plain").first_wrong(TOLERANCE) is NEVER


def test_what_the_unwritten_tail_does_depends_on_the_capacity():
    prompt = random_prompt(MODELS["learned"])
    small, large = (faulty(MODELS["learned"], "tail_unmasked", capacity=c).prefill(prompt) for c in (10, 60))
    assert (small - large).abs().max() > 1e-2


@pytest.mark.parametrize("id", ["pos_restart", "rope_again", "gqa_tile", "not_reset", "tail_unmasked"])
def test_a_faulty_decoder_shares_the_weights_and_leaves_the_model_alone(id):
    model = MODELS["rope"]
    before = Oracle(model).prefill(random_prompt(model))
    decoder = faulty(model, id)
    generate(decoder, random_prompt(model), 3)
    ours = dict(decoder.model.named_parameters())
    assert all(ours[name] is p for name, p in model.named_parameters())
    assert ours.keys() == dict(model.named_parameters()).keys()
    assert torch.equal(Oracle(model).prefill(random_prompt(model)), before)


def test_attention_faults_hold_in_every_layer_and_in_no_other_model():
    model = MODELS["rope"]
    twin = faulty(model, "gqa_tile").model
    assert [type(block.attention).__name__ for block in twin.blocks] == ["GqaTile"] * 3
    assert [type(block.attention).__name__ for block in model.blocks] == ["CausalAttention"] * 3


def test_without_faults_it_is_the_plain_cached_decoder():
    decoder = faulty(MODELS["learned"])
    assert type(decoder) is CachedDecoder and decoder.model is MODELS["learned"]
    assert type(decoder.new_cache()) is ConcatCache


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: faulty(MODELS["learned"], "pos_two"), "no fault 'pos_two'; the catalogue has: attend_then_append"),
        (lambda: faulty(MODELS["learned"], "rope_again"), "rope_again needs a model with rotary positions"),
        (lambda: faulty(wide(n_kv_heads=6), "gqa_tile"), "needs a model with 1 < n_kv_heads < n_heads"),
        (lambda: faulty(wide(n_kv_heads=1), "gqa_tile"), "needs a model with 1 < n_kv_heads < n_heads"),
        (lambda: faulty(MODELS["learned"], feature="paged"), "no feature 'paged'; known are: buffer, left padding"),
        (lambda: run_scenario(MODELS["learned"], scenario="chat"), "no scenario 'chat'; known are: plain, chunked"),
        (lambda: run_scenario(MODELS["learned"], prompt=torch.ones(2, 3).long()), "at least 4 tokens, not 3"),
    ],
)
def test_errors_say_what_to_do(call, words):
    with pytest.raises(ValueError) as error:
        call()
    assert words in str(error.value)


def test_the_text_of_a_faulty_decoder_is_its_own():
    ours, truth = scenario_texts(MODELS["learned"], ("pos_restart",), n=N)
    assert torch.equal(ours[:, 0], truth[:, 0])  # prefill is right
    assert not torch.equal(ours, truth)
    assert torch.equal(
        ours, generate(faulty(MODELS["learned"], "pos_restart"), random_prompt(MODELS["learned"]), N).tokens
    )


def test_a_trace_ends_where_positions_do():
    trace = run_scenario(MODELS["learned"], ("refeed_everything",), n=12)
    assert "outside this model's 64 positions" in trace.error
    assert len(trace.steps) == 6  # 57 rows after step 5; step 6 would feed 13 more
    assert scenario_texts(MODELS["learned"], ("refeed_everything",), n=12)[0] is None


def test_the_scenario_of_several_faults_is_the_first_that_is_not_plain():
    assert scenario_of(()) == scenario_of(("pos_zero",)) == "plain"
    assert scenario_of(("pos_zero", "spec_no_crop", "not_reset")) == "draft"
