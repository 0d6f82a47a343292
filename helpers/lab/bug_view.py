"""What the bug lab shows of a report: one sentence that says all that matters, and the picture, as HTML."""

from html import escape

from . import svg
from .fault_view import logits_verdict, mark, note_box, rows_table, trace_picture
from .panel import View

PLAIN = "one prompt, then one token at a time"


def render(report):
    """Sentence and picture of a `LabReport` as one piece of HTML."""
    return view(report).page()


def view(report):
    """The report as a `View`: prompt, both notes with their values marked, the trace, the rows per layer."""
    cut = "" if report.oracle_fields.fits_template else " …"  # the number of new tokens ended it
    notes = svg.columns(
        note_box("Oracle (no cache)", report.oracle_note + cut, report.oracle_fields),
        note_box(f"Cached, {report.title}", report.note + cut, report.fields),
    )
    trace = trace_picture(report.table.differences, report.tolerance, report.floor)
    below = svg.columns(trace, rows_table(report.table) + wrong_values(report.fields))
    return View(sentence(report), prompt_box(report) + notes + KEY + below)


KEY = (
    f'<div style="margin:8px 0">{mark("right", True)} a value as in the record {mark("wrong", False)} another one</div>'
)


def sentence(report):
    return f"{report.title}: {logits_verdict(report)} {text_verdict(report)} {rows_verdict(report.table)}"


def text_verdict(report):
    wrong, total = report.fields.wrong, len(report.fields)
    if not fluent(report):
        return f"The note loses its form; {total - len(wrong)} of the {total} values in it are right."
    if not wrong:
        hides = "" if report.first_wrong is None else ": the text hides the bug"
        return f"All {total} values of the note are right{hides}."
    others = sum(value.record_of is not None for value in wrong)
    return f"The note reads well, but {len(wrong)} of its {total} values are wrong, {others} of them another record's."


def fluent(report):
    """Whether the note has the oracle's words, whatever its values; of a note that was cut, up to its last value."""
    if report.oracle_fields.fits_template:
        return report.fields.fits_template
    return between(report.note, report.fields) == between(report.oracle_note, report.oracle_fields)


def between(note, fields):
    """The words before each value, and its kind."""
    starts = [0, *(field.end for field in fields)]
    return [(note[start : field.start], field.name) for start, field in zip(starts, fields)]


def rows_verdict(table):
    if not table.lengths:
        return "No rows were seen."
    held, expected = table.lengths[-1], table.fed[-1]
    if all(rows == expected for rows in held):
        return f"Each layer holds {expected} rows, as it should."
    return f"The layers hold {' '.join(map(str, held))} rows where {expected} are expected."


def prompt_box(report):
    calls = f"Calls: {report.setting.about or PLAIN}."
    text = (
        f'<pre style="margin:4px 0;white-space:pre-wrap;font-size:12px;line-height:1.4">{escape(report.prompt)}</pre>'
    )
    return f'<div style="margin:8px 0">{text}<div>{escape(calls)}</div></div>'


def wrong_values(fields):
    """What each wrong value should be and whose it is, where a record was asked for."""
    items = "".join(f"<li>{escape(wrong_value(value))}</li>" for value in fields.wrong if value.expected)
    return f'<ul style="margin:8px 0;padding-left:20px">{items}</ul>' if items else ""


def wrong_value(value):
    whose = "nobody's" if value.record_of is None else f"record {value.record_of + 1}'s"
    return f"{value.name}: {value.found} is {whose}, the record asked for has {value.expected}"
