"""Every cache passes the same tests against the uncached oracle; then what is special about each."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

from helpers.cache import ConcatCache
from helpers.caches import (
    BufferCache,
    CapacityError,
    Int8Cache,
    NoCacheWindow,
    PaddedCache,
    PreallocatedCache,
    RoundedCache,
    WindowCache,
)
from helpers.caches.rounded import to_int8
from helpers.caches.window import window_mask
from helpers.decoding import CachedDecoder, Oracle
from helpers.loops import RaggedDecoder, RaggedOracle
from helpers.model import NoCache
from tests.wide import wide

W, CAPACITY = 4, 13
MODELS = {positions: wide(positions) for positions in ("learned", "rope", "sinusoidal")}


@dataclass(frozen=True)
class Kind:
    """A cache under test: how to make it for L layers, the oracle's side of its rule, and how far it may round."""

    make: Callable
    no_cache: Callable = NoCache
    tolerance: float = 1e-9
    keeps: int = 99  # rows at most


KINDS = {
    "concat": Kind(ConcatCache),
    "buffer": Kind(lambda L: BufferCache(L, CAPACITY)),
    "preallocated": Kind(lambda L: PreallocatedCache(L, CAPACITY)),
    "window": Kind(lambda L: WindowCache(L, W), lambda: NoCacheWindow(W), keeps=W),
    "window of one": Kind(lambda L: WindowCache(L, 1), lambda: NoCacheWindow(1), keeps=1),
    "wide window": Kind(lambda L: WindowCache(L, 99)),
    "padded": Kind(PaddedCache),
    "bfloat16": Kind(lambda L: RoundedCache(L, torch.bfloat16), tolerance=0.1),
    "int8": Kind(Int8Cache, tolerance=0.2),
}
CUT = {name: kind for name, kind in KINDS.items() if kind.keeps == 99}  # those that can be rolled back at any time


def tokens(B=4, T=11, seed=1):
    return torch.randint(61, (B, T), generator=torch.Generator().manual_seed(seed))


def pair(kind, positions="rope"):
    model = MODELS[positions]
    return CachedDecoder(model, lambda: kind.make(model.config.n_layers)), Oracle(model, kind.no_cache)


def assert_same(kind, ours, truth):
    assert ours.shape == truth.shape
    assert (ours - truth).abs().max() <= kind.tolerance


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
class TestEveryCache:
    @pytest.mark.parametrize("positions", MODELS)
    @pytest.mark.parametrize("pieces", [(11,), (1,) * 11, (7, 1, 1, 1, 1), (2, 5, 4), (1, 6, 1, 3), (5, 5, 1)])
    def test_every_way_to_feed_a_sequence_equals_the_oracle(self, kind, positions, pieces):
        decoder, oracle = pair(kind, positions)
        first, *rest = tokens().split(pieces, dim=1)
        assert_same(kind, decoder.prefill(first), oracle.prefill(first))
        for piece in rest:
            assert_same(kind, decoder.extend_all(piece), oracle.extend_all(piece))  # [B, T, V]

    def test_it_holds_one_row_a_token_and_layer(self, kind):
        decoder, _ = pair(kind)
        assert decoder.new_cache().layers() == []
        decoder.prefill(tokens(T=3))
        for T in range(3, 9):
            assert decoder.cache.length == T
            assert [k.shape for k, _ in decoder.layers()] == [(4, 2, min(T, kind.keeps), 8)] * 3
            assert [v.shape for _, v in decoder.layers()] == [k.shape for k, _ in decoder.layers()]
            decoder.decode(tokens()[:, T])

    def test_a_fork_and_its_parent_go_on_by_themselves(self, kind):
        decoder, oracle = pair(kind)
        decoder.prefill(tokens(T=5)), oracle.prefill(tokens(T=5))
        twin, oracle_twin = decoder.fork(), oracle.fork()
        for seed in (2, 3):  # in turns, so that each could disturb the other
            for a, b, shift in ((twin, oracle_twin, 0), (decoder, oracle, 10)):
                token = tokens(T=1, seed=seed + shift)[:, 0]
                assert_same(kind, a.decode(token), b.decode(token))

    def test_reordered_rows_are_their_parents(self, kind):
        decoder, oracle = pair(kind)
        decoder.prefill(tokens(T=6)), oracle.prefill(tokens(T=6))
        for parents in ([2, 2, 0, 1], [3, 0, 0, 2]):
            decoder.reorder(torch.tensor(parents)), oracle.reorder(torch.tensor(parents))
            token = tokens(T=1)[:, 0]
            assert_same(kind, decoder.decode(token), oracle.decode(token))

    def test_another_batch_is_refused_in_words(self, kind):
        decoder, _ = pair(kind)
        decoder.prefill(tokens())
        with pytest.raises(ValueError, match="batch changed from 4 to 3"):
            decoder.decode(tokens(B=3, T=1)[:, 0])

    def test_a_new_prefill_forgets_the_last_one(self, kind):
        decoder, oracle = pair(kind)
        decoder.prefill(tokens(seed=5))
        assert_same(kind, decoder.prefill(tokens()), oracle.prefill(tokens()))

    def test_crop_refuses_what_it_does_not_hold(self, kind):
        decoder, _ = pair(kind)
        decoder.prefill(tokens(T=4))
        for length in (-1, 5):
            with pytest.raises(ValueError, match=f"cannot (crop|roll back).* to {length} tokens"):
                decoder.crop(length)


@pytest.mark.parametrize("kind", CUT.values(), ids=CUT)
@pytest.mark.parametrize("length", [0, 1, 4, 7, 9])
def test_after_a_rollback_it_goes_on_as_if_nothing_had_been_there(kind, length):
    decoder, oracle = pair(kind, "learned")
    decoder.prefill(tokens(T=9)), oracle.prefill(tokens(T=9))
    decoder.crop(length), oracle.crop(length)
    assert [k.shape[2] for k, _ in decoder.layers()] == [length] * 3
    for piece in tokens(T=4, seed=7).split((1, 3), dim=1):
        assert_same(kind, decoder.extend_all(piece), oracle.extend_all(piece))


# -- buffer ----------------------------------------------------------------------------------------------------------


def buffer(cache=BufferCache, model=MODELS["learned"], capacity=CAPACITY):
    return CachedDecoder(model, lambda: cache(model.config.n_layers, capacity))


both = pytest.mark.parametrize("cache", [BufferCache, PreallocatedCache])


@both
def test_a_buffer_takes_exactly_as_many_tokens_as_it_has_slots(cache):
    decoder, oracle = buffer(cache), Oracle(MODELS["learned"])
    decoder.prefill(tokens(T=11)), oracle.prefill(tokens(T=11))
    last = tokens(T=2, seed=2)
    assert (decoder.extend(last) - oracle.extend(last)).abs().max() < 1e-9
    with pytest.raises(CapacityError, match="13 slots and 13 of them are taken: 1 new rows do not fit"):
        decoder.decode(last[:, 0])
    decoder.crop(5), oracle.crop(5)  # the refused token has left nothing behind
    assert (decoder.extend(last) - oracle.extend(last)).abs().max() < 1e-9


@both
def test_a_prompt_longer_than_the_buffer_is_refused(cache):
    with pytest.raises(CapacityError, match="13 slots and 0 of them are taken: 14 new rows"):
        buffer(cache).prefill(tokens(T=14))


@both
def test_a_buffer_is_written_in_place(cache):
    decoder = buffer(cache)
    decoder.prefill(tokens(T=5))
    places = [x.data_ptr() for layer in decoder.layers() for x in layer]
    decoder.decode(tokens()[:, 0])
    assert [x.data_ptr() for layer in decoder.layers() for x in layer] == places
    assert len(set(places)) == 6  # no two layers share one


@both
def test_a_buffer_counts_the_bytes_of_all_its_slots(cache):
    decoder = buffer(cache)
    decoder.prefill(tokens(T=5))
    assert decoder.cache.nbytes() == 2 * 3 * 4 * 2 * CAPACITY * 8 * 8  # K and V, L, B, H_kv, slots, D, bytes


def test_what_stands_in_the_unwritten_tail_does_not_matter():
    one, two = buffer(), buffer()
    one.prefill(tokens(T=5)), two.prefill(tokens(T=5))
    with torch.inference_mode():  # the buffers were made in it
        for x in (*two.cache.keys, *two.cache.values):
            x[:, :, 5:] = 1e4
    for t in range(5, 9):
        assert torch.equal(one.decode(tokens()[:, t]), two.decode(tokens()[:, t]))


# -- window ----------------------------------------------------------------------------------------------------------


def test_the_window_mask_is_a_band():
    assert window_mask(3, 5, 2).int().tolist() == [[0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]
    assert torch.equal(window_mask(3, 5, 99), window_mask(3, 5, 5))
    assert window_mask(4, 4, 1).int().tolist() == torch.eye(4).int().tolist()


def test_a_window_changes_the_logits_once_something_is_evicted():
    windowed, full = Oracle(MODELS["learned"], lambda: NoCacheWindow(W)), Oracle(MODELS["learned"])
    assert (windowed.prefill(tokens(T=W)) - full.prefill(tokens(T=W))).abs().max() < 1e-9
    assert (windowed.decode(tokens()[:, W]) - full.decode(tokens()[:, W])).abs().max() > 1e-2


def test_in_one_layer_an_evicted_token_no_longer_matters():
    model = wide(n_layers=1)
    decoder = CachedDecoder(model, lambda: WindowCache(1, W))
    other = tokens().clone()
    other[:, 0] = (other[:, 0] + 1) % 61
    decoder.prefill(tokens())
    assert torch.equal(decoder.decode(tokens()[:, 0]), (decoder.prefill(other), decoder.decode(tokens()[:, 0]))[1])


def test_a_window_that_has_evicted_rows_cannot_be_rolled_back():
    decoder = CachedDecoder(MODELS["learned"], lambda: WindowCache(3, W))
    decoder.prefill(tokens(T=W))
    decoder.crop(W - 1)
    decoder.extend(tokens(T=3))
    with pytest.raises(ValueError, match="cannot roll back from 6 to 5 tokens: a window of 4 has evicted"):
        decoder.crop(5)


# -- left padding ----------------------------------------------------------------------------------------------------

LENGTHS = torch.tensor([7, 4, 1, 6])


@pytest.mark.parametrize("positions", MODELS)
def test_a_padded_row_equals_the_same_row_alone(positions):
    decoder, oracle = RaggedDecoder(MODELS[positions]), RaggedOracle(MODELS[positions])
    prompt = tokens(T=7)
    assert_same(KINDS["padded"], decoder.prefill(prompt, lengths=LENGTHS), oracle.prefill(prompt, lengths=LENGTHS))
    for t in range(4):
        token = tokens()[:, t]
        assert_same(KINDS["padded"], decoder.decode(token), oracle.decode(token))


def test_which_token_pads_does_not_matter_bit_for_bit():
    padding = torch.arange(7) < 7 - LENGTHS[:, None]  # [B, T]
    logits = []
    for pad in (0, 60):
        decoder = RaggedDecoder(MODELS["rope"])
        prompt = tokens(T=7).masked_fill(padding, pad)
        logits.append(
            [decoder.prefill(prompt, lengths=LENGTHS), decoder.extend(tokens(T=3)), decoder.decode(tokens()[:, 0])]
        )
        assert all(bool(x.isfinite().all()) for layer in decoder.layers() for x in layer)
    assert all(torch.equal(a, b) for a, b in zip(*logits))


def test_padding_follows_its_rows():
    decoder, oracle = RaggedDecoder(MODELS["learned"]), RaggedOracle(MODELS["learned"])
    decoder.prefill(tokens(T=7), lengths=LENGTHS), oracle.prefill(tokens(T=7), lengths=LENGTHS)
    decoder.reorder(torch.tensor([1, 0, 3, 2]))
    oracle.rows = [oracle.rows[b] for b in (1, 0, 3, 2)]
    assert_same(KINDS["padded"], decoder.decode(tokens()[:, 0]), oracle.decode(tokens()[:, 0]))


def test_without_lengths_nothing_is_padding_not_even_after_a_padded_batch():
    decoder, oracle = RaggedDecoder(MODELS["learned"]), Oracle(MODELS["learned"])
    decoder.prefill(tokens(T=7), lengths=LENGTHS)
    assert_same(KINDS["padded"], decoder.prefill(tokens(T=7)), oracle.prefill(tokens(T=7)))


@pytest.mark.parametrize("lengths", [[7, 4, 1], [7, 4, 1, 0], [8, 4, 1, 6], [[7, 4, 1, 6]]])
def test_lengths_that_cannot_be_are_refused(lengths):
    with pytest.raises(ValueError, match="4 whole numbers from 1 to 7"):
        RaggedDecoder(MODELS["learned"]).prefill(tokens(T=7), lengths=torch.tensor(lengths))


# -- fewer bits ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "unit"), [(torch.bfloat16, 2**-8), (torch.float16, 2**-11)])
def test_rounded_rows_are_stored_in_their_dtype(dtype, unit):
    exact = CachedDecoder(MODELS["learned"])
    rounded = CachedDecoder(MODELS["learned"], lambda: RoundedCache(3, dtype))
    exact.prefill(tokens()), rounded.prefill(tokens())
    (k, _), (r, _) = exact.layers()[0], rounded.layers()[0]  # the first layer's input is not rounded yet
    assert r.dtype == dtype and exact.cache.nbytes() == 4 * rounded.cache.nbytes()
    assert 0 < ((k - r.double()) / k).abs().max() <= unit


def test_int8_codes_are_within_half_a_step_of_the_row():
    x = torch.randn(4, 2, 5, 8, dtype=torch.float64)
    x[0, 0, 0] = 0  # a row of zeros has no scale of its own
    codes, scale = to_int8(x)
    assert codes.dtype == torch.int8 and scale.shape == (4, 2, 5, 1)
    assert bool(((codes * scale - x).abs() <= scale / 2 + 1e-12).all())
    assert codes.abs().amax(-1).flatten()[1:].eq(127).all()  # every row uses the whole range


def test_an_int8_cache_counts_codes_and_scales():
    decoder = CachedDecoder(MODELS["learned"], lambda: Int8Cache(3))
    decoder.prefill(tokens())
    assert decoder.cache.nbytes() == 2 * 3 * 4 * 2 * 11 * (8 * 1 + 8)  # K and V, L, B, H_kv, S, D codes and a float64
