"""The step slider of lesson 05: what one decoding step computes, with and without a cache."""

from dataclasses import dataclass

from ..plots.curves import kv_work
from . import svg
from .panel import Panel, Step, View

CELL = 20


@dataclass(frozen=True)
class StepCount:
    """K/V rows of one layer and one sequence at one step (0 is the prefill). `rows` = tokens seen so far."""

    step: int
    rows: int
    new: int  # rows of the tokens fed now: the whole prompt at step 0, one afterwards
    total_cached: int  # rows computed in steps 0 to `step`, with a cache
    total_uncached: int  # the same without one

    @property
    def reused(self):
        return self.rows - self.new


def count_step(prompt_length, step):
    """The counts at `step` of decoding after a prompt of `prompt_length` tokens. Raises ValueError where there is none."""
    if prompt_length < 1 or step < 0:
        raise ValueError(f"need a prompt of at least 1 token and a step of at least 0, not {prompt_length} and {step}")
    rows = prompt_length + step
    uncached = sum(range(prompt_length, rows + 1))  # every step computes every row it attends to
    return StepCount(step, rows, prompt_length if step == 0 else 1, rows, uncached)


def render_step(prompt_length, step, last, row_bytes):
    """The `View` of one step; `last` fixes the size of the picture, `row_bytes` is what one token adds in all layers."""
    count = count_step(prompt_length, step)
    side = prompt_length + last
    grids = svg.columns(
        heading("With a cache") + grid(count, side, cached=True),
        heading("Without a cache") + grid(count, side, cached=False),
    )
    return View(sentence(count, row_bytes), grids + LEGEND + bytes_bar(count.rows, side, row_bytes))


def sentence(count, row_bytes):
    name = "Prefill (step 0)" if count.step == 0 else f"Step {count.step}"
    with_cache = f"{name}: with a cache {plural(count.new, 'K/V row')} computed, {count.reused} reused"
    without = f"without, {count.rows} computed ({count.reused} of them again)"
    so_far = f"So far {count.total_cached} against {count.total_uncached} rows per layer"
    return f"{with_cache}; {without}. {so_far}. The cache holds {count.rows * row_bytes:,} bytes."


def plural(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def heading(words):
    return f'<div style="font-weight:600;margin-top:4px">{words}</div>'


def grid(count, side, cached):
    """A strip of K/V rows on top, below it the score of each query (row) with each key (column)."""
    first_query = count.reused if cached else 0  # with a cache only the new tokens ask
    shapes = [svg.text(44, 15, "K/V", anchor="end")]
    for key in range(side):
        shapes.append(svg.cell(50 + key * CELL, 0, CELL, *strip_state(key, count, cached)))
    for query in range(side):
        y = 32 + query * CELL
        shapes.append(svg.text(44, y + 15, query or "query 0", anchor="end", size=11))
        asks = first_query <= query < count.rows
        for key in range(side):
            state = score_state(query, key, count, cached) if asks and key < count.rows else ("", "none")
            shapes.append(svg.cell(50 + key * CELL, y, CELL, *state))
    return svg.picture(52 + side * CELL, 34 + side * CELL, shapes, alt(count, cached))


def bytes_bar(rows, side, row_bytes):
    """How full the cache is, one box a row."""
    boxes = [svg.cell(i * CELL, 0, CELL, "", svg.BLUE if i < rows else "none") for i in range(side)]
    words = svg.text(
        side * CELL + 8, 15, f"{rows} rows x {row_bytes:,} bytes = {rows * row_bytes:,} bytes", anchor="start"
    )
    alt = f"{rows} of {side} boxes are filled"
    return '<div style="margin-top:8px">' + svg.picture(side * CELL + 240, CELL, [*boxes, words], alt) + "</div>"


def strip_state(key, count, cached):
    if key >= count.rows:
        return "", "none"
    if key >= count.reused:
        return "n", svg.ORANGE
    return ("r", svg.BLUE) if cached else ("a", svg.GREEN)


def score_state(query, key, count, cached):
    if key > query:
        return "m", "none"
    return ("n", svg.ORANGE) if query >= count.reused else ("a", svg.GREEN)


def alt(count, cached):
    if cached:
        return f"K/V strip: {count.new} new, {count.reused} reused. Scores: {count.new} new query rows, no old ones."
    return f"K/V strip: {count.new} new, {count.reused} computed again. Scores: all {count.rows} query rows."


def key_to(letter, fill, words):
    sample = svg.picture(CELL, CELL, [svg.cell(0, 0, CELL, letter, fill)], f"mark {letter or 'blank'}")
    return f'<span style="white-space:nowrap;margin-right:16px">{sample} {words}</span>'


MARKS = [
    ("n", svg.ORANGE, "new: computed now"),
    ("r", svg.BLUE, "reused from the cache"),
    ("a", svg.GREEN, "computed again"),
    ("m", "none", "masked: in the query's future"),
    ("", "none", "not touched"),
]
LEGEND = f'<div style="margin-top:8px">{" ".join(key_to(*mark) for mark in MARKS)}</div>'


def step_panel(prompt_length=6, steps=5, row_bytes=1):
    """The slider over steps 0 (prefill) to `steps`."""

    def show(step):
        return render_step(prompt_length, step, steps, row_bytes)

    controls = {"step": Step("Step", 0, steps)}
    return Panel("Step slider", controls, show, still=lambda: kv_work(prompt_length, steps).png())
