"""The bug lab of lesson 06 as a learner meets it: in JupyterLab, with mouse and keyboard."""

try:
    from playwright.sync_api import expect
except ImportError:  # the fixture `browser` says so
    expect = None

NAME = "06_position_offset_bug.ipynb"
LAB = "lab.bug_lab("


def test_before_anything_is_run_the_stored_picture_is_there(open_lesson):
    lesson = open_lesson(NAME)
    still = lesson.output(LAB).locator("img")
    expect(still).to_have_count(1)
    assert still.evaluate("image => image.naturalWidth") > 600
    assert lesson.errors == []


def test_mouse_and_keyboard_turn_the_lab(open_lesson):
    """One open notebook for all of it: starting a kernel takes longer than the rest."""
    lesson = open_lesson(NAME)
    lesson.run_all()
    output = lesson.output(LAB)
    output.get_by_role("button", name="all off").click(timeout=120_000)  # the lesson's cells above come first
    status, picture = output.locator("p[role=status]"), output.locator("p[role=status] ~ div svg")
    expect(status).to_contain_text("correct: no step differs")
    expect(picture).to_have_count(1)  # one figure, now and after every click
    drawn = picture.inner_html()
    output.get_by_role("button", name="restarts at 0").click()
    expect(status).to_contain_text("restarts at 0: differs first at step 1")
    assert picture.inner_html() != drawn
    expect(output).to_contain_text("the offset passed to the position embedding", timeout=60_000)  # the audit's suspect
    output.get_by_role("button", name="always at 0").focus()
    lesson.page.keyboard.press("Space")
    expect(status).to_contain_text("cannot be combined")
    output.get_by_role("button", name="restarts at 0").focus()
    lesson.page.keyboard.press("Enter")
    expect(status).to_contain_text("always at 0: differs first at step 1")
    lesson.page.keyboard.press("Tab")
    expect(output.locator(":focus")).to_have_text("one too far")
    expect(picture).to_have_count(1)
    assert lesson.errors == []
