"""The HTML edition as a reader meets it: on a phone and on a desktop, light and dark, from the disk and without a network."""

import pytest

from helpers.html_edition import build

pytestmark = pytest.mark.filterwarnings("ignore:'(myst_parser|sphinx_book_theme):PendingDeprecationWarning")
SCREENS = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]
OUTSIDE = """() => [...document.querySelectorAll('.bd-article *')].filter(element => {
  const box = element.getBoundingClientRect();
  if (!box.width || box.right <= innerWidth + 1) return false;
  for (let at = element.parentElement; at; at = at.parentElement)
    if (getComputedStyle(at).overflowX != 'visible') return false;
  return true;
}).map(element => element.outerHTML.slice(0, 200))"""
FAINT = """() => {
  const light = colour => { const [r, g, b] = colour.map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const read = text => { const all = text.match(/[\\d.]+/g).map(Number); return all.length < 4 ? [...all, 1] : all; };
  const ground = element => { for (; element; element = element.parentElement) {
    const colour = read(getComputedStyle(element).backgroundColor); if (colour[3] > 0.5) return colour; }
    return [255, 255, 255, 1]; };
  return [...document.querySelectorAll('.bd-article *:not(.headerlink, svg *)')].filter(element =>
    [...element.childNodes].some(node => node.nodeType == 3 && node.textContent.trim())).filter(element => {
      const [a, b] = [read(getComputedStyle(element).color), ground(element)].map(c => light(c.slice(0, 3)));
      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
  }).map(element => element.outerHTML.slice(0, 200)); }"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("sphinx", reason="the extra html is not installed")
    folder = tmp_path_factory.mktemp("html")
    assert build.build(folder) == 0
    return folder


@pytest.fixture(params=SCREENS, ids=lambda screen: f"{screen[0]}px {screen[1]}")
def page(browser, site, request):
    """A page on one screen; what it asks of a network and what its console reports are failures."""
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, wrong = context.new_page(), []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if request.url.startswith("http") else None)
    yield page
    context.close()
    assert wrong == []


def test_every_page_fits_its_screen_and_can_be_read(page, site):
    names = sorted(path.name for path in site.glob("[0-9i]*.html"))
    assert "index.html" in names and len(names) > 4
    for name in names:
        page.goto((site / name).as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(fold => fold.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"], name
        assert page.evaluate(OUTSIDE) == [], name
        assert page.evaluate(FAINT) == [], name


def test_a_solution_opens_a_cell_is_copied_the_theme_turns_and_a_word_is_found(browser, site):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((site / "05_prefill_and_decode.html").as_uri())
    solution = page.locator("details.hide").first
    assert solution.locator("pre").is_hidden() and "Show the solution" in solution.inner_text()
    solution.locator("summary").click()
    assert "torch.cat" in solution.locator("pre").inner_text() and "Hide the solution" in solution.inner_text()
    assert page.locator("div.cell_input:not(:has(button.copybtn))").count() == 0
    solution.locator("pre").hover()
    solution.locator("button.copybtn").click()
    page.locator("button.copybtn.success").wait_for(timeout=5000)
    assert page.locator("html").get_attribute("data-theme") == "light"
    page.locator("button.theme-switch-button:visible").first.click()
    page.locator("button.theme-change-button[data-mode=dark]:visible").first.click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.goto((site / "search.html").as_uri() + "?q=prefill")
    page.locator("#search-results li a").first.wait_for(timeout=10000)
    assert "05_prefill_and_decode.html" in page.locator("#search-results").inner_html()
    page.close()
