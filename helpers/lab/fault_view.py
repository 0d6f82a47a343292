"""What a `FaultReport` shows: both notes with their values marked, where the logits leave, the rows of each layer."""

import math
from html import escape

from ..figures import approx
from . import svg
from .panel import View


def render_fault(report):
    """The report as a `View`: both notes with their sensitive values marked, the trace, the rows per layer."""
    notes = svg.columns(
        note_box("Oracle (no cache)", report.oracle_note, report.oracle_fields),
        note_box(f"Cached, {report.title}", report.note, report.fields),
    )
    key = f'<div style="margin:8px 0">{mark("right", True)} a value as in the record {mark("wrong", False)} another one</div>'
    trace = trace_picture(report.table.differences, report.tolerance)
    return View(verdict(report), notes + key + svg.columns(trace, rows_table(report.table)))


def verdict(report):
    return f"{report.title}: {logits_verdict(report)} {text_verdict(report)} {rows_verdict(report.table)}"


def logits_verdict(report):
    """Where the logits leave the oracle's, and how far they come."""
    table, first = report.table, report.first_wrong
    if first is None:
        where = f"no step differs by more than {approx(max(table.differences))}"
    elif first == len(table.differences):
        where = f"it ends at step {first}: {table.error}"
    else:
        where = f"differs first at step {first}, by up to {approx(max(table.differences))}"
    return f"{where} (tolerance {approx(report.tolerance)})."


def text_verdict(report):
    if not report.fields.fits_template:
        return "The note is not a sentence of this task."
    wrong = report.fields.wrong
    if not wrong:
        return f"The note fits, and all {len(report.fields)} sensitive values are right."
    others = sum(value.record_of is not None for value in wrong)
    return f"The note fits, but has {len(wrong)} wrong of {len(report.fields)} sensitive values ({others} from another record)."


def rows_verdict(table):
    if not table.lengths:
        return "Rows per layer: none seen."
    held, fed = table.lengths[-1], table.fed[-1]
    same = all(rows == fed for rows in held)
    return f"Rows per layer: {' '.join(map(str, held))}, {'as' if same else 'not'} the {fed} tokens fed."


def mark(value, right):
    """A sensitive value: thin frame where right; thick dashed frame and a cross where wrong."""
    frame = f"1px solid {svg.FAINT}" if right else "2px dashed #d55e00"
    sign = "" if right else " &#10007;"
    style = f"border:{frame};border-radius:4px;padding:0 3px;white-space:nowrap;font-weight:{400 if right else 700}"
    return f'<span style="{style}">{escape(value)}{sign}</span>'


def note_box(title, note, fields):
    parts, at = [], 0
    for value in fields:
        parts += [escape(note[at : value.start]), mark(value.found, value.right)]
        at = value.end
    body = "".join([*parts, escape(note[at:])]).replace("\n", "<br>")
    return (
        f'<div style="border:1px solid {svg.FAINT};border-radius:4px;padding:8px">'
        f'<div style="font-weight:600">{escape(title)}</div><div style="line-height:2;overflow-wrap:anywhere">{body}</div></div>'
    )


def rows_table(table):
    """Rows per layer at the last step, as a small HTML table with the verdict in words."""
    fed = table.fed[-1] if table.fed else 0
    cells = [
        f"<tr><td>layer {layer}</td><td>{fed}</td><td>{rows}</td><td>{'equal' if rows == fed else 'NOT equal'}</td></tr>"
        for layer, rows in enumerate(table.lengths[-1] if table.lengths else [])
    ]
    head = "<tr><th>K/V rows</th><th>expected</th><th>measured</th><th></th></tr>"
    return f'<table style="border-collapse:separate;border-spacing:12px 2px">{head}{"".join(cells)}</table>'


LOW, HIGH = -7, 2  # decades shown
WIDTH, HEIGHT, LEFT, TOP = 460, 220, 44, 26


def trace_picture(differences, tolerance, floor=None):
    """Largest logits difference per step on a log axis; filled squares lie above the tolerance line, rings below.

    `floor`, if given, is drawn as a second line: what rounding alone does.
    """

    def y(value):
        decade = min(max(math.log10(value), LOW), HIGH) if value > 0 else LOW
        return round(TOP + (HIGH - decade) / (HIGH - LOW) * (HEIGHT - TOP - 30), 1)

    def x(step):
        return round(LEFT + 10 + step * (WIDTH - LEFT - 20) / max(len(differences) - 1, 1), 1)

    shapes = [svg.text(0, 14, "largest logits difference (log axis)", anchor="start")]
    for decade in range(LOW, HIGH + 1, 3):
        shapes.append(svg.text(LEFT - 4, y(10**decade) + 4, f"1e{decade}", anchor="end", size=11))
        shapes.append(svg.line(LEFT, y(10**decade), WIDTH, y(10**decade), svg.FAINT, stroke_width=0.5))
    for words, value, dashes, drop in (("tolerance", tolerance, "6 4", -4), ("floor", floor, "1 3", 12)):
        if value is not None:
            shapes.append(svg.line(LEFT, y(value), WIDTH, y(value), stroke_dasharray=dashes))
            shapes.append(svg.text(WIDTH, y(value) + drop, f"{words} {approx(value)}", anchor="end", size=11))
    shapes += [point(x(step), y(value), value > tolerance) for step, value in enumerate(differences)]
    shapes.append(svg.text(LEFT, HEIGHT - 8, "step 0 (prefill)", anchor="start", size=11))
    shapes.append(svg.text(WIDTH, HEIGHT - 8, f"step {len(differences) - 1}", anchor="end", size=11))
    above = sum(value > tolerance for value in differences)
    return svg.picture(WIDTH, HEIGHT, shapes, f"{above} of {len(differences)} steps lie above the tolerance")


def point(x, y, above):
    if above:
        return svg.tag("rect", x=x - 3.5, y=y - 3.5, width=7, height=7, fill="#d55e00")
    return svg.tag("circle", cx=x, cy=y, r=3, fill="none", stroke=svg.BLUE, stroke_width=2)
