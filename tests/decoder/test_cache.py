"""The causal mask, and ConcatCache as the seam asks it: positions, rows, mask, one length. (All caches: test_caches.)"""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.cache import ConcatCache, causal_mask
from helpers.model import CAUSAL
from tests.scrambled import scrambled, tokens

CHUNKS = st.lists(st.integers(1, 5), min_size=1, max_size=6)
MODELS = {positions: scrambled(positions) for positions in ("learned", "sinusoidal", "rope")}


def rows(B=4, H_kv=2, T=3, D=8, seed=0, dtype=torch.float64):
    draw = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(B, H_kv, T, D, generator=draw, dtype=dtype) for _ in "kv")


# -- causal mask --------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 9), st.integers(0, 9))
def test_a_query_sees_every_key_up_to_its_own_place(t_query, before):
    mask = causal_mask(t_query, before + t_query)
    assert mask.dtype == torch.bool and list(mask.shape) == [t_query, before + t_query]
    assert mask.tolist() == [[j <= before + i for j in range(before + t_query)] for i in range(t_query)]


@settings(deadline=None, max_examples=60)
@given(CHUNKS)
def test_masks_of_chunks_stack_to_the_full_triangle(chunks):
    total, fed, stacked = sum(chunks), 0, []
    for T in chunks:
        fed += T
        unseen = torch.zeros(T, total - fed, dtype=torch.bool)
        stacked.append(torch.cat([causal_mask(T, fed), unseen], dim=1))
    assert torch.equal(torch.cat(stacked), causal_mask(total, total))


@pytest.mark.parametrize(("t_query", "t_key"), [(3, 2), (1, 0)])
def test_more_queries_than_keys_are_refused(t_query, t_key):
    with pytest.raises(ValueError, match=f"{t_query} queries cannot follow {t_key} keys: every new token brings a key"):
        causal_mask(t_query, t_key)


def test_the_mask_is_made_where_it_is_wanted():
    assert causal_mask(2, 3, device="meta").device.type == "meta"
    assert causal_mask(2, 3).device.type == "cpu"


# -- the seam -------------------------------------------------------------------------------------------------------------


def test_asking_changes_nothing_only_advance_does():
    cache = ConcatCache(2)
    for _ in range(2):
        assert cache.positions(3).tolist() == [0, 1, 2]
    cache.update(*rows(), 0)
    assert cache.length == 0 and cache.positions(1).tolist() == [0]  # the other layer is still to come
    cache.advance(3)
    assert cache.length == 3 and cache.positions(2).tolist() == [3, 4]


def test_update_returns_old_and_new_rows_of_that_layer():
    cache = ConcatCache(2)
    first, other, second = rows(), rows(seed=1), rows(T=2, seed=2)
    assert all(map(torch.equal, cache.update(*first, 0), first))
    assert all(map(torch.equal, cache.update(*other, 1), other))
    expected = [torch.cat(pair, dim=2) for pair in zip(first, second)]
    assert all(map(torch.equal, cache.update(*second, 0), expected))
    assert [(k.shape[2], v.shape[2]) for k, v in cache.layers()] == [(5, 5), (3, 3)]
    assert all(map(torch.equal, cache.layers()[0], expected))


def test_the_mask_is_built_only_where_one_is_needed():
    cache = ConcatCache(1)
    assert cache.mask(1, 1) is None and cache.mask(1, 9) is None  # one query sees everything
    assert cache.mask(4, 4) is CAUSAL
    cache.update(*rows(T=7), 0)
    assert torch.equal(cache.mask(3, 7), causal_mask(3, 7))


def test_bytes_are_counted_from_the_rows():
    cache = ConcatCache(3)
    assert cache.nbytes() == 0
    for layer in range(3):
        cache.update(*rows(T=5, dtype=torch.float32), layer)
    assert cache.nbytes() == 2 * 3 * 4 * 2 * 5 * 8 * 4  # K and V, L, B, H_kv, S, D, bytes


@pytest.mark.parametrize(
    ("new", "words"),
    [
        (rows(B=5), "the batch changed from 4 to 5 rows between calls; .* start a new one with prefill"),
        (rows(B=1), "the batch changed from 4 to 1 rows"),  # a single row would broadcast elsewhere
        (rows(H_kv=6), r"new rows have \[H_kv, D\] = \[6, 8\], the cache \[2, 8\]"),
        (rows(D=4), r"new rows have \[H_kv, D\] = \[2, 4\], the cache \[2, 8\]"),
        (rows(dtype=torch.float32), "new rows are torch.float32 on cpu, the cache is torch.float64 on cpu"),
        ([x.to("meta") for x in rows()], "new rows are torch.float64 on meta, the cache is torch.float64 on cpu"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_leave_nothing(new, words):
    cache = ConcatCache(1)
    cache.update(*rows(), 0)
    with pytest.raises(ValueError, match=words):
        cache.update(*new, 0)
    assert all(map(torch.equal, cache.layers()[0], rows()))


@pytest.mark.parametrize("length", [0, 2])
def test_crop_forgets_rows_and_positions(length):
    cache = ConcatCache(1)
    cache.update(*rows(), 0)
    cache.advance(3)
    cache.crop(length)
    assert cache.positions(1).tolist() == [length]
    assert torch.equal(cache.layers()[0][1], rows()[1][:, :, :length])


def test_reorder_takes_the_same_rows_in_every_layer():
    cache = ConcatCache(2)
    for layer in range(2):
        cache.update(*rows(seed=layer), layer)
    cache.reorder(torch.tensor([3, 3, 0, 1]))
    for layer, pair in enumerate(cache.layers()):
        assert all(torch.equal(x, old[[3, 3, 0, 1]]) for x, old in zip(pair, rows(seed=layer)))


def test_a_fork_shares_no_memory():
    cache = ConcatCache(1)
    cache.update(*rows(), 0)
    cache.advance(3)
    twin = cache.fork()
    twin.layers()[0][0].zero_()
    twin.advance(1)
    assert cache.length == 3 and torch.equal(cache.layers()[0][0], rows()[0])


# -- with a model ---------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=25)
@given(CHUNKS, st.sampled_from(sorted(MODELS)))
def test_every_chunking_gives_the_logits_of_one_pass(chunks, positions):
    model, cache, ids = MODELS[positions], ConcatCache(3), tokens(T=sum(chunks))
    with torch.inference_mode():
        seen = torch.cat([model(piece, cache) for piece in ids.split(chunks, dim=1)], dim=1)
        torch.testing.assert_close(seen, model(ids), atol=1e-9, rtol=0)
    assert cache.length == sum(chunks) and [k.shape[2] for k, _ in cache.layers()] == [cache.length] * 3


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (torch.tensor([[1], [2], [3], [61]]), "token id 61 is out of range"),
        (tokens(B=3, T=1), "the batch changed from 4 to 3"),
        (tokens(T=60), "position 66 is outside"),
    ],
)
def test_a_refused_call_leaves_the_cache_as_it_was(bad, words):
    model, cache = MODELS["learned"], ConcatCache(3)
    model(tokens(), cache)
    with pytest.raises(ValueError, match=words):
        model(bad, cache)
    assert cache.length == 7 and [k.shape[2] for k, _ in cache.layers()] == [7] * 3
    torch.testing.assert_close(model(tokens(T=1), cache)[:, 0], model(torch.cat([tokens(), tokens(T=1)], 1))[:, -1])
