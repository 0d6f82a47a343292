"""MiniGPT and its cached decoding against the plain loops over positions and heads: equal in float64 to 1e-9."""

import ast
import inspect
from dataclasses import replace

import pytest
import torch

from helpers import plain
from helpers.decoding import CachedDecoder, Oracle
from helpers.plain import plain_logits
from tests.scrambled import scrambled, tokens

POSITIONS = ("learned", "sinusoidal", "rope")


def truth(model, ids):
    return plain_logits(model.state_dict(), model.config, ids)  # [B, T, V]


@pytest.mark.parametrize("gelu", ["none", "tanh"])
@pytest.mark.parametrize("n_kv_heads", [None, 2, 1])
@pytest.mark.parametrize("positions", POSITIONS)
def test_logits_at_every_position(positions, n_kv_heads, gelu):
    model = scrambled(positions, n_kv_heads=n_kv_heads, gelu=gelu)
    expected = truth(model, tokens())
    assert expected.shape == (4, 7, 61) and expected.std() > 1
    torch.testing.assert_close(model(tokens()), expected, atol=1e-9, rtol=0)


def test_an_odd_number_of_channels():
    model = scrambled("sinusoidal", d_model=15, n_heads=3, n_kv_heads=3)
    torch.testing.assert_close(model(tokens()), truth(model, tokens()), atol=1e-9, rtol=0)


def test_settings_that_are_not_the_defaults():
    model = scrambled("rope", norm_eps=0.05, rope_base=100.0)
    torch.testing.assert_close(model(tokens()), truth(model, tokens()), atol=1e-9, rtol=0)


@pytest.mark.parametrize("pieces", [(4, 1, 1, 1), (1,) * 7, (2, 4, 1)])
@pytest.mark.parametrize("positions", POSITIONS)
def test_cached_decoding_in_every_step(positions, pieces):
    model = scrambled(positions)
    decoder, seen = CachedDecoder(model), []
    for number, piece in enumerate(tokens().split(pieces, dim=1)):
        seen.append(decoder.extend_all(piece) if number else prefill_all(decoder, piece))
    torch.testing.assert_close(torch.cat(seen, dim=1), truth(model, tokens()), atol=1e-9, rtol=0)


def prefill_all(decoder, piece):
    """A prefill with the logits of every position."""
    decoder.start()
    return decoder.extend_all(piece)


@pytest.mark.parametrize("make", [CachedDecoder, Oracle])
def test_one_token_a_step_gives_the_last_position_s_logits(make):
    model = scrambled()
    expected, decoder = truth(model, tokens()), make(model)
    torch.testing.assert_close(decoder.prefill(tokens(T=7)[:, :5]), expected[:, 4], atol=1e-9, rtol=0)
    for t in (5, 6):
        torch.testing.assert_close(decoder.decode(tokens()[:, t]), expected[:, t], atol=1e-9, rtol=0)


# -- the loops are no mirror: whatever is changed on one side shows ------------------------------------------------------


@pytest.mark.parametrize("positions", POSITIONS)
def test_every_parameter_counts(positions):
    model = scrambled(positions, n_layers=2)
    ids = tokens(B=1, T=3)
    exact = model(ids)
    for name, weight in model.state_dict().items():
        without = plain_logits(model.state_dict() | {name: torch.zeros_like(weight)}, model.config, ids)
        assert (without - exact).abs().max() > 1e-3, name


@pytest.mark.parametrize(
    "change", [{"gelu": "tanh"}, {"rope_base": 100.0}, {"norm_eps": 1e-3}, {"positions": "sinusoidal"}]
)
def test_every_setting_counts(change):
    model = scrambled("rope")
    other = plain_logits(model.state_dict(), replace(model.config, **change), tokens())
    assert (other - model(tokens())).abs().max() > 1e-4


def test_the_loops_import_nothing_of_the_course():
    tree = ast.parse(inspect.getsource(plain))
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert {name.name for node in imports for name in node.names} == {"math", "torch"}
