import pytest

from helpers.figures import MASK, UNITS, approx


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (9.13e-7, "", "≈ 9.1e-07"),
        (12.4, "ms", "≈ 12 ms"),
        (1294, "MB", "≈ 1,300 MB"),
        (99.6, "", "≈ 100"),
        (9.96, "", "≈ 10"),
        (0.00999, "s", "≈ 0.010 s"),
        (0.0012, "s", "≈ 0.0012 s"),
        (3.14159, "×", "≈ 3.1 ×"),
        (0, "", "≈ 0"),
        (-0.25, "", "≈ -0.25"),
        (2.5e6, "", "≈ 2.5e+06"),
        (float("nan"), "", "≈ nan"),
        (float("inf"), "", "≈ inf"),
    ],
)
def test_two_digits_and_the_mask_takes_all_of_it(value, unit, text):
    assert approx(value, unit) == text
    assert MASK.sub("#", f"took {text}, of 24 steps") == "took #, of 24 steps"


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_is_masked(unit):
    assert MASK.sub("#", approx(3.2, unit) + ".") == "#."


def test_other_numbers_and_words_stay():
    assert MASK.sub("#", "≈ 3 steps, 7 ms, 9.1e-07") == "# steps, 7 ms, 9.1e-07"


def test_a_unit_that_the_mask_does_not_know_is_refused():
    with pytest.raises(ValueError, match="unit 'parsec'"):
        approx(1, "parsec")
