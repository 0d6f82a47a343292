"""Lesson 07: each part's own time from nested spans, without counting anything twice."""

import random

from ...bench.spans import own_seconds, whole_seconds
from ..compare import own
from ..registry import Exercise, Wrong, kind

split_step = Exercise(
    name="split_step",
    lesson="07",
    call="split_step(spans) -> {part: seconds of its own}",
    minutes=20,
    difficulty="hard",
    hints=(
        "A cache write of 3 ms within an attention of 10 ms: how much of the 10 is attention?",
        "Add each span's length to its part, and take it off the part of the innermost span around it.",
        "Sorted by (begin, -end), a list of the spans that are still open, the innermost last, is a stack: drop those "
        "that end before the next one begins; what is on top then is the parent.",
    ),
)
ATTENTION = [("step", 0.0, 20.0), ("attention", 2.0, 12.0), ("cache writes", 5.0, 8.0)]
LAYERS = [("step", 0.0, 50.0)] + [
    (part, 20.0 * layer + begin, 20.0 * layer + end)
    for layer in (0, 1)
    for part, begin, end in [
        ("attention", 1.0, 12.0), ("products", 2.0, 4.0), ("cache writes", 4.0, 9.0), ("products", 13.0, 18.0)
    ]
]  # fmt: skip
OUTSIDE = [*ATTENTION, ("cache writes", 15.0, 16.0)]
WITHIN_ITSELF = [("step", 0.0, 10.0), ("products", 1.0, 9.0), ("products", 2.0, 7.0)]


def known(spans):
    """Known mistakes -> the split that each of them gives."""
    whole, right = whole_seconds(spans), own_seconds(spans)
    inside = sum(seconds for part, seconds in whole.items() if part != "step")
    flat = dict(whole) | {"step": whole["step"] - inside}
    return {
        "what happens within a part is counted again in it: the attention pays for the cache's writes": dict(whole),
        "every part's whole time taken off the step, although some lie within others": flat,
        "the step's own time is the whole step's": right | {"step": whole["step"]},
        "the last span of each name; they add up": {part: end - begin for part, begin, end in spans},
    }


def splits_are(answer, spans, words):
    right = own_seconds(spans)
    got = answer(list(spans))
    if not isinstance(got, dict):
        raise Wrong(f"{words}: the result is {kind(got)}; expected a dict {{part: seconds}}")
    missing = set(right) - set(got)
    if missing or set(got) - set(right):
        extra = f", and none for {', '.join(map(repr, sorted(missing)))}" if missing else ""
        raise Wrong(f"{words}: entries for {', '.join(map(repr, got)) or 'nothing'}{extra}; expected {sorted(right)}")
    for part, seconds in right.items():
        if not isinstance(got[part], (int, float)):
            raise Wrong(f"{words}: {part!r} is {kind(got[part])}; expected a number of seconds")
        if not same(got[part], seconds):
            looks = next((w for w, wrong in known(spans).items() if alike(got, wrong)), None)
            total, whole = sum(got.values()), sum(right.values())
            sums = "" if same(total, whole) else f"; your parts add up to {total:.6g} s, the step took {whole:.6g} s"
            raise Wrong(f"{words}: {part!r} got {got[part]:.6g} s, expected {seconds:.6g} s{sums}", looks)


def same(a, b):
    return abs(a - b) < 1e-6


def alike(a, b):
    return a.keys() == b.keys() and all(isinstance(a[x], (int, float)) and same(a[x], b[x]) for x in a)


CASES = {  # title: (spans, what they are)
    "a cache write within the attention within the step": (ATTENTION, "step 20 s, attention 10 s, cache writes 3 s"),
    "a cache write outside the attention, too": (
        OUTSIDE,
        "cache writes of 3 s within the attention and of 1 s outside",
    ),
    "two layers with products within the attention and after it": (LAYERS, "two layers"),
    "a part within itself counts once": (WITHIN_ITSELF, "a product of 8 s that calls another for 5 of them"),
}
for title, case in CASES.items():
    split_step.check(title)(lambda answer, case=case: splits_are(answer, *case))


@split_step.check("the spans in any order")
def _(answer):
    spans = LAYERS[:]
    for seed in range(5):
        random.Random(seed).shuffle(spans)
        splits_are(answer, spans, "the spans of two layers, shuffled")


@split_step.check("a list of 4,000 spans, and it is left as it was")
def _(answer):
    spans = [("step", 0.0, 60_000.0)]
    for layer in range(1000):
        at = 60.0 * layer
        spans += [("attention", at, at + 30), ("cache writes", at + 10, at + 20), ("products", at + 30, at + 50)]
    given = list(spans)
    splits_are(lambda _: own(answer)(given), spans, "1,000 layers")
    if given != spans:
        raise Wrong("the list that was handed in was changed", "a sort or a pop on the argument itself")
