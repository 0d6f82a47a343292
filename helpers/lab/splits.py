"""A step's time on toggles: which cache, how long a text, and whether what happens within a part is counted in it."""

from ..bench.spans import ATTENTION, OWN_WORDS, PARTS, PRODUCTS, STEP, WRITES, median_ms, own_seconds, whole_seconds
from ..figures import approx
from . import svg
from .panel import Choice, Panel, View

WIDTH, BAR, LEFT = 560, 26, 150
FILLS = {PRODUCTS: svg.BLUE, ATTENTION: svg.ORANGE, WRITES: "#cc79a7", STEP: svg.GREEN}
OWN = "each part's own time"
COUNTS = {OWN: own_seconds, "with all that happens within it": whole_seconds}


def recorded_splits(recorded):
    """`{(cache, length, count): {part: ms}}` of `{(cache, length): [spans of a step, …]}`, for the panel."""
    return {
        (*key, words): median_ms(steps, split) for key, steps in recorded.items() for words, split in COUNTS.items()
    }


def render_split(splits, cache, length, count):
    """The `View` of one setting: a bar for each part, and what the attention seems to cost."""
    parts = splits[cache, length, count]
    scale = WIDTH / max(ms for split in splits.values() for ms in split.values())
    shapes = []
    for i, part in enumerate(PARTS):
        y, ms = 6 + i * (BAR + 8), parts[part]
        shapes.append(
            svg.text(LEFT - 8, y + BAR * 0.7, OWN_WORDS.get(part, part) if count == OWN else part, anchor="end")
        )
        shapes.append(svg.tag("rect", x=LEFT, y=y, width=max(ms * scale, 1), height=BAR, fill=FILLS[part], rx=2))
        shapes.append(svg.text(LEFT + ms * scale + 6, y + BAR * 0.7, approx(ms, "ms"), anchor="start"))
    sums, step = sum(parts.values()), splits[cache, length, OWN]
    sentence = (
        f"{cache}, {length} tokens, {count}: attention {approx(parts[ATTENTION], 'ms')}, cache writes "
        f"{approx(parts[WRITES], 'ms')}. The parts add up to {approx(sums, 'ms')}, the step took "
        f"{approx(sum(step.values()), 'ms')}."
    )
    return View(sentence, svg.picture(LEFT + WIDTH + 90, 4 * (BAR + 8) + 8, shapes, sentence))


def split_panel(recorded, still=None):
    """Toggles over `{(cache, length): [spans of a step, …]}`."""
    splits = recorded_splits(recorded)
    caches, lengths = ({words: words for words in dict.fromkeys(column)} for column in zip(*recorded))
    controls = {
        "cache": Choice("Cache:", caches),
        "length": Choice("Tokens:", {str(n): n for n in lengths}),
        "count": Choice("Count:", {words: words for words in COUNTS}),
    }
    return Panel("Step", controls, lambda **chosen: render_split(splits, **chosen), still=still)
