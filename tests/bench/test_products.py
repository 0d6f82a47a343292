"""A model with faster products gives the same logits; with fewer bits a weight, logits that differ by what the bits explain."""

import pytest
import torch
from torch.nn import functional as F

from helpers import ledger
from helpers.audit import audit
from helpers.bench import products
from helpers.bench.products import OneDNN, Product, with_products
from helpers.caches import PreallocatedCache
from helpers.decoding import CachedDecoder, teacher_forced
from tests.wide import wide


def tokens(B=2, T=12):
    return torch.randint(61, (B, T), generator=torch.Generator().manual_seed(1))


def decoder(model):
    return CachedDecoder(model, lambda: PreallocatedCache(model.config.n_layers, 64))


def logits(model):
    return teacher_forced(decoder(model), tokens(T=5), tokens(T=9)[:, 2:])  # a prompt, then one token a step


@pytest.fixture(params=[Product, OneDNN])
def kernel(request, monkeypatch):
    """Both kernels on any machine, whichever of them is the faster one here."""
    monkeypatch.setattr(products, "onednn_is_faster", lambda threads: request.param is OneDNN)
    return request.param


@pytest.mark.parametrize("gelu", ["none", "tanh"])
@pytest.mark.parametrize("positions", ["learned", "rope", "sinusoidal"])
def test_either_kernel_gives_the_models_own_logits(kernel, positions, gelu):
    model = wide(positions, torch.float32, gelu=gelu)
    twin = with_products(model)
    assert type(twin.head) is type(twin.blocks[0].ffn[2]) is kernel
    assert (logits(twin) - logits(model)).abs().max() < 2e-4  # at logits of about 10, in float32


def test_a_twin_shares_the_weights_and_leaves_the_model_as_it_was(kernel):
    model = wide(dtype=torch.float32)
    before = logits(model)
    twin = with_products(model)
    assert {p.data_ptr() for p in twin.parameters()} == {p.data_ptr() for p in model.parameters()}
    with torch.no_grad():
        model.blocks[1].ffn[0].weight.mul_(2)
    assert torch.equal(logits(model), logits(model)) and (logits(model) - before).abs().max() > 0.1
    assert (logits(twin) - logits(model)).abs().max() < 2e-4


def test_a_twin_in_float64_agrees_to_the_last_digits(kernel):
    model = wide(dtype=torch.float32)
    assert (logits(with_products(model).double()) - logits(model.double())).abs().max() < 1e-9


def test_the_audit_finds_a_twin_equal():
    assert audit(decoder(with_products(ledger.load("learned")))).verdict == "equal"


# The error of a product of K terms with rounded weights, as a share of the size of its terms: half a unit in the last
# place for floats (11, 8 bits); half a step of 1/127 of a row's largest weight for int8, whose product is in bfloat16.
SHARE = {"float16": 2**-11, "bfloat16": 2**-8, "int8": 2**-8 + 2**-8}


@pytest.mark.parametrize("weights", SHARE)
def test_fewer_bits_move_a_product_by_no_more_than_their_rounding(weights):
    g = torch.Generator().manual_seed(0)
    weight, x = torch.randn(96, 64, generator=g), torch.randn(1, 3, 64, generator=g)
    bias = torch.randn(96, generator=g)
    few = products.PRODUCTS[weights](weight, bias)
    exact = F.linear(x, weight, bias)
    terms = F.linear(x.abs(), weight.abs().amax(1, keepdim=True).expand(96, 64))  # [1, 3, 96]
    error = ((few(x) - exact).abs() / terms).max()
    assert 1e-3 * SHARE[weights] < error < 2 * SHARE[weights]  # above zero: the bits are really fewer
    assert ((F.linear(x, few.whole(x.dtype), bias) - exact).abs() / terms).max() < 2 * SHARE[weights]


@pytest.mark.parametrize("weights", SHARE)
def test_a_prompt_is_computed_from_the_same_rounded_weights(weights, monkeypatch):
    few = products.PRODUCTS[weights](torch.randn(96, 64, generator=torch.Generator().manual_seed(0)))
    x = torch.randn(1, 9, 64, generator=torch.Generator().manual_seed(1))
    many = few(x)
    monkeypatch.setattr(type(few), "few", lambda self, x: pytest.fail("nine rows are a prompt"))
    assert torch.equal(few(x), many) and torch.equal(many, F.linear(x, few.whole(x.dtype)))


@pytest.mark.parametrize("weights", SHARE)
def test_fewer_bits_move_the_logits_a_little(weights):
    model = wide(dtype=torch.float32, std=0.02)
    error = (logits(with_products(model, weights)) - logits(model)).abs().max() / logits(model).std()
    assert 1e-5 < error < 0.1


def test_the_order_of_the_bits_is_the_order_of_the_error():
    model = wide(dtype=torch.float32, std=0.02)
    errors = [(logits(with_products(model, w)) - logits(model)).abs().max() for w in ("float32", *SHARE)]
    assert errors == sorted(errors)


def test_another_name_is_refused_in_words():
    with pytest.raises(ValueError, match="weights must be one of float32, float16, bfloat16, int8, not 'int4'"):
        with_products(wide(), "int4")


def test_a_build_without_onednn_uses_torchs_own_product(monkeypatch):
    def missing(x, weight, bias):
        raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute '_linear_pointwise'")

    monkeypatch.setattr(products, "onednn", missing)
    assert products.onednn_is_faster.__wrapped__(1) is False
