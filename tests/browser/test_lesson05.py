"""Lesson 05 as a learner meets it: in JupyterLab, with mouse and keyboard."""

from pathlib import Path

import nbformat
import pytest

try:
    from playwright.sync_api import expect
except ImportError:  # the fixture `browser` says so
    expect = None

SOURCES = Path(__file__).resolve().parents[2] / "notebooks" / "solutions"
NAME = "05_prefill_and_decode.ipynb"


def solution(cell_id):
    """The solved source of a cell, from the lesson's own source."""
    notebook = nbformat.read(SOURCES / NAME, as_version=4)
    return next(cell.source for cell in notebook.cells if cell.id == cell_id)


@pytest.fixture(scope="module")
def lesson(open_lesson):
    """Opened once: that and starting a kernel take longer than all the rest. The tests run in the order of this file."""
    return open_lesson(NAME)


def test_before_anything_is_run_the_stored_results_are_there(lesson):
    for panel in ("lab.step_panel(", "lab.fault_panel("):
        still = lesson.output(panel).locator("img")
        expect(still).to_have_count(1)
        assert still.evaluate("image => image.naturalWidth") > 400
    expect(lesson.output("lab.count_step(")).to_contain_text("11 : 51")
    expect(lesson.output("r = broken.report(")).to_contain_text("restarts at 0")
    expect(lesson.output('check("rows_expected")')).to_contain_text("not attempted")
    assert lesson.errors == []


def test_the_widgets_answer_to_mouse_and_keyboard_and_a_check_passes(lesson):
    lesson.run_all()
    expect(lesson.page.locator("[data-mime-type='application/vnd.jupyter.stderr']")).to_have_count(0)
    expect(lesson.page.locator("[data-mime-type='application/vnd.jupyter.error']")).to_have_count(0)
    step_slider(lesson)
    fault_toggle(lesson)
    self_check(lesson)
    assert lesson.errors == []


def status(output):
    return output.locator("p[role=status]")


def picture(output):
    return output.locator("svg").first.inner_html()


def step_slider(lesson):
    output = lesson.output("lab.step_panel(")
    expect(status(output)).to_contain_text("Prefill (step 0)")
    drawn = picture(output)
    output.get_by_role("button", name="next").click()
    expect(status(output)).to_contain_text("Step 1:")
    assert picture(output) != drawn
    output.get_by_role("button", name="previous").focus()
    lesson.page.keyboard.press("Space")
    expect(status(output)).to_contain_text("Prefill (step 0)")
    assert picture(output) == drawn
    output.get_by_role("button", name="next").focus()
    lesson.page.keyboard.press("Enter")
    expect(status(output)).to_contain_text("Step 1:")


def fault_toggle(lesson):
    output = lesson.output("lab.fault_panel(")
    expect(output.get_by_role("button", name="correct")).to_be_visible()
    output.get_by_role("button", name="correct").click()
    expect(status(output)).to_contain_text("no step differs")
    drawn = picture(output)
    output.get_by_role("button", name="restarts at 0").focus()
    lesson.page.keyboard.press("Space")
    expect(status(output)).to_contain_text("differs first at step 1")
    expect(output.locator("button.mod-active").first).to_have_text("restarts at 0")
    assert picture(output) != drawn
    output.get_by_role("button", name="cache not reset").click()
    expect(status(output)).to_contain_text("differs first at step 0")
    expect(output).to_contain_text("NOT equal")


def self_check(lesson):
    output = lesson.output('check("rows_expected")')
    expect(output).to_contain_text("not attempted")
    lesson.write("def rows_expected(", solution("ex-rows-expected"))
    lesson.run('check("rows_expected")')
    expect(output).to_contain_text("pass")
    expect(output).not_to_contain_text("FAIL")
    expect(output).not_to_contain_text("not attempted")
