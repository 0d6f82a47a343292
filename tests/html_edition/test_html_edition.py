"""The HTML edition: what stands on a page, which links are called broken, and what does not build."""

from pathlib import Path

import nbformat
import pytest

from helpers.checks.stubs import SOLUTION
from helpers.html_edition import build, links, pages

pytestmark = pytest.mark.filterwarnings("ignore:'(myst_parser|sphinx_book_theme):PendingDeprecationWarning")
SOURCES = Path(__file__).parents[2] / "notebooks" / "solutions"
LESSONS = sorted(SOURCES.glob("*.ipynb"))
WHOLE = "<h1 id=top>A</h1><a href='#top'>up</a><a href='b%20c.html#d'>b</a><img src=p.png><a href='https://x.org'>x</a>"


def code(source, **data):
    outputs = [nbformat.v4.new_output("execute_result", {key.replace("_", "/"): text for key, text in data.items()})]
    return nbformat.v4.new_code_cell(source, id="c", outputs=outputs if data else [])


def test_an_exercise_is_shown_as_given_and_its_solution_folded():
    cell = code("def f(x):\n    ### BEGIN SOLUTION\n    return x + 1\n    ### END SOLUTION")
    given, solved = pages.printed(cell)
    assert given.source == 'def f(x):\n    raise NotImplementedError("your code here")' and given.id != solved.id
    assert solved.source == "def f(x):\n    return x + 1"
    assert "hide-input" in solved.metadata.tags and "hide-input" not in given.metadata.get("tags", [])
    assert solved.metadata["mystnb"]["code_prompt_show"] == "Show the solution"


def test_a_widget_becomes_its_picture_and_its_words():
    cell = code("panel", text_plain="Mask: 3 < 4", image_png="cG5n")
    cell.outputs[0].data[pages.WIDGET] = {"model_id": "w"}
    (shown,) = pages.printed(cell)
    picture, words = shown.outputs
    assert set(picture.data) == {"text/plain", "image/png"}
    assert "Mask: 3 &lt; 4" in words.data["text/html"] and "still picture" in words.data["text/html"]
    assert shown.metadata["mystnb"] == {"image": {"alt": "Mask: 3 < 4"}}


def test_a_widget_without_a_picture_leaves_its_words():
    cell = code("panel", text_plain="Mask: none")
    cell.outputs[0].data[pages.WIDGET] = {"model_id": "w"}
    (shown,) = pages.printed(cell)
    assert ["Mask: none" in output.data["text/html"] for output in shown.outputs] == [True]


def test_links_of_results_lead_to_pages():
    html = '<a href="05_prefill_and_decode.ipynb">05</a><a href="data.ipynb">other</a>'
    (shown,) = pages.printed(code("board", text_html=html))
    assert shown.outputs[0].data["text/html"] == html.replace("decode.ipynb", "decode.html")


def test_the_index_names_every_lesson_with_its_effort(tmp_path):
    before = [path.read_bytes() for path in LESSONS]
    pages.write_pages(LESSONS, tmp_path / "pages")
    index = (tmp_path / "pages" / "index.md").read_text(encoding="utf-8")
    assert "- [01 · The causal mask](01_causal_mask.ipynb): about 75 minutes · medium" in index
    assert index.split("{toctree}")[1].split()[1:-1] == [path.stem for path in LESSONS]
    assert before == [path.read_bytes() for path in LESSONS]


@pytest.mark.parametrize("source", LESSONS, ids=lambda path: path.stem)
def test_every_solution_of_a_lesson_is_folded_and_no_widget_is_left(source):
    notebook = nbformat.read(source, as_version=4)
    solutions = [cell.id for cell in notebook.cells if SOLUTION.search(cell.source)]
    shown = pages.page(notebook)
    nbformat.validate(shown)
    assert [cell.id for cell in shown.cells if "hide-input" in cell.metadata.get("tags", [])] == solutions != []
    text = nbformat.writes(shown)
    assert "BEGIN SOLUTION" not in text and pages.WIDGET not in text


@pytest.fixture
def site(tmp_path):
    """Two pages and a picture whose links all hold."""
    (tmp_path / "a.html").write_text(WHOLE)
    (tmp_path / "b c.html").write_text("<a name=d></a><img src='data:image/png;base64,AA'><a href='a.html'>a</a>")
    (tmp_path / "p.png").write_bytes(b"png")
    return tmp_path


def test_links_that_hold_pass(site, capsys):
    assert links.problems(site) == [] and links.report(site) == 0
    assert "every link holds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ("<a href='gone.html'>", "a.html:2: <a> gone.html: there is no such file, or it is empty"),
        ("<a href='b%20c.html#e'>", "a.html:2: <a> b%20c.html#e: b c.html has no anchor 'e'"),
        ("<a href='#bottom'>", "a.html:2: <a> #bottom: a.html has no anchor 'bottom'"),
        ("<img src='q.png'>", "a.html:2: <img> q.png: there is no such file, or it is empty"),
        ("<img src=''>", "a.html:2: <img> (empty): names nothing"),
        ("<script src='https://x.org/m.js'></script>", "is loaded from another host"),
        ("<link rel=stylesheet href='//x.org/m.css'>", "is loaded from another host"),
    ],
)
def test_each_kind_of_broken_link_is_named(site, broken, words, capsys):
    (site / "a.html").write_text(WHOLE + "\n" + broken)
    (found,) = links.problems(site)
    assert words in found
    assert links.report(site) == 1 and words in capsys.readouterr().err


def test_an_empty_picture_is_dead_and_an_empty_folder_is_no_edition(site, tmp_path_factory):
    (site / "p.png").write_bytes(b"")
    assert "p.png" in links.problems(site)[0]
    assert "holds no pages" in links.problems(tmp_path_factory.mktemp("empty"))[0]


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path, capsys):
    pytest.importorskip("sphinx", reason="the extra html is not installed")
    (tmp_path / "thesis.md").write_text("x")
    assert build.build(tmp_path) == 2 and "something else" in capsys.readouterr().err
    assert (tmp_path / "thesis.md").exists()
    (tmp_path / ".buildinfo").touch()
    assert build.cleared(tmp_path) and not tmp_path.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [("[there](02_gone.ipynb)", "02_gone.ipynb"), ("[here](#nowhere)", "nowhere"), (r"$\frac{1$", "formula")],
)
def test_a_lesson_with_a_dead_link_or_a_broken_formula_does_not_build(text, words, tmp_path, capfd):
    pytest.importorskip("sphinx", reason="the extra html is not installed")
    (tmp_path / "in").mkdir()
    cells = [nbformat.v4.new_markdown_cell("# 01 · One\n\n*Short.* x\n\n## Part\n\n" + text)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "in" / "01_one.ipynb")
    assert build.build(tmp_path / "out", tmp_path / "in") == 1
    assert words in capfd.readouterr().err


def test_a_lesson_builds_without_a_network(tmp_path):
    pytest.importorskip("sphinx", reason="the extra html is not installed")
    (tmp_path / "in").mkdir()
    cells = [nbformat.v4.new_markdown_cell("# 01 · One\n\n*Short.* $\\sqrt{d}$ and\n\n$$x_0$$\n\n## Up\n\n[up](#up)")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "in" / "01_one.ipynb")
    assert build.build(tmp_path / "out", tmp_path / "in") == 0
    page = (tmp_path / "out" / "01_one.html").read_text(encoding="utf-8")
    assert "<msqrt><mi>d</mi></msqrt>" in page and '<div class="formula' in page
