"""Bytes and operations: every formula against what tensors hold, what torch counts, and what a process really took."""

from itertools import chain

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from helpers.bench import bandwidth, copies, limits, memory, peak
from helpers.bench.shapes import SHAPES, new_model, random_tokens
from helpers.caches import PreallocatedCache
from helpers.decoding import CachedDecoder
from helpers.model import Config

CONFIGS = {
    "learned": Config(vocab_size=61, block_size=40, n_layers=3, n_heads=4, d_model=24, d_ff=56, gelu="tanh"),
    "grouped rope": Config(61, 40, 2, 6, 36, 50, n_kv_heads=2, positions="rope"),
    "sinusoidal": Config(61, 40, 1, 1, 8, 12, positions="sinusoidal"),
}
every_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


@every_config
def test_the_weights_take_the_predicted_bytes(config):
    model = new_model(config)
    assert memory.counted_bytes(model.parameters()) == memory.weight_bytes(config)
    assert memory.counted_bytes(model.bfloat16().parameters()) == memory.weight_bytes(config, itemsize=2)


def test_gpt2_has_its_known_size():
    assert memory.weight_bytes(SHAPES["gpt2"], itemsize=1) == 124_439_808


@every_config
def test_the_cache_takes_the_predicted_bytes(config):
    decoder = CachedDecoder(new_model(config))
    decoder.prefill(random_tokens(config, 6, batch=3))
    decoder.decode(torch.tensor([1, 2, 3]))  # before, the rows are views into the products of the prompt
    held = memory.counted_bytes(chain(*decoder.layers()))
    assert held == memory.row_bytes(decoder.layers()) == memory.kv_bytes(config, 7, batch=3) == decoder.cache.nbytes()


def test_room_is_counted_apart_from_rows():
    config = CONFIGS["learned"]
    decoder = CachedDecoder(new_model(config), lambda: PreallocatedCache(config.n_layers, 32))
    decoder.prefill(random_tokens(config, 7))
    layers = decoder.layers()
    assert memory.row_bytes(layers) == memory.kv_bytes(config, 7)
    assert memory.counted_bytes(chain(*layers)) == memory.kv_bytes(config, 32)


def test_memory_that_two_tensors_share_counts_once():
    x = torch.zeros(4, 8)
    assert memory.counted_bytes([x, x[:2], x.t(), torch.zeros(2)]) == 4 * 32 + 8


def test_a_step_reads_all_weights_but_the_unused_positions_and_all_rows():
    config = CONFIGS["learned"]
    model = new_model(config)
    unused = model.position.weight[1:].numel() * 4
    expected = memory.weight_bytes(config) - unused + memory.kv_bytes(config, 9, batch=2)
    assert memory.read_bytes(config, 9, batch=2) == expected
    rope = CONFIGS["grouped rope"]
    assert memory.read_bytes(rope, 0) == memory.weight_bytes(rope)


def test_the_limit_is_bytes_over_bandwidth():
    config = CONFIGS["learned"]
    read = memory.read_bytes(config, 16)
    assert limits.limit_ms(config, 16, bandwidth=read) == pytest.approx(1000)  # as many bytes as in a second
    assert limits.limit_ms(config, 16, bandwidth=2 * read) == pytest.approx(500)


@pytest.mark.parametrize("name", ["learned", "sinusoidal"])
def test_operations_of_a_step_are_those_that_torch_counts(name):
    config = CONFIGS[name]
    decoder = CachedDecoder(new_model(config))
    decoder.prefill(random_tokens(config, 9, batch=2))
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counted:  # the fused kernel is not counted
        decoder.decode(torch.tensor([1, 2]))
    assert limits.step_flops(config, new=1, length=10, batch=2) == counted.get_total_flops()


def test_operations_of_a_prompt_are_those_of_its_steps_but_for_the_heads():
    config, T = CONFIGS["learned"], 13
    head = limits.step_flops(config, 0, 0)
    steps = sum(limits.step_flops(config, 1, t) - head for t in range(1, T + 1))
    assert limits.step_flops(config, T, T) == steps + head and head == 2 * config.d_model * config.vocab_size


def test_the_prediction_is_the_slower_of_bytes_and_operations():
    config = CONFIGS["learned"]
    by_bytes = limits.limit_ms(config, 8, 1e6)
    by_operations = 1e3 * limits.step_flops(config, 8, 8) / 1e6
    assert limits.predict_ms(config, 8, 8, bandwidth=1e6, flops=1e15) == by_bytes
    assert limits.predict_ms(config, 8, 8, bandwidth=1e15, flops=1e6) == by_operations


def test_the_blog_s_speed_ups_are_its_own_quotients():
    for without, with_cache, speedup in limits.BLOG.values():
        assert without / with_cache == pytest.approx(speedup, rel=2e-3)


# -- the probes ----------------------------------------------------------------------------------------------------------


def test_the_decode_probe_reads_what_the_products_of_a_step_read():
    config = CONFIGS["learned"]
    probe = bandwidth.DecodeProbe(config)
    model = new_model(config)
    matrices = [p for name, p in model.named_parameters() if p.dim() == 2 and name != "position.weight"]
    assert probe.bytes == sum(p.numel() * 4 for p in matrices)
    shapes = sorted((product.weight.shape, x.shape[-1]) for product, x in probe.products)
    assert shapes == sorted((p.shape, p.shape[1]) for p in matrices)
    assert memory.counted_bytes(product.weight for product, _ in probe.products) == probe.bytes  # none shared
    probe()


def test_bandwidth_and_arithmetic_are_amounts_over_median_times():
    config = CONFIGS["learned"]
    now = [0.0]

    def clock():  # every look takes a second: a call lasts one
        now[0] += 1
        return now[0]

    per_second, flops, timings = bandwidth.measure(config, rounds=4, clock=clock, control=lambda: None)
    assert per_second == bandwidth.DecodeProbe(config).bytes and flops == bandwidth.ProductProbe().flops
    assert timings.rounds == 4


def test_the_stream_probe_says_how_much_it_reads():
    probe = bandwidth.StreamProbe(megabytes=2)
    probe()
    assert probe.bytes == 2_000_000 == memory.counted_bytes([probe.numbers])


# -- bytes that caches move ----------------------------------------------------------------------------------------------


def moved(new_cache, config, length, batch):
    """Bytes written while `length` tokens are fed one by one, the first uncounted: both caches only store it."""
    decoder, tokens = CachedDecoder(new_model(config), new_cache), random_tokens(config, length, batch)
    decoder.prefill(tokens[:, :1])
    counted = [copies.written_bytes(lambda t=t: decoder.decode(tokens[:, t])) for t in range(1, length)]
    return {name: sum(c[name] for c in counted) for name in counted[0]}


def test_concatenating_writes_every_row_again_at_every_step():
    config = CONFIGS["learned"]
    assert moved(None, config, 12, batch=2) == {"cat": copies.concat_bytes(config, 12, batch=2)}


def test_a_preallocated_cache_writes_the_new_row_only():
    config = CONFIGS["learned"]
    written = moved(lambda: PreallocatedCache(config.n_layers, 16), config, 12, batch=2)
    assert written == {"copy_": memory.kv_bytes(config, 11, batch=2)}


def test_the_formula_of_the_copies_is_the_sum_of_its_steps():
    config = CONFIGS["grouped rope"]
    assert copies.concat_bytes(config, 9, batch=3) == sum(memory.kv_bytes(config, n, batch=3) for n in range(2, 10))


def test_a_write_counts_what_is_written_and_not_the_buffer():
    buffer, rows = torch.zeros(10, 4), torch.ones(1, 4)

    def write():
        buffer[2:5] = rows  # broadcast: three rows are written
        buffer[torch.tensor([7, 9])] = torch.ones(2, 4)

    assert copies.written_bytes(write) == {"copy_": 3 * 16, "index_put_": 2 * 16}


def test_what_moves_nothing_writes_nothing():
    assert copies.written_bytes(lambda: torch.ones(3) + 1) == {}


# -- processes -----------------------------------------------------------------------------------------------------------


def test_the_peak_of_a_process_is_its_own_and_not_its_parent_s():
    ballast = b"\1" * 700_000_000  # more than the child takes; a child's ru_maxrss would begin with it on Linux
    seen = peak.in_own_process("preallocated", "tiny", 16)
    config = SHAPES["tiny"]
    assert seen.weights == memory.weight_bytes(config) and seen.rows == memory.kv_bytes(config, 16) == seen.room
    assert seen.libraries < seen.peak < len(ballast) < memory.peak_bytes()
    assert seen.own == seen.peak - seen.libraries >= 0


def test_a_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="KeyError: 'no such variant'"):
        peak.in_own_process("no such variant", "tiny", 16)


def test_a_system_that_does_not_say_its_peak_is_not_measured():
    assert peak.Peak(None, None, 1, 1, 1).own is None


def test_codes_that_are_no_parameters_count_too():
    module = torch.nn.Linear(3, 2)
    module.codes = torch.zeros(10, dtype=torch.int8)
    assert memory.counted_bytes(peak.tensors(module)) == 4 * (6 + 2) + 10
