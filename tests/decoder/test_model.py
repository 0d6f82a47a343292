"""MiniGPT by itself: what it refuses, what may influence what, dropout, initialisation, position tables."""

import math
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.cache import ConcatCache, causal_mask
from helpers.model import CAUSAL, Config, MiniGPT, NoCache, OutOfPositions
from helpers.positions import Rotary, sinusoids
from tests.scrambled import scrambled, tokens
from tests.wide import wide

POSITIONS = ("learned", "sinusoidal", "rope")
MODELS = {positions: scrambled(positions) for positions in POSITIONS}
BLOCK, V = 64, 61


# -- what it refuses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (torch.zeros(2, 0, dtype=torch.int64), r"the prompt is empty \(shape \[2, 0\]\); give at least one token"),
        (torch.zeros(0, 3, dtype=torch.int64), r"the prompt is empty \(shape \[0, 3\]\)"),
        (torch.tensor([[3, 61, 5]]), r"token id 61 is out of range: the vocabulary has 61 ids \(0 to 60\)"),
        (torch.tensor([[3, 99], [-2, 5]]), "token id -2 is out of range"),
        (torch.tensor([[1, 2]], dtype=torch.int32), r"token ids must be torch.int64, not torch.int32; convert with"),
        (torch.tensor([[1.0, 2.0]]), "must be torch.int64, not torch.float32"),
        (torch.tensor([[True]]), "must be torch.int64, not torch.bool"),
        (torch.tensor([1, 2]), r"shape \[B, T\] = \[batch, new tokens\], not shape \[2\]"),
        (torch.tensor([[[1]]]), r"not shape \[1, 1, 1\]"),
        ([[1, 2]], r"must be a tensor of shape \[B, T\] .*, not list"),
        (None, "not NoneType"),
        (
            torch.zeros(1, 2, dtype=torch.int64, device="meta"),
            "tokens are on meta, the model is on cpu; move them with",
        ),
    ],
)
def test_tokens_that_cannot_be_fed_are_refused_in_words(ids, words):
    with pytest.raises(ValueError, match=words):
        MODELS["learned"](ids)


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_block_can_be_filled_and_not_more(positions):
    model = MODELS[positions]
    assert model(tokens(T=BLOCK)).shape == (4, BLOCK, V)
    with pytest.raises(OutOfPositions, match=r"position 64 is outside this model's 64 positions \(0 to 63\); shorten"):
        model(tokens(T=BLOCK + 1))


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_block_can_be_filled_and_not_more_by_a_cache(positions):
    model, cache = MODELS[positions], ConcatCache(3)
    model(tokens(T=BLOCK - 1), cache)
    model(tokens(T=1), cache)
    with pytest.raises(OutOfPositions, match="position 64 is outside"):
        model(tokens(T=1), cache)
    assert cache.length == BLOCK and [k.shape[2] for k, _ in cache.layers()] == [BLOCK] * 3


def test_a_position_before_the_first_is_refused():
    class Early(NoCache):
        def positions(self, T):
            return torch.arange(T) - 1

    with pytest.raises(OutOfPositions, match="position -1 is outside"):
        MODELS["learned"](tokens(), Early())


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"positions": "alibi"}, "positions must be 'learned', 'sinusoidal' or 'rope', not 'alibi'"),
        ({"gelu": "relu"}, r"gelu must be 'none' \(exact\) or 'tanh', not 'relu'"),
        ({"d_model": 50}, "d_model 50 is not a multiple of n_heads 6"),
        ({"n_kv_heads": 4}, "n_heads 6 is not a multiple of n_kv_heads 4"),
        ({"n_kv_heads": 12}, "n_heads 6 is not a multiple of n_kv_heads 12"),
        ({"positions": "rope", "d_model": 18}, "rotary positions need an even head_dim, not 3"),
        ({"n_kv_heads": 0}, "kv_heads must be at least 1, not 0"),
        ({"n_heads": 0}, "n_heads must be at least 1, not 0"),
        ({"d_model": -6}, "d_model must be at least 1, not -6"),
        ({"n_layers": 0}, "n_layers must be at least 1, not 0"),
        ({"vocab_size": 0}, "vocab_size must be at least 1"),
        ({"block_size": 0}, "block_size must be at least 1"),
        ({"d_ff": 0}, "d_ff must be at least 1"),
    ],
)
def test_sizes_that_cannot_be_are_refused_in_words(sizes, words):
    with pytest.raises(ValueError, match=words):
        Config(**({"vocab_size": V} | sizes))


def test_one_key_value_head_a_query_head_unless_said():
    assert Config(V).kv_heads == Config(V).n_heads == 6
    assert Config(V, n_kv_heads=2).kv_heads == 2 and Config(V).head_dim == 16


# -- what may influence what -----------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=15)
@given(positions=st.sampled_from(POSITIONS), at=st.integers(0, 6), row=st.integers(0, 3))
def test_a_token_counts_from_its_place_on_and_in_its_row_only(positions, at, row):
    ids, other = tokens(), tokens()
    other[row, at] = (other[row, at] + 1) % V
    changed = (MODELS[positions](ids) - MODELS[positions](other)).abs().amax(dim=-1)  # [B, T]
    expected = torch.zeros(4, 7, dtype=torch.bool)
    expected[row, at:] = True
    assert torch.equal(changed > 1e-9, expected)


@pytest.mark.parametrize("positions", POSITIONS)
def test_places_are_told_apart(positions):
    """Without positions, the last token would see a set: exchanging two others would change nothing."""
    ids, other = tokens(), tokens()
    other[:, [0, 1]] = other[:, [1, 0]]
    assert (MODELS[positions](ids)[:, -1] - MODELS[positions](other)[:, -1]).abs().amax(-1).min() > 1e-3


@pytest.mark.parametrize("positions", POSITIONS)
def test_no_cache_is_a_fresh_cache_that_is_thrown_away(positions):
    model, cache = MODELS[positions], ConcatCache(3)
    without = model(tokens())
    assert torch.equal(without, model(tokens(), NoCache())) and torch.equal(without, model(tokens(), cache))
    assert cache.length == 7
    assert torch.equal(without, model(tokens()))  # and the model itself keeps nothing


def test_last_only_is_the_last_position():
    torch.testing.assert_close(MODELS["rope"](tokens(), last_only=True), MODELS["rope"](tokens())[:, -1:])


def test_a_query_that_may_attend_to_nothing_gives_zeros():
    attention = MODELS["learned"].blocks[0].attention
    q, k, v = torch.randn(3, 4, 6, 7, 8, dtype=torch.float64)
    mask = causal_mask(7, 7)
    mask[2] = False
    y = attention.attend(q, k, v, mask)
    assert y[:, :, 2].eq(0).all()
    torch.testing.assert_close(y[:, :, 3:], attention.attend(q, k, v, CAUSAL)[:, :, 3:])


def test_query_heads_share_neighbouring_key_value_heads():
    attention = MODELS["learned"].blocks[0].attention  # H = 6, H_kv = 2
    heads = torch.arange(2.0).reshape(1, 2, 1, 1)
    assert attention.expand_kv(heads).flatten().tolist() == [0, 0, 0, 1, 1, 1]


def test_the_head_is_the_embedding():
    model = scrambled(n_layers=1)
    before = model(tokens())
    with torch.no_grad():
        model.token.weight[60] = 0  # a token that is then as likely as its logit 0 makes it
    assert before[..., 60].abs().min() > 0 and model(torch.ones_like(tokens()))[..., 60].eq(0).all()


# -- dropout ---------------------------------------------------------------------------------------------------------------


def test_dropout_acts_in_training_only():
    model = scrambled(dropout=0.3)
    without = scrambled(dropout=0.0)
    assert torch.equal(model(tokens()), without(tokens()))
    model.train()
    assert (model(tokens()) - model(tokens())).abs().max() > 1e-2
    assert torch.equal(without.train()(tokens()), without.eval()(tokens()))


@pytest.mark.parametrize("place", ["embedding", "attention weights", "attention output", "feed-forward output"])
def test_dropout_acts_in_each_of_its_places(place):
    """At 1 - 1e-9 everything is dropped: that place then gives nothing, where in evaluation it gives something."""
    model, x = scrambled(dropout=1 - 1e-9), torch.randn(4, 7, 48, dtype=torch.float64)
    block, T = model.blocks[0], torch.arange(7)

    def output():
        if place == "embedding":
            return model.drop(model.embed(tokens(), T))
        if place == "attention weights":
            return block.attention.attend(*torch.ones(3, 4, 6, 7, 8, dtype=torch.float64), CAUSAL)
        half = block.ffn if place == "attention output" else block.attention  # the other one is taken out
        half.forward = lambda *ignored: torch.zeros_like(x)
        return block(x, NoCache(), T) - x

    assert output().abs().max() > 1e-3
    model.train()
    assert output().eq(0).all()


# -- initialisation and parameters ------------------------------------------------------------------------------------------


def test_initialisation_is_gpt2_s():
    torch.manual_seed(0)
    model = MiniGPT(Config(V, n_layers=8))
    for name, p in model.named_parameters():
        if p.dim() == 1:
            assert p.eq(0 if name.endswith("bias") else 1).all(), name
        else:
            residual = name.endswith(("attention.project.weight", "ffn.2.weight"))
            assert p.std().item() == pytest.approx(0.02 / math.sqrt(2 * 8) if residual else 0.02, rel=0.03), name
            assert abs(p.mean().item()) < 1e-3, name


@pytest.mark.parametrize(("positions", "more"), [("learned", BLOCK * 48), ("sinusoidal", 0), ("rope", 0)])
def test_number_of_parameters(positions, more):
    C, D, F, L = 48, 8, 96, 3
    attention = C * (6 + 2 * 2) * D + (6 + 2 * 2) * D + C * C + C
    ffn, norm = C * F + F + F * C + C, 2 * C
    count = sum(p.numel() for p in MODELS[positions].parameters())
    assert count == V * C + more + L * (attention + ffn + 2 * norm) + norm


# -- position tables ---------------------------------------------------------------------------------------------------------

ROTARY = Rotary(8, BLOCK, 10_000.0)
ROWS = torch.randn(2, 4, 6, 1, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(9))  # a query, a key


def turned(x, position):
    return ROTARY(x, torch.tensor([position]))


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 23))
def test_rotary_scores_depend_on_the_distance_only(i, j, shift):
    query, key = ROWS
    score = (turned(query, i) * turned(key, j)).sum(-1)
    torch.testing.assert_close((turned(query, i + shift) * turned(key, j + shift)).sum(-1), score, atol=1e-12, rtol=0)
    torch.testing.assert_close(turned(query, i).norm(dim=-1), query.norm(dim=-1))


def test_rotary_starts_at_nothing_and_no_two_places_are_the_same():
    assert torch.equal(turned(ROWS[0], 0), ROWS[0])
    places = [turned(ROWS[0], t) for t in range(BLOCK)]
    assert all((a - b).abs().max() > 0.1 for a, b in pairwise(places))


def test_a_position_for_each_row():
    x, positions = torch.randn(4, 6, 7, 8, dtype=torch.float64), torch.randint(BLOCK, (4, 7))
    for b, row in enumerate(ROTARY(x, positions)):
        assert torch.equal(row, ROTARY(x[b : b + 1], positions[b])[0])


def test_a_half_model_keeps_exact_angles():
    model = wide("rope").to(torch.bfloat16)
    assert model.rotary.cos.dtype == torch.float64 and torch.equal(model.rotary.cos, ROTARY.cos)
    assert model(tokens()).dtype == torch.bfloat16


def test_sinusoids_by_hand():
    table = sinusoids(5, 3)  # an odd number of channels: the last pair has no cosine
    assert table.shape == (5, 3) and table.dtype == torch.float64
    expected = [[math.sin(t), math.cos(t), math.sin(t / 10_000 ** (2 / 3))] for t in range(5)]
    torch.testing.assert_close(table, torch.tensor(expected, dtype=torch.float64))
