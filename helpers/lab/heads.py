"""The head panel of lesson 02: what any head of the trained model reads while the note is written."""

from ..figures import approx
from ..plots.heads import looks
from . import svg
from .head_roles import attention_weights, note_places, read_by, segments
from .panel import Choice, Panel, View

WIDE, HIGH, LEFT, TOP = 10, 20, 66, 24  # of a cell, and where the first one stands
FAINTEST = 0.02  # weights below are not drawn


class HeadView:
    """One example, its tokens and the weights of all heads, computed once; `render(layer, head)` draws one of them."""

    def __init__(self, model, example):
        self.tokens, self.queries, self.sources = note_places(example)
        self.weights = attention_weights(model, self.tokens)[:, 0]  # [L, H, T, S]
        self.parts = segments(example)

    def rows(self, layer, head):
        return read_by(self.weights[layer, head], self.tokens, self.queries, self.sources)

    def render(self, layer, head):
        rows = self.rows(layer, head)
        table = "".join(
            f"<tr><td><code>{write}</code></td><td><code>{read}</code></td><td>{approx(weight)}</td><td>{approx(on)}</td></tr>"
            for write, read, weight, on in rows
        )
        names = "".join(
            f"<th>{words}</th>" for words in ("to be written", "read most", "weight", "weight on the source")
        )
        table = f'<table style="border-collapse:separate;border-spacing:12px 2px"><tr>{names}</tr>{table}</table>'
        return View(self.sentence(layer, head), self.picture(layer, head) + KEY + table)

    def sentence(self, layer, head):
        rows = self.weights[layer, head][self.queries]  # [n, S]
        hits = int((rows.argmax(-1) == self.sources).sum())
        on = rows.gather(-1, self.sources[:, None]).mean()
        n = len(rows)
        return f"Layer {layer}, head {head}: reads {hits} of {n} pieces at their source, with a mean weight there of {approx(on)}."

    def picture(self, layer, head):
        width, height = LEFT + self.tokens.shape[1] * WIDE, TOP + len(self.queries) * HIGH
        shapes = []
        for words, start, end in self.parts:
            shapes.append(svg.text(LEFT + (start + end) / 2 * WIDE, 14, words, size=11))
            shapes.append(svg.line(LEFT + start * WIDE, TOP, LEFT + start * WIDE, height, svg.FAINT))
        rows = zip(self.rows(layer, head), self.queries.tolist(), self.sources.tolist())
        for row, ((write, *_), query, source) in enumerate(rows):
            y = TOP + row * HIGH
            shapes.append(svg.text(LEFT - 6, y + HIGH * 0.7, write.strip(), anchor="end", size=11))
            shapes += self.cells(self.weights[layer, head, query].tolist(), y)
            shapes.append(box(source, y, fill="none", stroke="#d55e00", stroke_width=2))
        return svg.picture(width + 2, height + 4, shapes, self.sentence(layer, head))

    @staticmethod
    def cells(weights, y):
        drawn = [(at, weight) for at, weight in enumerate(weights) if weight >= FAINTEST]
        return [box(at, y, fill=svg.BLUE, fill_opacity=round(weight, 2)) for at, weight in drawn]


def box(at, y, **style):
    return svg.tag("rect", x=LEFT + at * WIDE, y=y + 1, width=WIDE, height=HIGH - 2, **style)


KEY = (
    '<div style="margin:6px 0">Each line: the piece that is written next. Filled: the tokens read for it, the fuller the '
    "more weight. Framed: where the piece stands in the record.</div>"
)


def head_panel(model, example):
    """Toggles for layer and head over one example; `still` shows one head a layer."""
    view, L, H = HeadView(model, example), model.config.n_layers, model.config.n_heads

    def still():
        maps = {f"layer {layer}, head 0": view.weights[layer, 0][view.queries] for layer in range(L)}
        labels = [write for write, *_ in view.rows(0, 0)]
        return looks(maps, labels, view.parts, view.sources, "Head 0 of each layer", "").png()

    numbers = lambda n: {str(i): i for i in range(n)}
    controls = {"layer": Choice("Layer:", numbers(L)), "head": Choice("Head:", numbers(H))}
    return Panel("Heads", controls, view.render, still)
