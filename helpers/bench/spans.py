"""Who had the clock in a decode step: begin and end of each part, one within the other.

    spans = record(decoder, token)    # [("cache writes", 0.0012, 0.0013), ("attention", …), …, ("step", 0.0, 0.0231)]
    own_seconds(spans)                # {"step": …, "attention": …, "cache writes": …, "products": …}

"attention" is all of `mix`, as one would wrap it: the QKV product and the cache's update happen within it.
"""

import contextlib
import statistics
import time
from collections import defaultdict

STEP, ATTENTION, WRITES, PRODUCTS = "step", "attention", "cache writes", "products"
PARTS = (PRODUCTS, ATTENTION, WRITES, STEP)
OWN_WORDS = {STEP: "the rest"}  # what a part is called where it has its own time only


def places(decoder):
    """`(owner, method, part)` of everything that is watched in a cached decoder over a MiniGPT."""
    model = decoder.model
    found = [(model, "head", PRODUCTS), (decoder.cache, "update", WRITES)]
    for block in model.blocks:
        attention = block.attention
        found.append((attention, "mix", ATTENTION))
        for product in (attention.qkv, attention.project, block.ffn[0], block.ffn[2]):
            found += [(product, method, PRODUCTS) for method in ("forward", "gelu", "add") if hasattr(product, method)]
    return found


@contextlib.contextmanager
def watched(found, spans, clock):
    """While it is active, each call of a watched method appends its `(part, begin, end)`."""
    kept = [(owner, method, vars(owner).get(method)) for owner, method, _ in found]
    for owner, method, part in found:
        vars(owner)[method] = timed(getattr(owner, method), part, spans, clock)
    try:
        yield
    finally:
        for owner, method, before in kept:
            if before is None:
                del vars(owner)[method]
            else:
                vars(owner)[method] = before


def timed(call, part, spans, clock):
    def around(*args, **options):
        begin = clock()
        result = call(*args, **options)
        spans.append((part, begin, clock()))
        return result

    return around


def record(decoder, token, clock=time.perf_counter):
    """Decode `token` `[B]`; the spans `[(part, begin, end), …]` of that step in seconds, in the order in which they ended."""
    spans = []
    with watched(places(decoder), spans, clock):
        timed(decoder.decode, STEP, spans, clock)(token)
    return spans


def own_seconds(spans):
    """`{part: seconds}`: of each span's time what no span within it had. They add up to the outermost spans' time."""
    own, around = defaultdict(float), []  # `around`: (part, end) of the spans that contain this one, innermost last
    for part, begin, end in sorted(spans, key=lambda span: (span[1], -span[2])):
        while around and around[-1][1] <= begin:
            around.pop()
        if around:
            own[around[-1][0]] -= end - begin
        own[part] += end - begin
        around.append((part, end))
    return dict(own)


def whole_seconds(spans):
    """`{part: seconds}` with everything that happens within it: they add up to more than the step."""
    whole = defaultdict(float)
    for part, begin, end in spans:
        whole[part] += end - begin
    return dict(whole)


def median_ms(recorded, split=own_seconds):
    """`{part: ms}`, each the median over the steps in `recorded` (a list of spans)."""
    splits = [split(spans) for spans in recorded]
    return {part: 1e3 * statistics.median(found.get(part, 0.0) for found in splits) for part in PARTS}
