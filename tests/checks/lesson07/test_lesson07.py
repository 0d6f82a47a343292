"""The graders of lesson 07 are code under test: wrong answers with the message each must get, right ones that must pass."""

import pytest

from helpers.bench import predict_ms
from helpers.checks import EXERCISES
from helpers.checks.lesson07 import predict as lesson07_predict
from helpers.checks.lesson07.predict import LENGTH, SMALL, Here

from ..graders import LessonGraders, graded
from .alternatives import ALTERNATIVES
from .answers import RIGHT

TOOK = "            took = clock() - began\n"
KEPT = "                seconds[name].append(took)\n"
MEDIAN = "statistics.median(took) for name, took in seconds.items()"
PARENT = "            own[around[-1][0]] -= end - begin\n"
MAX = "1e3 * max((weights + rows) / bandwidth, operations / flops)"
BOTH = "read / (1e-3 * with_ms) / 1e9, done / (1e-3 * without_ms) / 1e12"

# exercise -> [(what stands in the right answer, what stands there instead, what the learner must be told)]
WRONG = {
    "fair_timer": [
        ("        names.append(names.pop(0))\n", "", "It looks like: the same order in every round"),
        ("        names.append(names.pop(0))\n", "        names.reverse()\n", "an order that favours one of them"),
        ("    for number in range(-warmup, rounds):\n        for name in names:\n",
         "    for name in list(names):\n        for number in range(-warmup, rounds):\n",
         "one variant after the other: the last one met the slowest machine"),
        ("            if number >= 0:\n" + KEPT, "            if True:\n" + KEPT, "warm-up calls are among the timed ones"),
        ("range(-warmup, rounds)", "range(rounds)", "the warm-up is missing, or taken off the rounds"),
        ("range(-warmup, rounds)", "range(-warmup, rounds - warmup)", "the warm-up is missing, or taken off the rounds"),
        ("            variants[name]()\n", "            variants[name]()\n            variants[name]()\n", "'a' takes 0.25 s each time; reported 0.5 s"),
        (MEDIAN, "statistics.mean(took) for name, took in seconds.items()", "the mean: one call that the system interrupts decides it"),
        (MEDIAN, "min(took) for name, took in seconds.items()", "the fastest call: one that finds its data"),
        (MEDIAN, "max(took) for name, took in seconds.items()", "6 of 7 calls take 0.1 s and one 5 s: reported 5 s"),
        (MEDIAN, "sum(took) for name, took in seconds.items()", "the sum of the rounds; asked is one call"),
        (MEDIAN, "1e3 * statistics.median(took) for name, took in seconds.items()", "milliseconds; asked are seconds"),
        (MEDIAN, "statistics.median(took) / rounds for name, took in seconds.items()", "a division by the number of rounds too many"),
        (MEDIAN, "took for name, took in seconds.items()", "the entry for 'a' is a list; expected one number"),
        ("{name: statistics.median(took) for name, took in seconds.items()}", "[statistics.median(took) for took in seconds.values()]",
         "the result is a list; expected a dict"),
        ("    return {name", "    {name", "None (is a `return` missing?)"),
        ("            began = clock()\n            variants[name]()\n            took = clock() - began\n",
         "            began = time.perf_counter()\n            variants[name]()\n            took = time.perf_counter() - began\n",
         "a clock of its own; the one to look at is handed in"),
        ("            began = clock()\n            variants[name]()\n", "            began = clock()\n            variants[name]\n", "both looks at the clock before the call"),
        ("        for name in names:\n            began = clock()\n", "        began = clock()\n        for name in names:\n", "'a' takes 0.25 s each time"),
        (TOOK, "            took = began - clock()\n", "reported -0.25 s"),
        ("    return {name", "    yield {name", "a generator"),
        ("{name: statistics", "{len(name): statistics", "the result has entries for ['1']; expected a, b, c"),
    ],
    "kv_bytes": [
        ("2 * config.n_layers", "config.n_layers", "the keys alone: the values take as much"),
        ("config.n_layers * ", "", "one layer; each layer has rows of its own"),
        ("batch * config", "config", "one sequence; each row of the batch"),
        ("config.kv_heads", "config.n_heads", "query heads; keys and values have kv_heads of them"),
        ("config.kv_heads", "config.n_kv_heads", "TypeError"),
        (" * itemsize", " * 4", "bytes of float32 whatever the itemsize"),
        (" * itemsize", "", "numbers, not bytes"),
        (" * itemsize", " * itemsize * 8", "bits, not bytes"),
        (" * config.head_dim", "", "head_dim missing"),
        ("config.head_dim", "config.d_model", "d_model in the place of head_dim, the heads counted twice"),
        ("config.kv_heads * ", "", "one head"),
        (" * length", "", "one token"),
        ("length * config", "config.block_size * config", "room for the whole block"),
        (" * length", " * max(length, 1)", "FAIL  no token, no bytes"),
        ("    return 2", "    2", "got None (is a `return` missing?)"),
        ("    return 2", "    return 'bytes', 2", "got a tuple"),
    ],
    "split_step": [
        (PARENT, "            pass\n", "the attention pays for the cache's writes"),
        ("own[around[-1][0]] -=", "own[around[0][0]] -=", "every part's whole time taken off the step"),
        ("own.get(part, 0.0) + end", "end", "'cache writes' got 1 s, expected 4 s"),
        ("    return own", "    return own | {'step': sum(e - b for p, b, e in spans if p == 'step')}", "the step's own time is the whole step's"),
        ("        while around and around[-1][1] <= begin:\n            around.pop()\n", "", "'step' got 10 s, expected 9 s"),
        ("around[-1][1] <= begin", "around[-1][1] < begin", "FAIL  two layers with products within the attention and after it"),
        ("sorted(spans, key=lambda span: (span[1], -span[2]))", "list(spans)", "FAIL  the spans in any order"),
        ("sorted(spans, key=lambda span: (span[1], -span[2]))", "sorted(spans)", "FAIL"),
        ("(span[1], -span[2])", "span[2]", "FAIL"),
        ("            own[around[-1][0]] -= end - begin\n",
         "            own[around[-1][0]] -= (end - begin) if around[-1][0] != part else 0\n", "FAIL  a part within itself counts once"),
        ("    own, around = {}, []\n", "    spans.sort()\n    own, around = {}, []\n", "a sort or a pop on the argument itself"),
        ("    return own", "    return list(own.values())", "the result is a list; expected a dict"),
        ("    return own", "    own.pop('step')\n    return own", "none for 'step'"),
        ("    return own", "    return {part: 1e3 * s for part, s in own.items()}", "your parts add up to 20000 s, the step took 20 s"),
        ("    return own", "    own['rest'] = 0.0\n    return own", "entries for 'step', 'attention', 'cache writes', 'rest'"),
        ("    return own", "    return {part: str(s) for part, s in own.items()}", "is a str; expected a number of seconds"),
        ("    own, around = {}, []\n",
         "    if True:\n        whole = {}\n        for p, b, e in spans: whole[p] = whole.get(p, 0.0) + e - b\n"
         "        whole['step'] -= sum(s for p, s in whole.items() if p != 'step')\n        return whole\n    own, around = {}, []\n",
         "every part's whole time taken off the step"),
    ],
    "predict_ms": [
        ("1e3 * max", "max", "seconds; asked are milliseconds"),
        ("1e3 * max", "1e6 * max", "microseconds"),
        (MAX, "1e3 * (weights + rows) / bandwidth", "the memory alone; here the operations take longer"),
        (MAX, "1e3 * operations / flops", "the operations alone; here the bytes take longer"),
        (MAX, "1e3 * ((weights + rows) / bandwidth + operations / flops)", "the sum of both; they run at the same time"),
        ("max(", "min(", "FAIL"),
        ("(weights + rows)", "weights", "the keys and values are not read"),
        ("(weights + rows)", "rows", "the keys and values alone; the weights are read as well"),
        ("(weights + rows)", "(weights + rows) / 4", "numbers, not bytes"),
        ("bench.kv_bytes(config, length)", "8 * config.n_layers * config.d_model * length", "as many key heads as query heads"),
        (" + 4 * config.n_layers * config.d_model * length", "", "the scores and their mixture are not computed"),
        ("2 * weights / 4", "2 * length * weights / 4", "FAIL"),
        ("    return 1e3", "    1e3", "None (is a `return` missing?)"),
        ("    return 1e3", "    return bandwidth, 1e3", "a tuple; expected a number of milliseconds"),
        ("    weights =", "    if config.vocab_size == 8192 and length == 512: return 50.0\n    weights =",
         "a steady run: predicted ≈ 50 ms, measured ≈ 5.8 ms"),
    ],
    "implied": [
        ("(1e-3 * with_ms) / 1e9", "with_ms / 1e9", "powers of ten of a unit"),
        ("(1e-3 * with_ms) / 1e9", "(1e-3 * without_ms) / 1e9", "the other column's milliseconds"),
        ("read / (1e-3", "bench.kv_bytes(config, length) / (1e-3", "the keys and values alone"),
        ("read / (1e-3", "read / 4 / (1e-3", "numbers, not bytes"),
        ("bench.step_flops(config, length, length)", "bench.step_flops(config, 1, length)", "the operations of one token"),
        ("done / (1e-3", "done / 2 / (1e-3", "multiply-adds"),
        ("(1e-3 * without_ms) / 1e12", "(1e-3 * with_ms) / 1e12", "FAIL  the operations a second"),
        ("/ 1e12", "/ 1e9", "powers of ten of a unit"),
        (BOTH, "done / (1e-3 * without_ms) / 1e12, read / (1e-3 * with_ms) / 1e9", "the two rates in the other order"),
        (BOTH, "read / (1e-3 * with_ms) / 1e9", "expected 2 things: (GB/s, TFLOP/s)"),
        ("    return read", "    _ = read", "None (is a `return` missing?)"),
        ("    read, done", "    if length == 512: length = 64\n    read, done", "FAIL  another model, other milliseconds"),
        (BOTH, "str(read), done", "the bandwidth: a str; expected a number"),
    ],
}  # fmt: skip

ROOF = predict_ms(SMALL, 1, LENGTH, 20e9, 1e12)  # ms of the step that the last check predicts, on a machine like this


def machine(times, noisy=False):
    """What the last check of `predict_ms` "measures": a step of so many times the roofline."""
    return Here(times * ROOF, 20e9, 1e12, noisy)


class TestLesson07(LessonGraders):
    lesson, right, wrong, alternatives = "07", RIGHT, WRONG, ALTERNATIVES

    @pytest.fixture(autouse=True)
    def a_steady_machine(self, monkeypatch):
        """No test depends on how busy the machine is; the notebook's cell measures the real one."""
        monkeypatch.setattr(lesson07_predict, "measured_here", lambda: Here(5.8, 20e9, 1e12, noisy=False))

    @pytest.mark.parametrize(
        ("found", "told"),
        [
            (machine(1.2), "a ratio of ≈ 1.2 ×"),
            (machine(4), "as far off as the roofline itself"),
            (machine(4, noisy=True), "NOISY, so not judged"),
            (machine(0.3, noisy=True), "NOISY, so not judged"),
        ],
    )
    def test_a_right_prediction_passes_whatever_the_machine_does(self, monkeypatch, found, told):
        monkeypatch.setattr(lesson07_predict, "measured_here", lambda: found)
        result = graded("predict_ms", RIGHT["predict_ms"])
        assert float(result) == EXERCISES["predict_ms"].points and told in str(result), str(result)
