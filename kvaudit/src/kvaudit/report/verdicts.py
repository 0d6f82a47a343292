"""The verdicts, with the exit code of each."""

VERDICTS: dict[str, tuple[int, str]] = {  # verdict -> (exit code, what it means)
    "equal": (0, "the cached decoder computes what the uncached model computes"),
    "rounding": (0, "the logic is right; the numbers differ by rounding"),
    "different by specification": (0, "cached and uncached are meant to differ"),
    "differs": (1, "the cached decoder does not compute what the uncached model computes"),
    "unknown pattern": (1, "the logits differ, and no known bug reproduces them"),
    "not deterministic": (1, "the same call on the same tokens gives different logits"),
    "error in the decoder": (1, "the decoder broke off or broke the rules of the call"),
    "no answer in time": (2, "a call took longer than it may; nothing after it was run"),
    "inconclusive": (2, "the difference lies where neither a bug nor rounding can be excluded"),
    "the oracles disagree": (2, "the reference itself cannot be trusted: two uncached computations differ"),
}
WRONG, UNJUDGED = 1, 2  # exit codes that are not 0
