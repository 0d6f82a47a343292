"""The benchmark as a whole: what may be timed, what follows from fabricated timings, and one real run of a tiny shape."""

import json

import pytest
import torch

from helpers.bench import equality, findings, memory, record, run, table
from helpers.bench.gpt2 import gpt2_twin, new_gpt2
from helpers.bench.run import key
from helpers.bench.shapes import SHAPES, new_model, random_tokens
from helpers.bench.variants import (
    BUFFER,
    DYNAMIC,
    LIBRARY,
    LIBRARY_LOOP,
    LOOP,
    NETWORKS,
    VARIANTS,
    Stepper,
    Variant,
)
from helpers.decoding import CachedDecoder
from helpers.figures import MASK
from helpers.model import Config, MiniGPT

from .fabricated import CONFIG, LOOPS, PROBE_BYTES, STEP, made_up, plan


def quiet(text):
    pass


@pytest.fixture(autouse=True)
def shape(monkeypatch):
    monkeypatch.setitem(SHAPES, "test", CONFIG)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    model = MiniGPT(CONFIG).eval()
    model.reset_parameters(std=0.2)
    return model


@pytest.fixture
def bench():
    return made_up()


def test_bandwidth_is_bytes_over_the_median(bench):
    assert findings.bandwidth(bench) == pytest.approx(PROBE_BYTES / 0.00808)
    assert findings.stream_bandwidth(bench) == pytest.approx(1_000_000 / 0.00404)


def test_the_limit_ratio_is_time_over_bytes_at_the_probe_s_speed(bench):
    read = memory.read_bytes(CONFIG, 63)  # the middle one of the steps 62, 63, 64
    assert findings.step_bytes(bench, 64) == read
    assert findings.limit_ratio(bench, 64) == pytest.approx(0.015 / (read / (PROBE_BYTES / 0.008)))
    assert findings.limit_ms(bench, 64) == pytest.approx(1e3 * read / (PROBE_BYTES / 0.00808))


def test_ratios_to_the_library_and_growth(bench):
    assert findings.library_ratio(bench, 32) == pytest.approx(0.5)
    assert findings.concat_ratio(bench, 32) is None  # it was not timed
    measured, read = findings.growth(bench)
    assert measured == pytest.approx(1.5)
    assert read == memory.read_bytes(CONFIG, 63) / memory.read_bytes(CONFIG, 15)


def test_the_faster_loop_is_the_baseline(bench):
    assert findings.baseline(bench, 32) == key(LOOP, 32) and findings.baseline(bench, 64) == key(LIBRARY_LOOP, 64)
    assert findings.speedup(bench, 32) == pytest.approx(0.110 / 0.012)
    assert findings.speedup(bench, 64) == pytest.approx(0.165 / 0.015)
    limit = findings.limit_ms(bench, 64)
    assert findings.speedup_limit(bench, 64) == pytest.approx(1e3 * 0.165 * 1.01 / limit)


def test_totals_are_added_up_from_straight_lines():
    seconds = {2: 1.0, 4: 3.0}
    assert [findings.between(seconds, t) for t in (1, 2, 3, 4)] == [1, 1, 2, 3]
    assert findings.total(seconds, 4) == 7


def test_the_total_speedup_is_that_of_the_sums(bench):
    fast = dict(LOOPS) | {64: 0.165}
    expected = findings.total(fast, 64) / findings.total(STEP, 64)
    assert findings.speedup_total(bench, 64) == pytest.approx(expected)
    constant = findings.total({4: 1.0, 64: 1.0}, 64)
    assert constant == 64


def test_goals_are_met_or_missed_by_the_figures(bench):
    goals = {(g.words, g.length): g for g in findings.goals(bench)}
    assert goals["time / transformers dynamic", 16].met is True
    limit = goals["time / limit", 64]
    assert limit.met is (findings.limit_ratio(bench, 64) <= 1.15) and limit.bound == 1.15
    growth = goals["longest / shortest length", None]
    assert growth.measured == pytest.approx(1.5) and growth.bound == pytest.approx(1.05 * findings.growth(bench)[1])
    assert ("speed-up, the blog's", 64) in goals and ("speed-up, the blog's", 32) not in goals
    share = goals["speed-up / the limit's", 32]
    assert share.measured == pytest.approx(findings.speedup(bench, 32) / findings.speedup_limit(bench, 32))


@pytest.mark.parametrize(("measured", "most", "met"), [(1.0, True, True), (1.2, True, False), (1.2, False, True)])
def test_a_goal_has_a_direction(measured, most, met):
    assert findings.Goal("", None, measured, 1.1, most).met is met
    assert findings.Goal("", None, None, 1.1, most).met is None


def test_the_json_has_the_promised_keys(bench):
    told = json.loads(json.dumps(record.to_dict(bench)))
    for name in ("limit_ratio", "transformers_ratio", "speedup", "speedup_limit", "speedup_total"):
        assert set(told[name]) == {"16", "32", "64"} and all(value > 0 for value in told[name].values())
    assert told["growth"] == pytest.approx(1.5) and told["threads"] == torch.get_num_threads()
    assert told["bandwidth_gb_s"] == pytest.approx(PROBE_BYTES / 0.00808 / 1e9)
    assert told["ms"][key(BUFFER, 16)]["median"] == pytest.approx(10.1) and told["partial"] is False
    assert told["equality"]["tolerance"] == pytest.approx(8e-7)


def test_the_table_shows_measured_and_limit_side_by_side(bench):
    text = table.markdown(bench)
    assert "| preallocated | ≈ 10.1 (≈ 10." in text and "| limit: bytes read / bandwidth |" in text
    assert "≈ 167 (transformers no cache)" in text and "15.2 / 8.7 = 1.75" in text and "MISSED" in text
    assert str(bench.setup) in text and "Steady" in text and "fit a processor's cache" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (10.04, "≈ 10.0"),
        (0.0123456, "≈ 0.0123"),
        (123.4, "≈ 123"),
        (1234.5, "≈ 1,234"),
        (1.7e-6, "≈ 1.70e-06"),
    ],
)
def test_moving_figures_have_three_digits(value, text):
    assert table.moving(value) == text
    assert value is None or MASK.fullmatch(text), "the notebooks' test would not mask it"


def test_a_partial_run_is_told_as_partial(bench):
    bench.loops, bench.partial = None, True
    text, told = table.markdown(bench), record.to_dict(bench)
    assert "**Partial**" in text and "Speed-up over no cache" not in text
    assert told["partial"] and told["speedup"] == {"16": None, "32": None, "64": None} and told["growth"] is not None


# -- correctness before speed --------------------------------------------------------------------------------------------


def test_the_library_s_model_has_the_same_weights_and_logits(model):
    twin, tokens = gpt2_twin(model), random_tokens(CONFIG, 12, batch=2)
    with torch.inference_mode():
        assert torch.allclose(twin(input_ids=tokens).logits, model(tokens), atol=1e-4)


@pytest.mark.parametrize(
    "config", [Config(61, gelu="tanh", positions="rope"), Config(61, n_kv_heads=2, gelu="tanh"), Config(61)]
)
def test_a_model_that_gpt2_cannot_be_is_refused(config):
    with pytest.raises(ValueError, match="GPT-2 has learned positions"):
        new_gpt2(config)


@pytest.fixture(scope="module")
def decoders(model):
    made = {name: make(model) for name, make in NETWORKS.items()}
    return {v.name: v.new(made[v.network], 64) for v in VARIANTS.values() if v.name != run.COMPILED}


def test_every_variant_is_the_same_model(model, decoders):
    seen = equality.compare(model, decoders, random_tokens(CONFIG, 24, batch=2))
    rounded = [name for name in decoders if not VARIANTS[name].exact]
    assert seen.separates and len(rounded) == 3
    assert equality.refused(seen, rounded) == {}
    assert sorted(equality.refused(seen)) == sorted(rounded)  # fewer bits are more than rounding


def test_a_wrong_decoder_is_refused_with_its_difference(model, decoders):
    shifted = CachedDecoder(model, lambda: equality.Shifted(2, 64))
    seen = equality.compare(model, decoders | {"shifted": shifted}, random_tokens(CONFIG, 24, batch=2))
    words = equality.refused(seen)["shifted"]
    assert f"differ by {seen.differences['shifted']:.1e}" in words and seen.differences["shifted"] == seen.bug
    with pytest.raises(equality.NotEqual, match="shifted: its logits differ"):
        equality.require(seen)


def test_a_decoder_that_raises_or_gives_nan_is_refused(model):
    class Raises:
        def prefill(self, tokens):
            raise RuntimeError("no kernel\nfor this")

    class NotNumbers(CachedDecoder):
        def decode(self, token):
            return super().decode(token) * float("nan")

    decoders = {"raises": Raises(), "nan": NotNumbers(model)}
    reasons = equality.refused(equality.compare(model, decoders, random_tokens(CONFIG, 16), steps=4))
    assert reasons["raises"] == "did not run: RuntimeError: no kernel" and "differ by nan" in reasons["nan"]


def test_a_comparison_that_could_not_see_a_bug_proves_nothing():
    blind = equality.Equality({"a": 0.0}, rounding=1e-3, bug=1e-3, broken={})
    assert "proves nothing" in equality.refused(blind)["a"]


def test_a_stepper_ends_at_the_last_token(model):
    tokens = random_tokens(CONFIG, 20)
    step = Stepper(CachedDecoder(model), tokens, 3)
    logits = [step() for _ in range(3)]
    assert torch.allclose(logits[-1], model(tokens)[:, -1], atol=1e-4)
    assert step.decoder.cache.length == 20
    with pytest.raises(ValueError, match="no room for 20 timed steps"):
        Stepper(CachedDecoder(model), tokens, 20)


# -- a real run ----------------------------------------------------------------------------------------------------------


class LateFault(equality.Shifted):
    """Right for as long as the comparison looks, wrong where the timing ends."""

    def positions(self, T):
        return super().positions(T) - int(T == 1 and self.length < run.COMPARED + 4)


def wrong(cache):
    return lambda model, capacity: CachedDecoder(model, lambda: cache(2, 64 + 1))


@pytest.fixture
def broken_variants(monkeypatch):
    monkeypatch.setitem(VARIANTS, "wrong", Variant("wrong", "plain", wrong(equality.Shifted)))
    monkeypatch.setitem(VARIANTS, "late", Variant("late", "plain", wrong(LateFault)))

    def missing(model):
        raise ImportError("transformers is not installed")

    monkeypatch.setitem(NETWORKS, LIBRARY, missing)


def test_a_run_times_what_is_right_and_says_what_it_left_out(broken_variants):
    bench = run.measure(plan(lengths=(16, 60), compiled=False), show=quiet)
    assert bench.refused["wrong"].startswith("its logits differ") and "last timed step" in bench.refused["late"]
    assert bench.refused[DYNAMIC] == "transformers is not installed"
    assert key("wrong", 16) not in bench.steps.variants and key("late", 16) not in bench.steps.variants
    assert bench.steps[key(BUFFER, 60)].median > 0 and not bench.partial
    told, text = record.to_dict(bench), table.markdown(bench)
    assert told["transformers_ratio"] == {"16": None, "60": None} and told["speedup"]["60"] > 0
    assert "Not timed: late: the logits of its last timed step differ" in text and "not measured" in text


def test_an_interruption_keeps_the_phases_before_it(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "time_loops", interrupted)
    bench = run.measure(plan(lengths=(16,), compiled=False), show=quiet)
    assert bench.partial and bench.steps and bench.loops is None and bench.memory == {}


def test_the_first_and_the_last_shape_are_the_ones_named():
    assert {"gpt2", "small", "tiny"} <= SHAPES.keys()
    assert new_model(SHAPES["tiny"]).training is False
