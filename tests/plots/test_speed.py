"""The figures of speed: their titles and numbers."""

from helpers.bench.spans import STEP, WRITES
from helpers.plots import speed as plots_speed


def test_the_blogs_table_is_drawn_with_its_cards_limits():
    plot = plots_speed.blog_against_card()
    assert "47 times" in plot.title and plot.png().startswith(b"\x89PNG")
    assert plot.rows[-1] == [1024, "982", "28.6", "5.43", "0.609"]  # 570 MB / 936 GB/s, 193 GFLOP / 35.6 TFLOP/s


def test_the_curves_the_roof_and_the_parts_have_their_numbers():
    ms = {"without": {64: 20.0, 1024: 300.0}, "with": {64: 6.0, 1024: 8.0}}
    curves = plots_speed.curves(ms, {"here": {64: 3.0, 1024: 36.0}})
    assert "≈ 12 ×, the blog's 20 ×" in curves.title and curves.rows[0] == [64, "≈ 20", "≈ 6.0", "≈ 3.0", "≈ 1.8"]
    roof = plots_speed.roofline({"step": (50e6, 100e6, 0.01)}, 20e9, 200e9)
    assert roof.rows == [["step", "≈ 0.50", "≈ 5.0 GFLOP/s", "≈ 10 GFLOP/s", "≈ 50 %"]]
    bars = plots_speed.parts({"a": {STEP: 1.0, WRITES: 2.0}}, "title")
    assert bars.rows == [["a", "≈ 0", "≈ 0", "≈ 2.0", "≈ 1.0"]]
    assert all(plot.png().startswith(b"\x89PNG") for plot in (curves, roof, bars))


def test_a_table_is_text_and_html():
    table = plots_speed.Table(["tokens", "time"], [[64, "≈ 1.0 ms"]])
    assert repr(table) == "tokens | time\n64 | ≈ 1.0 ms" and "<td>≈ 1.0 ms</td>" in table._repr_html_()
