"""A report as a page: whole, valid, alone, and its chart says in figures what it draws."""

import math
import re
from html.parser import HTMLParser

import pytest

from kvaudit import Report, Tolerance
from kvaudit.explain import Suspect
from kvaudit.explain.rows import Forensics, Grid, Wrong
from kvaudit.judge import Result
from kvaudit.report import chart, html
from kvaudit.report.baseline import Compared

PLAIN = Result("plain", "one prompt & <then> tokens", "differs", [1e-15, 0.0, 2.5], (2, 0))
BEAMS = Result("beams", "rows follow", "equal", [3e-15, 1e-15])
CHUNKS = Result("chunks", "a prompt in pieces", "not exercised", problem="the decoder has no extend")
SUSPECT = Suspect("pos_minus1", "position", "positions are <1> too small", "an offset & more", 1e-14, ("plain",))
ROWS = Forensics(
    "plain", 1, 2, 1, "[B, H, S, D]", (1, 1, 1), (Wrong(0, "K", (0,), (0,), (1,), "zeros"),), words="layer 0: zeros",
    grids=[Grid(1, [[0.0, 3.0, None]], [[0.0, 1e-3, 1e-16]], [1e-12])],
)  # fmt: skip


def report(verdict="differs", **more):
    wrong = {"suspects": [SUSPECT], "test": "def test(decoder):\n    assert 1 < 2\n", "forensics": ROWS}
    return Report(
        verdict, "plain: from step 2 on.", "float32", 2.5, Tolerance(1e-14, 1.0, 20, 6), [PLAIN, BEAMS, CHUNKS],
        logic="float64", **((wrong if verdict == "differs" else {}) | more),
    )  # fmt: skip


class Page(HTMLParser):
    """A page as a list of (tag, attributes, text); fails where tags are not closed in their order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert len({name for name, _ in attributes}) == len(attributes)
        self.tags.append([tag, dict(attributes), ""])
        if tag != "meta":
            self.open.append(self.tags[-1])

    def handle_startendtag(self, tag, attributes):
        assert tag in ("rect", "line", "path", "polyline")  # in HTML's own tags the stroke would mean nothing
        self.tags.append([tag, dict(attributes), ""])

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, text):
        for one in self.open:
            one[2] += text

    def all(self, tag, **attributes):
        return [
            t for t in self.tags if t[0] == tag and all(t[1].get(k.rstrip("_")) == v for k, v in attributes.items())
        ]

    def texts(self, tag, **attributes):
        return [text for _, _, text in self.all(tag, **attributes)]


@pytest.fixture(scope="module")
def page():
    return Page(report().to_html("tests/test_x.py::test[a<b]"))


def test_a_page_says_everything_that_the_report_says(page):
    assert page.texts("title")[:1] == page.texts("h1") == ["kvaudit: differs (tests/test_x.py::test[a<b])"]
    assert page.texts("h2") == ["Suspects", "Scripts", "Steps", "Rows", "The shortest case that shows it, as a test"]
    (verdict,) = page.texts("div", class_="verdict")
    assert "differs: the cached decoder does not" in verdict and "(exit code 1)" in verdict
    assert "plain: from step 2 on." in verdict and "Decided by float64; tolerance 1.0e-07" in verdict
    (suspect,) = page.texts("li")
    assert suspect == (
        "pos_minus1: positions are <1> too small. Look at: an offset & more. It gives these logits to 1e-14 in: plain."
    )
    assert page.texts("code")[-1] == "def test(decoder):\n    assert 1 < 2\n"
    assert str(report()) in page.texts("pre")[-1]


def test_scripts_are_a_table_with_headers(page):
    table = next(text for text in page.texts("table") if text.startswith("scriptstatus"))
    assert "plaindiffers2.5e+00step 2, row 0one prompt & <then> tokens" in table
    assert "chunksnot exercised--a prompt in pieces. the decoder has no extend" in table
    assert {a["scope"] for _, a, _ in page.all("th")} == {"row", "col"}


def test_the_page_stands_alone_and_has_both_themes(page):
    assert not [t for t, a, _ in page.tags if t in ("script", "link", "img", "iframe") or "src" in a or "href" in a]
    (style,) = page.texts("style")
    assert "url(" not in style and "@import" not in style
    light, dark = re.findall(r":root \{([^}]*)\}", style)
    assert "prefers-color-scheme: dark" in style and "color-scheme: light dark" in light
    names = [re.findall(r"--(\w+): (#\w{6})", mode) for mode in (light, dark)]
    assert [n for n, _ in names[0]] == [n for n, _ in names[1]]
    used = set(re.findall(r"var\(--(\w+)\)", style + "".join(str(a) for _, a, _ in page.tags)))
    assert used == {n for n, _ in names[0]} - {"v0", "v2"}
    for mode in map(dict, names):
        signs = {n for n in mode if re.fullmatch(r"[sv]\d", n)} | {"line"}
        assert len(signs) == 9 and all(contrast(mode[n], mode["page"]) >= 3 for n in signs)
        assert contrast(mode["ink"], mode["page"]) >= 7 and contrast(mode["ink"], mode["soft"]) >= 7


def contrast(a, b):
    """Of two colours, as WCAG 2 has it."""

    def luminance(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear))

    low, high = sorted(map(luminance, (a, b)))
    return (high + 0.05) / (low + 0.05)


def test_every_drawing_says_in_words_what_it_shows(page):
    told = [a for t, a, _ in page.all("svg") if a.get("aria-hidden") != "true"]
    assert [a["role"] for a in told] == ["img", "img"]
    assert told[0]["aria-label"] == (
        "Largest difference in the logits of each step: plain up to 2.5e+00; beams up to 3.0e-15. Tolerance 1.0e-07."
    )
    assert told[1]["aria-label"] == "plain, after step 1: some rows are wrong"
    assert [text for text in page.texts("title")[1:] if "layer" in text] == [
        "K, layer 0, row 1: 3.0e+00",
        "V, layer 0, row 1: 1.0e-03",
    ]
    assert ["plain, step 0: 1.0e-15", "plain, step 1: 0.0e+00", "plain, step 2: 2.5e+00"] == page.texts("title")[1:4]


def test_the_chart_draws_each_difference_at_its_height():
    scale = chart.Scale.of([PLAIN, BEAMS], 1e-7)
    assert (scale.steps, scale.low, scale.high) == (3, -16, 1)
    foot, top = chart.HIGH - chart.BOTTOM, chart.TOP
    assert scale.y(0) == scale.y(1e-300) == foot and scale.y(10) == scale.y(math.inf) == scale.y(1e9) == top
    assert foot > scale.y(1e-15) > scale.y(1e-7) > scale.y(2.5) > top
    assert scale.y(1e-7) == pytest.approx((scale.y(1e-14) + scale.y(1)) / 2, abs=0.2)
    drawn = Page(chart.chart(report()))
    (plain, beams) = [a["points"].split() for _, a, _ in drawn.all("polyline")]
    assert plain == [f"{scale.x(i)},{scale.y(gap)}" for i, gap in enumerate(PLAIN.diffs)] and len(beams) == 2
    assert drawn.all("line", class_="tolerance")[0][1]["y1"] == str(scale.y(1e-7))
    words = drawn.texts("text")
    assert "0" in words and "1e+1" in words and "tolerance 1.0e-07" in words and words.count("2") == 1


def test_the_chart_has_its_table_and_says_how_many_are_left_out():
    more = [Result(f"script {n}", "", "equal", [10.0**-n]) for n in range(7)]
    drawn = Page(chart.chart(Report("equal", "", "float32", 1.0, Tolerance(1e-9, 1, 1, 1), more)))
    assert (
        len(drawn.all("polyline")) == len(chart.MARKS) == 5 and "2 more are not drawn" in drawn.texts("figcaption")[0]
    )
    (table,) = drawn.texts("table")
    assert all(f"script {n}{10.0**-n:.1e}" in table for n in range(7))
    assert chart.chart(Report("equal", "", "float32", 0.0, Tolerance(1e-9, 1, 1, 1), [CHUNKS])) == ""


@pytest.mark.parametrize("diffs", [[0.0], [0.0, 0.0], [1e-12], [math.inf, 1.0], [1.0] * 60])
def test_any_differences_can_be_drawn(diffs):
    drawn = Page(
        html.html(Report("equal", "", "float32", 0.0, Tolerance(0.0, 0.0, 1, 1), [Result("a", "b", "equal", diffs)]))
    )
    (line,) = drawn.all("polyline")
    places = [tuple(map(float, place.split(","))) for place in line[1]["points"].split()]
    assert len(places) == len(diffs) and all(0 < x < chart.WIDE and 0 < y < chart.HIGH for x, y in places)


def test_a_right_report_and_a_baseline_are_shown():
    right = Page(report("equal").to_html())
    assert right.texts("h2") == ["Scripts", "Steps"] and right.texts("title")[0] == "kvaudit: equal"
    (verdict,) = right.all("div", class_="verdict")
    assert "(exit code 0)" in verdict[2] and verdict[1]["style"] == "border-color: var(--v0)"
    known = Page(report(baseline=Compared("known.json", {})).to_html()).all("div", class_="verdict")[0]
    assert "Baseline: as in the baseline known.json." in known[2] and "(exit code 0)" in known[2]


def test_no_text_of_a_decoder_becomes_markup():
    evil = "<script>alert(1)</script>"
    broken = Result(evil, evil, "error", [1.0], (0, 0), problem=evil)
    made = Report(
        "error in the decoder", evil, "x", 1.0, Tolerance(1, 1, 1, 1), [broken], test=evil, logic=evil, notes=[evil]
    )
    made.suspects, made.forensics = [Suspect(evil, evil, evil, evil, 1.0, (evil,))], None
    assert "<script" not in made.to_html(evil) and made.to_html(evil).count("&lt;script&gt;") > 10
