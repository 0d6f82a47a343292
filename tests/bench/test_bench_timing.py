"""Fair timing, with a clock that the timed calls move themselves: order, medians, ratios, noise, interruption, progress."""

import random

import pytest
import torch

from helpers.bench import breakdown, machine
from helpers.bench.noise import judge
from helpers.bench.ticker import Ticker, terminal_line
from helpers.bench.timing import Timing, fixed_work, interleaved, synchronize


class FakeClock:
    """Seconds that only `takes` moves."""

    def __init__(self):
        self.now, self.order = 0.0, []

    def __call__(self):
        return self.now

    def takes(self, name, *seconds):
        """A callable that takes the given seconds, one after the other; the last again and again. It returns its count."""
        calls = []

        def call():
            self.now += seconds[min(len(calls), len(seconds) - 1)]
            calls.append(name)
            self.order.append(name)
            return len(calls)

        return call


@pytest.fixture
def clock():
    return FakeClock()


def run(clock, variants, rounds=5, warmup=1, control=(0.01,), **options):
    fixed = clock.takes("control", *control)
    return interleaved(variants, rounds, warmup, control=fixed, clock=clock, show=lambda text: None, **options)


def test_warm_up_is_not_counted_and_the_median_is_of_the_rounds(clock):
    timings = run(clock, {"a": clock.takes("a", 99, 1, 2, 3, 4, 50)})
    assert timings["a"].seconds == pytest.approx((1, 2, 3, 4, 50))
    assert (timings["a"].median, *timings["a"].quartiles) == pytest.approx((3, 2, 4))
    assert timings.ms("a") == pytest.approx(3000)


def test_every_round_calls_every_variant_once_and_the_order_changes(clock):
    names = ["a", "b", "c"]
    run(clock, {name: clock.takes(name, 1) for name in names}, rounds=12, warmup=0)
    called = [name for name in clock.order if name != "control"]
    rounds = [tuple(called[i : i + 3]) for i in range(0, len(called), 3)]
    assert len(rounds) == 12 and all(sorted(r) == names for r in rounds)
    assert len(set(rounds)) >= 4
    before_a = {called[i - 1] for i, name in enumerate(called) if name == "a" and i}
    assert before_a >= {"b", "c"}, "a always ran after the same variant"


def test_the_control_runs_before_between_and_after(clock):
    timings = run(clock, {"a": clock.takes("a", 1)}, rounds=3, warmup=2)
    assert clock.order == ["a", "a", *["control"] * 3, "a", "control", "a", "control", "a", "control", "control"]
    assert timings.control == pytest.approx([0.01] * 6)  # its own warm-up is not counted


def test_a_ratio_is_of_the_same_round(clock):
    a, b = clock.takes("a", 1, 10, 4), clock.takes("b", 2, 20, 8)
    timings = run(clock, {"a": a, "b": b}, rounds=3, warmup=0)
    assert timings.ratio("b", "a") == pytest.approx(2) and timings.ratio("a", "b") == pytest.approx(0.5)


def test_the_last_results_are_kept(clock):
    assert run(clock, {"a": clock.takes("a", 1)}, rounds=4, warmup=2).last == {"a": 6}


def test_ctrl_c_keeps_the_complete_rounds(clock):
    def interrupt_in_round(number, seconds=1):
        def call():
            interrupt_in_round.calls += 1
            if interrupt_in_round.calls > number:
                raise KeyboardInterrupt
            clock.now += seconds

        interrupt_in_round.calls = 0
        return call

    timings = run(clock, {"a": clock.takes("a", 2), "b": interrupt_in_round(4)}, rounds=9)
    assert timings.partial and timings.rounds == 3 and timings.wanted == 9
    assert timings["a"].seconds == pytest.approx([2] * 3) and timings["b"].seconds == pytest.approx([1] * 3)
    assert "Interrupted: 3 of 9 rounds." in str(timings)


def test_ctrl_c_before_the_first_round_is_an_interruption_as_ever(clock):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(clock, {"a": clock.takes("a", 1), "b": interrupted})


@pytest.mark.parametrize(("variants", "rounds", "warmup"), [({}, 3, 1), ({"a": print}, 0, 1), ({"a": print}, 1, -1)])
def test_what_cannot_be_timed_is_refused(variants, rounds, warmup):
    with pytest.raises(ValueError, match="nothing to time|at least 1 round"):
        interleaved(variants, rounds, warmup)


def test_a_single_round_has_its_own_value_as_quartiles():
    assert Timing((0.5,)).quartiles == (0.5, 0.5)


def test_a_printed_timing_carries_setup_spread_and_judgement(clock):
    text = str(run(clock, {"one": clock.takes("one", 0.010, 0.010, 0.012, 0.014, 0.016, 0.018)}))
    assert "one  ≈ 14 ms (≈ 12 to ≈ 16)" in text
    assert "threads: " in text and "float32" in text and "batch 1" in text and f"torch {torch.__version__}" in text
    assert "Steady: the same fixed work, timed 8 times" in text


# -- noise ---------------------------------------------------------------------------------------------------------------


def series(wobble, drift=0.0, n=25):
    draw = random.Random(3)
    return [1 + wobble * draw.uniform(-1, 1) + drift * i / n for i in range(n)]


@pytest.mark.parametrize(
    ("control", "noisy"),
    [
        (series(0.02), False),
        (series(0.30), True),
        (series(0.01, drift=0.3), True),
        (series(0.01, drift=-0.3), True),
        ([1.0] * 24 + [5.0], False),  # one outlier does not move a median
        ([1.0] * 12 + [1.12] * 13, True),  # drift alone
        ([1.0, 1.3] * 12, True),  # spread alone
    ],
)
def test_noise_is_recognised(control, noisy):
    assert judge(control).noisy is noisy


def test_noise_is_said_with_its_size_and_direction():
    slower = judge([1.0] * 12 + [1.4] * 12).words
    assert slower.startswith("NOISY") and "varied by ≈ 33 %" in slower and "ended ≈ 40 % slower than it began" in slower
    assert "≈ 40 % slower" not in judge([1.4] * 12 + [1.0] * 12).words
    assert "faster than it began" in judge([1.4] * 12 + [1.0] * 12).words
    assert judge(series(0.01)).words.startswith("Steady")


def test_too_few_timings_are_not_judged():
    assert judge([1.0, 9.0, 1.0]).noisy is None and "not known from 3" in judge([1.0, 9.0, 1.0]).words


def test_the_default_control_is_real_work():
    work = fixed_work()
    assert work() == work() == sum(i & 3 for i in range(10_000))


def test_a_cpu_needs_no_synchronising_and_an_unknown_device_is_refused():
    synchronize("cpu")
    with pytest.raises(RuntimeError):
        synchronize("nonsense")


@pytest.mark.parametrize("device", ["cuda", "mps"])
def test_other_devices_are_synchronised(monkeypatch, device):
    seen = []
    monkeypatch.setattr(torch.cuda, "synchronize", lambda d=None: seen.append("cuda"))
    monkeypatch.setattr(torch.mps, "synchronize", lambda: seen.append("mps"))
    synchronize(device)
    assert seen == [device]


# -- the line of progress ------------------------------------------------------------------------------------------------


def ticks(clock, seconds, total=10):
    shown = []
    with Ticker("timing", total, shown.append, clock) as ticker:
        for _ in range(total):
            clock.now += seconds
            ticker.tick()
    return shown


def test_what_is_short_has_no_line(clock):
    assert ticks(clock, 0.2) == []


def test_what_is_long_says_how_far_it_is_and_clears_its_line(clock):
    shown = ticks(clock, 1.0)
    assert shown[0] == "timing: 3 of 10, about 7 s left" and shown[-1] == "" and len(shown) == 9


def test_the_line_is_cleared_when_the_work_is_interrupted(clock):
    shown = []
    with pytest.raises(KeyboardInterrupt), Ticker("timing", 9, shown.append, clock) as ticker:
        clock.now += 4
        ticker.tick()
        raise KeyboardInterrupt
    assert shown[-1] == ""


def test_without_a_terminal_the_lines_are_plain(capsys):
    terminal_line("timing: 3 of 10")
    terminal_line("")
    assert capsys.readouterr().err == "timing: 3 of 10\n"


# -- what a timing is read with ------------------------------------------------------------------------------------------


def test_the_setup_says_what_this_process_uses():
    setup = machine.describe(dtype=torch.bfloat16, batch=3, length=64)
    assert (setup.dtype, setup.batch, setup.length, setup.threads) == ("bfloat16", 3, 64, torch.get_num_threads())
    assert setup.processor and "batch 3, length 64" in str(setup)
    assert machine.version("no-such-package-here") is None


# -- the breakdown of a step ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "part"),
    [
        ("aten::addmm", "matrix products"),
        ("mkldnn::_linear_pointwise", "matrix products"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention"),
        ("aten::cat", "cache writes"),
        ("aten::gelu", "norms, GELU, sums, embedding"),
        ("aten::view", breakdown.REST),
        ("aten::something_new", breakdown.REST),
    ],
)
def test_operations_are_sorted_into_parts(operation, part):
    assert breakdown.part_of(operation) == part


def test_what_the_operations_leave_is_python_and_dispatch():
    operations = {"aten::mm": (6.0, 4), "aten::cat": (1.0, 2), "aten::view": (0.5, 30)}
    parts = breakdown.split(operations, whole=10.0)
    assert parts["matrix products"] == 6 and parts["cache writes"] == 1 and parts[breakdown.REST] == 3
    assert (
        breakdown.split(operations, whole=6.0)[breakdown.REST] == 0
    )  # a watched step can be slower than an unwatched one


def test_a_real_step_is_broken_down():
    a = torch.ones(64, 64)
    seen = breakdown.break_down(lambda: torch.cat([a @ a, a]).relu(), steps=3)
    assert seen.operations["aten::mm"][1] == 1 and seen.operations["aten::cat"][1] == 1
    assert "| matrix products |" in str(seen) and "| whole |" in str(seen)
