"""The benchmark's picture, of fabricated timings."""

import pytest

from helpers.bench.shapes import SHAPES
from helpers.plots import bench as figures
from tests.bench.fabricated import CONFIG, made_up


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.setitem(SHAPES, "test", CONFIG)
    return made_up()


def test_the_picture_has_the_blog_s_points_beside_ours(bench):
    plot = figures.curves(bench)
    assert plot.png().startswith(b"\x89PNG")
    left, right = plot.figure.axes
    ours, limit, blog = ([tuple(p) for p in line.get_xydata()] for line in right.lines)
    assert blog == [(64, 1.75), (256, 5.16), (1024, 34.3)] and len(ours) == len(limit) == 3
    assert left.get_ylabel() == "ms per token" and left.get_xlabel() == "length (tokens)"
    assert plot.title == "A token at 64 costs ≈ 1.5 times one at 16 with a cache, ≈ 3.3 times without one"
    bench.loops = None
    assert [line[0] for line in figures.speedups(bench).items()] == ["the blog's"]
    bench.steps = None
    with pytest.raises(ValueError, match="nothing to draw"):
        figures.curves(bench)
