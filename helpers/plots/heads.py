"""Heat maps of attention heads. As in `plots`: the title says the finding, a table under it holds the numbers."""

from ..figures import approx
from .curves import BLACK, RED, Plot, canvas

MAP = "Blues"  # one hue, light to dark: reads the same for every kind of colour blindness and in print


def shares(values, what, title, alt):
    """Shares `[L, H]` from 0 to 1, one square a head; those of at least a half are framed. `what` names the share."""
    L, H = values.shape
    figure, [axis] = canvas(0.8 * H + 1.6, 0.55 * L + 1.3)
    picture = axis.imshow(values.tolist(), cmap=MAP, vmin=0, vmax=1)
    for layer in range(L):
        for head in range(H):
            share = float(values[layer, head])
            color = "white" if share > 0.6 else BLACK
            axis.text(head, layer, f"{100 * share:.0f} %", ha="center", va="center", color=color, fontsize=10)
            if share >= 0.5:
                frame(axis, head, layer)
    axis.set(xlabel="head", ylabel="layer", xticks=range(H), yticks=range(L))
    figure.colorbar(picture, ax=axis, label=what, ticks=[0, 0.5, 1])
    figure.suptitle(title, fontsize=12)
    rows = [[layer, *(f"{100 * float(v):.0f} %" for v in values[layer])] for layer in range(L)]
    return Plot(figure, title, alt, ["layer", *(f"head {head}" for head in range(H))], rows)


def frame(axis, x, y):
    from matplotlib.patches import Rectangle

    axis.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, edgecolor=RED, linewidth=1.8))


def looks(maps, labels, parts, sources, title, alt):
    """Weights `{head's name: [n, S]}`, one under the other; a row for each piece in `labels` that is to be written.

    `parts` are `(words, first, past the last)` tokens, divided by lines; in each row the place in `sources` is framed.
    """
    figure, _ = canvas(9.5, 0.17 * len(labels) * len(maps) + 1.5)
    figure.clear()
    axes = figure.subplots(len(maps), 1, squeeze=False, sharex=True)[:, 0]
    for axis, (name, weights) in zip(axes, maps.items()):
        picture = axis.imshow(weights.tolist(), cmap=MAP, vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        for row, source in enumerate(sources):
            frame(axis, int(source), row)
        for _, start, _ in parts[1:]:
            axis.axvline(start - 0.5, color=BLACK, linewidth=0.7)
        axis.set_yticks(range(len(labels)), labels, fontsize=7, family="monospace")
        axis.set_title(name, fontsize=10, loc="left")
        axis.set_ylabel("to be written", fontsize=9)
    axes[-1].set_xticks([(start + end - 1) / 2 for _, start, end in parts], [words for words, *_ in parts])
    axes[-1].set_xlabel("token read")
    figure.colorbar(picture, ax=list(axes), label="attention weight", ticks=[0, 0.5, 1], fraction=0.03)
    figure.suptitle(title, fontsize=12)
    means = [[name, *on_source(weights, sources)] for name, weights in maps.items()]
    return Plot(figure, title, alt, ["head", "pieces read at their source", "mean weight there"], means)


def on_source(weights, sources):
    hits = int((weights.argmax(-1) == sources).sum())
    return f"{hits} of {len(sources)}", approx(weights.gather(-1, sources[:, None]).mean())
