"""What lesson 07 measures with: scripted machines, spans within spans, a stopwatch that asks for proof."""

import pytest
import torch

from helpers.bench import SHAPES, interleaved, new_model, random_tokens, spans
from helpers.bench.products import with_products
from helpers.bench.scripted import Call, Scripted, first_pays, slow_start, slowing
from helpers.bench.spans import ATTENTION, PRODUCTS, STEP, WRITES
from helpers.bench.stopwatch import NotProved, Stopwatch
from helpers.bench.variants import concatenated, preallocated
from helpers.caches import WindowCache
from helpers.decoding import CachedDecoder
from helpers.faults import faulty

SPANS = [("step", 0.0, 20.0), ("attention", 2.0, 12.0), ("cache writes", 5.0, 8.0), ("cache writes", 15.0, 16.0)]


@pytest.fixture(scope="module")
def watch():
    return Stopwatch(new_model(SHAPES["tiny"]))


def test_a_scripted_machine_tells_its_own_time():
    machine = Scripted(lambda call: 0.5 * (1 + call.number))
    calls, began = machine.variants("a", "b"), machine.clock()
    calls["a"](), calls["a"](), calls["b"]()
    assert machine.clock() - began == 0.5 + 1.0 + 0.5 and machine.log == ["a", "a", "b"] and machine.looks == 2


def test_the_scripts_are_what_they_say():
    assert slowing(0.1, 11)(Call("a", 0, 0)) == 0.1 and slowing(0.1, 11)(Call("a", 0, 10)) == pytest.approx(0.3)
    assert slow_start({"a": 1.0}, 2)(Call("a", 1, 9)) == 40.0 and slow_start({"a": 1.0}, 2)(Call("a", 2, 9)) == 1.0
    assert [first_pays(1.0, 3)(Call("a", 0, place)) for place in range(4)] == [1.8, 1.0, 1.0, 1.8]


def test_the_courses_own_timer_is_not_fooled_by_a_machine_that_slows():
    machine = Scripted(slowing(0.01, 3 * 62))
    found = interleaved(machine.variants(*"abc"), 60, 2, clock=machine.clock, control=lambda: None)
    times = [found.ms(name) for name in "abc"]
    assert max(times) < 1.1 * min(times)


def test_own_times_add_up_to_the_step_and_whole_times_do_not():
    assert spans.own_seconds(SPANS) == {STEP: 9.0, ATTENTION: 7.0, WRITES: 4.0}
    assert spans.whole_seconds(SPANS) == {STEP: 20.0, ATTENTION: 10.0, WRITES: 4.0}


@pytest.mark.parametrize("products", [False, True])
def test_a_recorded_step_has_every_part_and_leaves_the_model_as_it_was(products):
    model = new_model(SHAPES["tiny"])
    model, tokens = with_products(model) if products else model, random_tokens(model.config, 9)
    decoder, other = preallocated(model, 9), preallocated(model, 9)
    for one in (decoder, other):
        one.prefill(tokens[:, :8])
    before = [set(vars(owner)) for owner, _, _ in spans.places(decoder)]
    recorded = spans.record(decoder, tokens[:, 8])
    parts = [part for part, _, _ in recorded]
    assert [parts.count(part) for part in (STEP, ATTENTION, WRITES)] == [1, 2, 2] and parts.count(PRODUCTS) >= 9
    assert [set(vars(owner)) for owner, _, _ in spans.places(decoder)] == before
    whole = max(end - begin for _, begin, end in recorded)
    assert sum(spans.own_seconds(recorded).values()) == pytest.approx(whole)
    other.decode(tokens[:, 8])
    assert torch.equal(decoder.layers()[1][0], other.layers()[1][0])


def test_the_stopwatch_takes_what_is_right(watch):
    for name, build in {"in place": preallocated, "concatenated": concatenated}.items():
        assert watch.enter(name, build).verdict == "equal" and watch.errors[name] < 1e-4
    step = watch.step("in place", 12, calls=2)
    step(), step()
    assert step.decoder.layers()[0][0].shape[2] == 12
    assert watch.whole("in place", 5)().shape == (1, watch.model.config.vocab_size)


@pytest.mark.parametrize(
    ("name", "build", "told"),
    [
        ("restarts", lambda model, _: faulty(model, "pos_restart"), "The audit: differs"),
        ("forgets", lambda m, _: CachedDecoder(m, lambda: WindowCache(m.config.n_layers, 16)), "its logits differ by"),
    ],
)
def test_the_stopwatch_refuses_what_is_wrong(watch, name, build, told):
    with pytest.raises(NotProved, match=told):
        watch.enter(name, build)
    with pytest.raises(NotProved, match="never proved"):
        watch.step(name, 12, calls=1)


def test_rounded_weights_need_a_proved_decoder_and_an_error_below_a_bugs(watch):
    rounded = lambda model, capacity: preallocated(with_products(model, "float16"), capacity)
    with pytest.raises(NotProved, match="never proved"):
        watch.enter("float16", rounded, rounded_from="nobody")
    watch.enter("exact", preallocated)
    watch.enter("float16", rounded, rounded_from="exact")
    assert watch.errors["float16"] > 10 * watch.errors["exact"]
    with pytest.raises(NotProved, match="its logits differ"):
        watch.enter("wrong", lambda model, _: faulty(model, "pos_restart"), rounded_from="exact")
