"""A few lines of hand-made SVG, light enough to redraw on every click. Colours follow the page's theme.

States are told apart by a letter in each cell as well as by colour (Okabe and Ito's palette, safe for colour-blind eyes).
"""

from html import escape

INK = "var(--jp-ui-font-color1, currentColor)"
FAINT = "var(--jp-border-color1, #999)"
BLUE, ORANGE, GREEN = "#56b4e9", "#e69f00", "#009e73"


def tag(name, content="", **attributes):
    """One element; underscores in attribute names become hyphens."""
    words = "".join(f' {key.replace("_", "-")}="{escape(str(value))}"' for key, value in attributes.items())
    return f"<{name}{words}>{content}</{name}>"


def text(x, y, words, size=12, anchor="middle", fill=INK, **more):
    return tag("text", escape(str(words)), x=x, y=y, font_size=size, text_anchor=anchor, fill=fill, **more)


def line(x1, y1, x2, y2, stroke=INK, **more):
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **more)


def cell(x, y, size, letter="", fill="none", stroke=FAINT):
    """A square with a letter in it; on a colour the letter is black, which reads on all three."""
    box = tag("rect", x=x + 1, y=y + 1, width=size - 2, height=size - 2, rx=2, fill=fill, stroke=stroke)
    ink = INK if fill == "none" else "#000"
    return box + (text(x + size / 2, y + size * 0.7, letter, size=round(size * 0.62), fill=ink) if letter else "")


def picture(width, height, shapes, alt):
    """The whole drawing, never wider than its column; `alt` is its text alternative."""
    return tag(
        "svg",
        "".join(shapes),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=alt,
        style=f"width:{width}px;max-width:100%;height:auto;font-family:inherit",
    )


def columns(*parts):
    """Boxes side by side that stack where the page is narrow."""
    boxes = "".join(f'<div style="flex:1 1 280px;min-width:0">{part}</div>' for part in parts)
    return f'<div style="display:flex;flex-wrap:wrap;gap:16px">{boxes}</div>'
