"""The depth panel of lesson 03: how large the loss's gradient is in each block, pre-norm and post-norm."""

from ..figures import approx
from . import svg
from .depth import KINDS, by_block, gradient_norms
from .panel import Panel, Step, View

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 560, 250, 40, 28, 40, 90
COLOURS = dict(zip(KINDS, (svg.BLUE, svg.ORANGE)))


def render_depth(depth):
    """The `View` of stacks of `depth` blocks: a line each, and the numbers of the first, middle and last block."""
    norms = {kind: gradient_norms(kind, depth) for kind in KINDS}
    plot = by_block(depth)
    return View(f"{plot.title}. {plot.alt}", picture(norms, plot.alt) + plot.table())


def picture(norms, alt):
    depth, top = len(norms[KINDS[0]]), 1.1 * max(map(max, norms.values()))

    def x(block):
        return round(LEFT + block * (WIDTH - LEFT - RIGHT) / max(depth - 1, 1), 1)

    def y(norm):
        return round(HEIGHT - BOTTOM - norm / top * (HEIGHT - TOP - BOTTOM), 1)

    shapes = [svg.text(0, 14, "gradient norm of each block's weights", anchor="start")]
    for value in (0, top / 2, top):
        shapes.append(svg.text(LEFT - 6, y(value) + 4, approx(value).removeprefix("≈ "), anchor="end", size=11))
        shapes.append(svg.line(LEFT, y(value), WIDTH - RIGHT, y(value), svg.FAINT, stroke_width=0.5))
    for block in sorted({0, depth // 2, depth - 1}):
        shapes.append(svg.text(x(block), HEIGHT - BOTTOM + 18, block, size=11))
    shapes.append(svg.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, "block"))
    for kind, values in norms.items():
        places = [(x(block), y(norm)) for block, norm in enumerate(values)]
        shapes += line(kind, places)
    return svg.picture(WIDTH, HEIGHT, shapes, f"Gradient norm by block, {depth} blocks. {alt}")


def line(kind, places):
    """A line with its name at its end: rings for pre-norm, squares for post-norm."""
    colour = COLOURS[kind]
    points = " ".join(f"{x},{y}" for x, y in places)
    shapes = [svg.tag("polyline", points=points, fill="none", stroke=colour, stroke_width=2)]
    for x, y in places:
        if kind == KINDS[0]:
            shapes.append(svg.tag("circle", cx=x, cy=y, r=4, fill="none", stroke=colour, stroke_width=2))
        else:
            shapes.append(svg.tag("rect", x=x - 3.5, y=y - 3.5, width=7, height=7, fill=colour))
    return [*shapes, svg.text(places[-1][0] + 10, places[-1][1] + 4, kind, anchor="start")]


def depth_panel(deepest=24):
    """A slider for the number of blocks, 2 to `deepest`; without a kernel, the same lines for the number that is set."""

    def still():
        return by_block(panel.settings()["depth"]).png()

    panel = Panel("Gradients by depth", {"depth": Step("Blocks", 2, deepest)}, render_depth, still)
    return panel
