"""The sampling filters, the two decoders, and the loops over them. (Caches: test_caches. Equality: test_plain.)"""

import re

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from helpers.decoding import CachedDecoder, Oracle, generate, teacher_forced
from helpers.model import OutOfPositions
from helpers.sampling import choose, keep_top_k, keep_top_p
from tests.scrambled import scrambled, tokens

V, BLOCK, T0 = 61, 64, 7
MODELS = {positions: scrambled(positions) for positions in ("learned", "sinusoidal", "rope")}
MODEL = MODELS["learned"]
DECODERS = [CachedDecoder, Oracle]
both = pytest.mark.parametrize("make", DECODERS)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def assert_same(a, b):
    torch.testing.assert_close(a, b, atol=1e-9, rtol=0)


# -- filters ---------------------------------------------------------------------------------------------------------------

LOGITS = st.lists(st.integers(-40, 40), min_size=2, max_size=12, unique=True).map(
    lambda x: torch.tensor([x], dtype=torch.float64) / 8
)


@settings(deadline=None, max_examples=40)
@given(LOGITS, st.integers(1, 12))
def test_top_k_keeps_the_k_largest_as_they_were(logits, k):
    assume(k <= logits.shape[1])
    kept = keep_top_k(logits, k)
    largest = sorted(logits[0].tolist(), reverse=True)[:k]
    assert sorted(kept[kept.isfinite()].tolist(), reverse=True) == largest
    assert torch.equal(kept[kept.isfinite()], logits[kept.isfinite()]) and kept[~kept.isfinite()].eq(-torch.inf).all()


@settings(deadline=None, max_examples=40)
@given(LOGITS, st.floats(0.01, 1.0))
def test_top_p_keeps_the_smallest_set_that_reaches_p(logits, p):
    kept = keep_top_p(logits, p)
    probs, stays = logits.softmax(-1)[0], kept[0].isfinite()
    assert probs[stays].sum() >= p - 1e-12
    assert stays.sum() == 1 or probs[stays].sum() - probs[stays].min() < p + 1e-12  # without the last it is not reached
    assert not (~stays).any() or probs[~stays].max() < probs[stays].min()  # the likeliest ones
    assert torch.equal(kept[0][stays], logits[0][stays])


def test_filters_work_row_by_row_and_in_place_of_the_ids():
    logits = torch.tensor([[0.0, 3.0, 1.0, 2.0], [5.0, 0.0, 4.9, 4.8]])
    assert keep_top_k(logits, 2).isfinite().tolist() == [[False, True, False, True], [True, False, True, False]]
    assert keep_top_p(logits, 0.6).isfinite().tolist() == [[False, True, False, False], [True, False, True, False]]


def test_ties_at_the_border_of_top_k_all_stay():
    assert keep_top_k(torch.tensor([[1.0, 2.0, 1.0, 0.0]]), 2).isfinite().tolist() == [[True, True, True, False]]


def test_a_set_that_reaches_p_exactly_needs_no_further_token():
    assert keep_top_p(torch.zeros(1, 4), 0.5).isfinite().sum() == 2


def test_top_p_of_one_keeps_what_is_nearly_impossible():
    logits = torch.tensor([[20.0, *[-9.0] * 40]])  # float32: the likeliest one's probability rounds to 1
    assert keep_top_p(logits, 1.0).isfinite().all()


def test_no_filter_is_the_same_tensor():
    logits = torch.randn(4, V)
    assert keep_top_k(logits, None) is logits and keep_top_p(logits, None) is logits


def test_filters_leave_their_input_alone():
    logits = torch.randn(4, V, generator=seeded())
    before = logits.clone()
    choose(logits, temperature=0.5, top_k=3, top_p=0.5, generator=seeded())
    assert torch.equal(logits, before)


# -- choosing --------------------------------------------------------------------------------------------------------------


def shares(n, **sampling):
    """How often each token is drawn from the logits 0, 1, 2, 3 in `n` draws."""
    drawn = choose(torch.arange(4.0).expand(n, -1), **sampling, generator=seeded())
    return torch.bincount(drawn, minlength=4) / n


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_tokens_are_drawn_as_often_as_their_probability_says(temperature):
    n, p = 40_000, (torch.arange(4.0) / temperature).softmax(0)
    deviation = (p * (1 - p) / n).sqrt()
    assert ((shares(n, temperature=temperature) - p).abs() < 4 * deviation).all()
    assert ((shares(n, temperature=1.5 * temperature) - p).abs() > 4 * deviation).any()  # another one would show


def test_the_filters_come_after_the_temperature():
    """Of 0, 1, 2, 3 the last alone has .64 at temperature 1; at 4 it has .35, and reaches .6 with the third only."""
    expected = torch.tensor([2.0, 3.0]).div(4).softmax(0).tolist()
    found = shares(40_000, temperature=4.0, top_p=0.6)
    torch.testing.assert_close(found, torch.tensor([0.0, 0.0, *expected]), atol=0.01, rtol=0)
    assert shares(4000, temperature=1.0, top_p=0.6).tolist() == [0, 0, 0, 1]


def test_top_p_counts_the_mass_that_top_k_leaves():
    """Of the two likeliest (.27, .73) the first alone reaches .7; of all four it would not (.64)."""
    assert (shares(4000, temperature=1.0, top_k=2, top_p=0.7) > 0).tolist() == [False, False, False, True]
    assert (shares(4000, temperature=1.0, top_p=0.7) > 0).tolist() == [False, False, True, True]


@pytest.mark.parametrize("sampling", [{}, {"temperature": 2.0, "top_k": 1}, {"temperature": 2.0, "top_p": 1e-6}])
def test_ways_to_be_greedy(sampling):
    logits = torch.randn(50, V, generator=seeded())
    assert torch.equal(choose(logits, **sampling, generator=seeded()), logits.argmax(-1))


@pytest.mark.parametrize("temperature", [1e-12, 1e-30, 1e-45, 5e-324])
def test_a_tiny_temperature_is_nearly_greedy_and_not_a_crash(temperature):
    logits = 30 * torch.randn(50, V, generator=seeded())
    assert torch.equal(choose(logits, temperature, generator=seeded()), logits.argmax(-1))


def test_a_huge_temperature_is_uniform():
    drawn = choose(torch.randn(V, generator=seeded()).expand(61_000, -1), 1e30, generator=seeded())
    assert (torch.bincount(drawn, minlength=V) - 1000).abs().max() < 5 * 1000**0.5


# -- generate --------------------------------------------------------------------------------------------------------------


@both
def test_each_token_is_the_choice_from_its_logits(make):
    made = generate(make(MODEL), tokens(), 9)
    assert torch.equal(made.prompt, tokens()) and made.tokens.shape == (4, 9) and made.logits.shape == (4, 9, V)
    assert made.tokens.dtype == torch.int64 and not made.logits.requires_grad
    assert torch.equal(made.tokens, made.logits.argmax(-1))
    whole = MODEL(torch.cat([tokens(), made.tokens], dim=1))
    assert_same(made.logits, whole[:, T0 - 1 : -1].detach())


@pytest.mark.parametrize("positions", MODELS)
@pytest.mark.parametrize("sampling", [{}, {"temperature": 1.3}, {"temperature": 2.0, "top_k": 9, "top_p": 0.8}])
def test_one_seed_gives_one_text_with_and_without_cache(positions, sampling):
    texts = [generate(make(MODELS[positions]), tokens(), 12, **sampling, generator=seeded(4)) for make in DECODERS]
    assert torch.equal(texts[0].tokens, texts[1].tokens)
    assert_same(texts[0].logits, texts[1].logits)
    other = generate(CachedDecoder(MODELS[positions]), tokens(), 12, **sampling, generator=seeded(5)).tokens
    assert torch.equal(texts[0].tokens, other) == (not sampling)  # another seed, another text; greedy needs none


@both
@pytest.mark.parametrize("n", [0, 1])
def test_few_tokens(make, n):
    decoder = make(MODEL)
    made = generate(decoder, tokens(), n)
    assert made.tokens.shape == (4, n) and made.logits.shape == (4, n, V) and made.tokens.dtype == torch.int64
    assert fed(decoder) == T0  # the prompt was read; the last token never is


def fed(decoder):
    return decoder.tokens.shape[1] if isinstance(decoder, Oracle) else decoder.cache.length


@both
def test_all_but_the_last_token_are_fed(make):
    decoder = make(MODEL)
    generate(decoder, tokens(), 5)
    assert fed(decoder) == T0 + 5 - 1


@pytest.mark.parametrize("positions", MODELS)
def test_a_prompt_of_one_token(positions):
    cached, oracle = (generate(make(MODELS[positions]), tokens(T=1), 6) for make in DECODERS)
    assert torch.equal(cached.tokens, oracle.tokens)
    assert_same(cached.logits, oracle.logits)


@both
def test_a_batch_of_one_is_that_row_of_the_batch(make):
    whole = generate(make(MODEL), tokens(), 5)
    for b in range(4):
        alone = generate(make(MODEL), tokens()[b : b + 1], 5)
        assert torch.equal(alone.tokens[0], whole.tokens[b])
        assert_same(alone.logits[0], whole.logits[b])


@both
@pytest.mark.parametrize("positions", MODELS)
def test_the_block_may_be_filled_and_not_more(make, positions):
    decoder = make(MODELS[positions])
    assert generate(decoder, tokens(T=60), 5).tokens.shape == (4, 5)  # 60 + 5 - 1 = 64
    words = r"a prompt of 60 tokens and 6 new ones need 65 positions, the block has 64; at most 5 new tokens fit"
    with pytest.raises(ValueError, match=words):
        generate(decoder, tokens(T=60), 6)
    assert fed(decoder) == BLOCK
    with pytest.raises(OutOfPositions, match="position 64 is outside"):
        decoder.decode(tokens(T=1)[:, 0])


@both
def test_a_prompt_as_long_as_the_block_has_one_next_token(make):
    assert generate(make(MODEL), tokens(T=BLOCK), 1).tokens.shape == (4, 1)
    with pytest.raises(
        ValueError, match="65 tokens and 0 new ones need 65 positions, the block has 64; shorten the prompt by 1"
    ):
        generate(make(MODEL), tokens(T=BLOCK + 1), 0)


# -- stop token ------------------------------------------------------------------------------------------------------------


class Scripted:
    """A decoder that would write the given rows, whatever it is fed; it keeps what it was fed."""

    def __init__(self, rows):
        self.rows, self.step, self.fed = torch.tensor(rows), 0, []

    def prefill(self, prompt):
        return self.now()

    def decode(self, token):
        self.step += 1
        self.fed.append(token.tolist())
        return self.now()

    def now(self):
        return torch.nn.functional.one_hot(self.rows[:, self.step], V).double()


def test_a_stopped_row_is_filled_and_the_others_go_on():
    decoder = Scripted([[5, 9, 7, 7, 7], [5, 6, 7, 9, 8], [9, 1, 2, 3, 4]])
    made = generate(decoder, tokens(B=3), 5, stop=9)
    assert made.tokens.tolist() == [[5, 9, 9, 9], [5, 6, 7, 9], [9, 9, 9, 9]]  # ended when the last row stopped
    assert decoder.fed == [[5, 5, 9], [9, 6, 9], [9, 7, 9]]  # what is written is what is fed
    assert made.logits.shape == (3, 4, V)
    assert made.logits.argmax(-1).tolist() == [[5, 9, 7, 7], [5, 6, 7, 9], [9, 1, 2, 3]]  # as they were, not as filled


def test_without_a_stop_token_nothing_ends():
    assert generate(Scripted([[9, 9, 9], [9, 1, 9]]), tokens(B=2), 3).tokens.tolist() == [[9, 9, 9], [9, 1, 9]]


def test_a_row_that_never_stops_ends_at_the_limit():
    assert generate(Scripted([[9, 1, 1], [2, 3, 4]]), tokens(B=2), 3, stop=9).tokens.tolist() == [[9, 9, 9], [2, 3, 4]]


@both
def test_stopping_early_changes_no_token_before(make):
    free = generate(make(MODEL), tokens(), 12).tokens
    stop = int(free[0, 3])
    stopped = generate(make(MODEL), tokens(), 12, stop=stop).tokens
    for row, full in zip(stopped.tolist(), free.tolist()):
        upto = full.index(stop) + 1 if stop in full else 12
        assert row == (full[:upto] + [stop] * 12)[: len(row)]
    assert stopped[0, 3:].eq(stop).all()


# -- teacher forcing ---------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("n", [0, 1, 5])
def test_teacher_forcing_feeds_the_given_tokens(make, n):
    forced = tokens(T=n, seed=8)
    decoder = make(MODEL)
    logits = teacher_forced(decoder, tokens(), forced)
    assert fed(decoder) == T0 + max(n - 1, 0)  # the last one is not
    whole = MODEL(torch.cat([tokens(), forced], dim=1))[:, T0 - 1 :].detach()
    assert logits.shape == (4, n, V)
    assert_same(logits, whole[:, :n])


# -- what they refuse --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda d: d.decode(tokens(T=1)[:, 0]),
        lambda d: d.extend(tokens()),
        lambda d: d.extend_all(tokens()),
        lambda d: d.layers(),
        lambda d: d.crop(0),
        lambda d: d.reorder(torch.arange(4)),
        lambda d: d.fork(),
    ],
    ids=["decode", "extend", "extend_all", "layers", "crop", "reorder", "fork"],
)
def test_nothing_goes_before_prefill(call):
    with pytest.raises(ValueError, match="nothing is cached yet: call prefill before decode or extend"):
        call(CachedDecoder(MODEL))


@both
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda d: d.decode(tokens(B=3, T=1)[:, 0]), "batch changed from 4 to 3 rows between calls; .* prefill"),
        (lambda d: d.extend(tokens(B=1)), "batch changed from 4 to 1"),
        (lambda d: d.decode(torch.tensor([1, 2, 3, 61])), "token id 61 is out of range"),
        (lambda d: d.decode(torch.tensor([1, -1, 3, 0])), "token id -1 is out of range"),
        (lambda d: d.decode(tokens(T=1)), r"shape \[B\], one id a row \(a chunk goes to extend\), not shape \[4, 1\]"),
        (lambda d: d.decode(torch.tensor(5)), r"shape \[B\], one id a row .*, not shape \[\]"),
        (lambda d: d.decode([1, 2, 3, 4]), r"shape \[B\], one id a row .*, not list"),
        (lambda d: d.decode(tokens(T=1)[:, 0].int()), "must be torch.int64, not torch.int32"),
        (lambda d: d.decode(tokens(T=1)[:, 0].double()), "must be torch.int64, not torch.float64"),
        (lambda d: d.decode(tokens(T=1)[:, 0].to("meta")), "tokens are on meta, the model is on cpu"),
        (lambda d: d.extend(tokens()[:, :0]), "the prompt is empty"),
        (lambda d: d.extend(tokens()[0]), r"shape \[B, T\] .*, not shape \[7\]"),
        (lambda d: d.extend(tokens(T=60)), "position 66 is outside"),
        (lambda d: d.extend_all(tokens(T=60)), "position 66 is outside"),
    ],
)
def test_a_refused_call_is_refused_in_words_and_leaves_nothing_behind(make, call, words):
    decoder = make(MODEL)
    decoder.prefill(tokens())
    with pytest.raises(ValueError, match=words):
        call(decoder)
    assert fed(decoder) == T0
    token = tokens(T=1)
    assert_same(decoder.decode(token[:, 0]), MODEL(torch.cat([tokens(), token], dim=1))[:, -1].detach())


@both
@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (torch.zeros(2, 0, dtype=torch.int64), r"the prompt is empty \(shape \[2, 0\]\)"),
        (torch.tensor([1, 2, 3]), r"shape \[B, T\] .*, not shape \[3\]"),
        ([[1, 2, 3]], r"shape \[B, T\] .*, not list"),
        ("Ledger:", r"shape \[B, T\] .*, not str"),
        (torch.tensor([[1, 2, 61]]), "token id 61 is out of range"),
        (torch.tensor([[1, 2]], dtype=torch.int16), "must be torch.int64, not torch.int16"),
        (torch.zeros(1, 2, dtype=torch.int64, device="meta"), "tokens are on meta, the model is on cpu"),
    ],
)
def test_prompts_that_cannot_be_read_are_refused_in_words(make, prompt, words):
    for call in (lambda: generate(make(MODEL), prompt, 3), lambda: make(MODEL).prefill(prompt)):
        with pytest.raises(ValueError, match=words):
            call()


@both
@pytest.mark.parametrize(
    ("sampling", "words"),
    [
        ({"temperature": -0.1}, r"temperature must be 0 \(greedy\) or a positive number, not -0.1"),
        ({"temperature": float("nan")}, "temperature must be 0 .* not nan"),
        ({"temperature": float("inf")}, "temperature must be 0 .* not inf"),
        ({"top_k": 0}, "top_k must be a whole number of at least 1, not 0"),
        ({"top_k": -3}, "top_k must be .* not -3"),
        ({"top_k": 2.5}, "top_k must be .* not 2.5"),
        ({"temperature": 1.0, "top_k": V + 1}, "top_k is 62, but the vocabulary has only 61 tokens"),
        ({"top_p": 0.0}, "top_p must be above 0 and at most 1, not 0.0"),
        ({"top_p": 1.01}, "top_p must be above 0 and at most 1, not 1.01"),
        ({"top_p": float("nan")}, "top_p must be above 0 and at most 1, not nan"),
    ],
)
def test_sampling_values_out_of_range_are_refused_in_words(make, sampling, words):
    with pytest.raises(ValueError, match=words):
        generate(make(MODEL), tokens(), 3, **sampling)


@both
@pytest.mark.parametrize("n", [-1, 2.0, "3", None])
def test_a_number_of_tokens_that_cannot_be_is_refused(make, n):
    with pytest.raises(ValueError, match=f"max_new_tokens must be a whole number, 0 or more, not {re.escape(repr(n))}"):
        generate(make(MODEL), tokens(), n)


def test_every_value_at_its_border_is_allowed():
    for sampling in (
        {"temperature": 1.0, "top_k": V},
        {"temperature": 1.0, "top_k": 1},
        {"temperature": 1.0, "top_p": 1.0},
    ):
        assert generate(CachedDecoder(MODEL), tokens(), 2, **sampling, generator=seeded()).tokens.shape == (4, 2)
