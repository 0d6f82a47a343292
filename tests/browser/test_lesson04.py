"""Lesson 04 as a learner meets it: it runs unsolved, both panels answer, a wrong comparison is told what it looks like."""

import pytest

try:
    from playwright.sync_api import expect
except ImportError:  # the fixture `browser` says so
    expect = None

BY_ARGMAX = """def compare(a, b):
    differ = (a.argmax(-1) != b.argmax(-1)).double()
    return 0, 0, float(differ.max()), not bool(differ.any())"""


@pytest.fixture(scope="module")
def lesson(open_lesson):
    lesson = open_lesson("04_no_cache_oracle.ipynb")
    lesson.run_all()
    return lesson


def status(output):
    return output.locator("p[role=status]")


def test_it_runs_unsolved_without_an_error(lesson):
    for kind in ("stderr", "error"):
        expect(lesson.page.locator(f"[data-mime-type='application/vnd.jupyter.{kind}']")).to_have_count(0)
    expect(lesson.output("tolerance[dtype] = fixed(")).to_contain_text("bfloat16")
    assert lesson.errors == []


def test_the_triangle_grows_with_the_prompt(lesson):
    output = lesson.output("costs.waste_panel(")
    expect(status(output)).to_contain_text("30 of them computed again")
    output.get_by_role("button", name="next").first.click()
    expect(status(output)).to_contain_text("34 of them computed again")


def test_two_runs_are_laid_side_by_side(lesson):
    output = lesson.output("repeats.repeat_panel(")
    expect(status(output)).to_contain_text("the texts part at new token")
    output.get_by_role("button", name="argmax").focus()
    lesson.page.keyboard.press("Space")
    expect(status(output)).to_contain_text("the texts are equal")


def test_a_comparison_of_tokens_is_told_so(lesson):
    lesson.write("def compare(", BY_ARGMAX)
    lesson.run('check("compare")')
    expect(lesson.output('check("compare")')).to_contain_text(
        "It looks like: a sign left in, or a comparison of argmax"
    )
    assert lesson.errors == []
