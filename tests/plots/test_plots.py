"""Figures: a picture, a title that says the finding, numbers that are the data's."""

import pytest

from helpers.plots import curves as plots


@pytest.fixture
def trace():
    return plots.trace({"correct": [0.0, 1e-7], "restarts at 0": [1e-7, 3.0]}, 1e-4)


def test_a_plot_is_a_png_and_is_drawn_the_same_twice(trace):
    assert trace.png().startswith(b"\x89PNG") and trace.png() == trace.png()


def test_the_trace_names_the_first_wrong_step(trace):
    assert trace.title.startswith("1 of 2 decoders")
    assert trace.rows == [["correct", "none", "≈ 1.0e-07"], ["restarts at 0", 1, "≈ 3.0"]]
    assert "restarts at 0: beyond it from step 1 on" in trace.alt and "correct: below" in trace.alt


def test_an_exact_zero_is_drawn_on_the_log_axis(trace):
    lines = trace.figure.axes[0].lines
    assert list(lines[0].get_ydata()) == [plots.FLOOR, 1e-7]


def test_a_nan_counts_as_beyond_the_tolerance():
    assert plots.trace({"broken": [0.0, float("nan")]}, 1e-4).rows[0][1] == 1


def test_end_labels_do_not_overlap():
    plot = plots.trace({name: [1e-7, 3.0] for name in "abcd"}, 1e-4)
    heights = [text.xy[1] for text in plot.figure.axes[0].texts if text.get_text() in "abcd"]
    assert len(heights) == 4 and min(b - a for a, b in zip(sorted(heights), sorted(heights)[1:])) > 0.06


def test_an_end_label_stands_at_its_line():
    plot = plots.lines({"low": ([0, 1], [0, 0]), "high": ([0, 1], [0, 10])}, "t", "x", "y", "alt")
    heights = {text.get_text(): text.xy[1] for text in plot.figure.axes[0].texts}
    assert heights["low"] == pytest.approx(0.045, abs=0.01) and heights["high"] == pytest.approx(0.955, abs=0.01)


def test_kv_work_draws_one_square_for_each_computed_row():
    plot = plots.kv_work(prompt_length=3, steps=2)
    assert plot.title == "A cache computes 5 K/V rows where 12 are computed without one"
    uncached, cached = ([len(c.get_offsets()) for c in axis.collections] for axis in plot.figure.axes)
    assert uncached == [3, 0, 4, 0, 5, 0]  # squares, dots, squares, dots, ...
    assert cached == [3, 0, 1, 3, 1, 4]


def test_in_a_notebook_the_picture_comes_with_its_words_and_numbers(trace, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: shown.append(bundle))
    trace._ipython_display_()
    picture, table = shown
    assert picture["text/plain"] == f"{trace.title}. {trace.alt}" and picture["image/png"] == trace.png()
    assert "<td>restarts at 0</td><td>1</td>" in table["text/html"] and trace.alt in table["text/html"]


def test_words_in_a_table_are_escaped():
    plot = plots.lines({"a": ([0], [1])}, "t", "x", "y", "<alt>")
    plot.header, plot.rows = ["<h>"], [["<b>"]]
    assert "<b>" not in plot.table() and "&lt;b&gt;" in plot.table()
