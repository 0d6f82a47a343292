"""What decoding without a cache computes again, and what a step costs: closed forms, counts, the triangle of waste."""

from dataclasses import dataclass

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from ..cache import ConcatCache
from ..plots.curves import BLUE, ORANGE, Plot, canvas
from . import svg
from .panel import Panel, Step, View

CELL = 22


def rows_redone(prompt_length, new_tokens):
    """K/V rows of one layer that `new_tokens` passes without a cache compute although an earlier pass had them."""
    return (new_tokens - 1) * (2 * prompt_length + new_tokens - 2) // 2 if new_tokens else 0


def layer_macs(t, d, cached):
    """(linear, attention) multiply-adds of one layer in the step that sees t tokens: 12 T d², and 2 T t d for T queries.

    The linear layers are four projections and an FFN of 4d; the attention is the scores and the mixture of the values.
    """
    T = 1 if cached else t
    return 12 * T * d**2, 2 * T * t * d


def counted_macs(block, t, cached):
    """The same, counted by torch while `block` runs on t tokens, or on the last of them with the others cached."""
    x, cache, positions = torch.randn(1, t, block.attention.config.d_model), ConcatCache(1), torch.arange(t)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        if cached and t > 1:
            block(x[:, :-1], cache, positions[:-1])
        with FlopCounterMode(display=False) as counter:
            block(x[:, -1:] if cached else x, cache, positions[-1:] if cached else positions)
    flops = {str(operation): count for operation, count in counter.get_flop_counts()["Global"].items()}
    attention = sum(count for operation, count in flops.items() if "bmm" in operation)
    return (sum(flops.values()) - attention) // 2, attention // 2


@dataclass(frozen=True)
class Pass:
    """One pass of the oracle: `rows` K/V rows in each layer, of which `again` had been computed before."""

    number: int
    rows: int
    again: int

    @property
    def new(self):
        return self.rows - self.again


def passes(prompt_length, new_tokens):
    """The passes that write `new_tokens` tokens: the last token is chosen, never fed. ValueError for less than 1 each."""
    if prompt_length < 1 or new_tokens < 1:
        raise ValueError(f"need a prompt and new tokens of at least 1, not {prompt_length} and {new_tokens}")
    return [Pass(i, prompt_length + i, prompt_length + i - 1 if i else 0) for i in range(new_tokens)]


def triangle(prompt_length, new_tokens):
    """The triangle of waste as a `Plot`: squares are computed for the first time, crosses are computed again."""
    every = passes(prompt_length, new_tokens)
    figure, [axis] = canvas(6.4, 0.3 * new_tokens + 1.6)
    for p in every:
        axis.scatter(range(p.again), [p.number] * p.again, marker="x", s=50, color=BLUE)
        axis.scatter(range(p.again, p.rows), [p.number] * p.new, marker="s", s=75, color=ORANGE)
        axis.annotate(f"{p.again} again", (every[-1].rows - 0.2, p.number), va="center", fontsize=9)
    axis.set(
        xlabel="position of the K/V row",
        ylabel="pass",
        xlim=(-0.7, every[-1].rows + 1.4),
        ylim=(new_tokens - 0.4, -0.6),
    )
    axis.set_xticks(range(every[-1].rows))
    axis.set_yticks(range(new_tokens))
    axis.spines[["top", "right"]].set_visible(False)
    total, again = sum(p.rows for p in every), sum(p.again for p in every)
    title = f"{again} of {total} K/V rows are computed again"
    axis.set_title(title, fontsize=12, loc="left")
    alt = "Squares are computed for the first time, crosses again: a triangle of crosses with one square at the end of each row."
    header = ["pass", "rows computed", "for the first time", "again"]
    return Plot(figure, title, alt, header, [[p.number, p.rows, p.new, p.again] for p in every])


def render_waste(prompt, new):
    """The `View` of one triangle, with the counts in its sentence."""
    every, shapes = passes(prompt, new), []
    total, again = sum(p.rows for p in every), sum(p.again for p in every)
    for p in every:
        y = 20 + p.number * CELL
        shapes.append(svg.text(50, y + CELL * 0.7, f"pass {p.number}", anchor="end", size=11))
        states = [("a", svg.BLUE)] * p.again + [("n", svg.ORANGE)] * p.new
        shapes += [svg.cell(56 + i * CELL, y, CELL, *state) for i, state in enumerate(states)]
    shapes += [svg.text(56 + (i + 0.5) * CELL, 14, i, size=11) for i in range(every[-1].rows)]
    sentence = (
        f"A prompt of {prompt}, {new} new: {total} K/V rows a layer in {new} {'pass' if new == 1 else 'passes'}, "
        f"{again} of them computed again ({again / total:.0%})."
    )
    width = 60 + every[-1].rows * CELL
    return View(sentence, svg.picture(width, 24 + new * CELL, shapes, sentence) + LEGEND)


def key_to(letter, fill, words):
    sample = svg.picture(CELL, CELL, [svg.cell(0, 0, CELL, letter, fill)], f"mark {letter}")
    return f'<span style="white-space:nowrap;margin-right:16px">{sample} {words}</span>'


LEGEND = (
    '<div style="margin-top:8px">'
    + key_to("n", svg.ORANGE, "computed for the first time")
    + key_to("a", svg.BLUE, "computed again, to the same numbers")
    + "</div>"
)


def waste_panel(prompt=8, new=12):
    """Controls for a prompt of 1 to `prompt` tokens and 1 to `new` new ones."""
    controls = {"prompt": Step("Prompt", 1, prompt), "new": Step("New tokens", 1, new)}
    return Panel("Waste", controls, render_waste, still=lambda: triangle(6, 5).png())
