"""Lesson 04: how much of a decoding's work is done again, and what a step costs: derived, and counted while it runs."""

from ...config import Config
from ...decoding import Oracle, generate
from ...lab.costs import counted_macs, layer_macs
from ...lab.costs import rows_redone as redone
from ...model import Block
from ..registry import Exercise, Wrong, kind
from ..small import fed_in

rows_redone = Exercise(
    name="rows_redone",
    lesson="04",
    call="rows_redone(prompt_length, new_tokens) -> int",
    minutes=10,
    difficulty="medium",
    seconds=2.0,
    slow="a loop over the tokens; a closed form takes as long for a billion as for two",
    hints=(
        "How many rows does each pass compute? How many different rows are there at the end?",
        "n passes compute T0, T0 + 1, …, T0 + n - 1 rows: an arithmetic series. Which of the n tokens is never fed?",
        "All rows computed, less the T0 + n - 1 that had to be computed once. For n = 0 nothing is computed at all.",
    ),
)


def rows_counted(T0, n):
    """Rows of one layer computed more than once by the oracle's passes, counted in a model while it runs."""
    fed = fed_in(lambda model, prompt, n: generate(Oracle(model), prompt, n), T0, n)
    fed = fed if n else []  # the loop looks at the prompt's logits even where none is asked for
    return sum(fed) - max(fed, default=0)


def row_mistakes(T0, n):
    """Known mistakes -> the number that each of them gives."""
    total = n * T0 + n * (n - 1) // 2
    if n == 0:
        return {"the formula for one token and more; without any there is no pass": total - (T0 + n - 1)}
    return {
        "all rows that are computed (asked are those computed *again*), or a pass for the last token too": total,
        "the prompt's rows only; the rows of new tokens are computed again too": (n - 1) * T0,
        "the new tokens' rows only; the prompt is computed again in every pass": (n - 1) * (n - 2) // 2,
        "of the rows computed, only the prompt's taken off; each new token's row is new once too": total - T0,
        "the last token's row taken off as well; it is chosen and never fed": total - (T0 + n),
        "rows times passes, as if every pass were as long as the last": (n - 1) * (T0 + n - 1),
    }


def rows_are(answer, cases, right):
    for T0, n in cases:
        got, expected = answer(T0, n), right(T0, n)
        if isinstance(got, bool) or not isinstance(got, (int, float)) or got != expected:
            looks = next((words for words, rows in row_mistakes(T0, n).items() if rows == got), None)
            if isinstance(got, float) and int(got) != expected and abs(got - expected) < 1e-9 * expected:
                looks = "a division with `/`: its float has 16 digits; `//` keeps whole numbers whole"
            shown = f"{got:,}" if isinstance(got, (int, float)) else kind(got)
            raise Wrong(f"a prompt of {T0:,} and {n:,} new tokens: got {shown}, expected {expected:,}", looks)


@rows_redone.check("as counted in a model: prompts of 6 and 1")
def _(answer):
    rows_are(answer, [(6, 4), (6, 2), (1, 7)], rows_counted)


@rows_redone.check("one new token, or none: nothing is computed twice")
def _(answer):
    rows_are(answer, [(6, 1), (1, 1), (6, 0)], rows_counted)


@rows_redone.check("a closed form: a billion tokens, exactly and at once")
def _(answer):
    rows_are(answer, [(1001, 10**9)], redone)


layer_cost = Exercise(
    name="layer_cost",
    lesson="04",
    call="layer_cost(t, d, cached) -> int, multiply-adds of one layer",
    minutes=15,
    difficulty="medium",
    seconds=2.0,
    hints=(
        "Go through the table of matrix products and put in T and S. What are they without a cache, what with one?",
        "[a, b] @ [b, c] takes a·b·c multiply-adds. Every one of the six products has a factor T; two have a factor S.",
        "Without: T = S = t. With: T = 1, S = t. Linear layers: 3 + 1 + 4 + 4 times T·d². Scores and mixture: 2·T·S·d.",
    ),
)


def right_cost(t, d, cached):
    return sum(layer_macs(t, d, cached))


def counted(t, d, cached):
    """The same, counted by torch while a layer runs."""
    block = Block(Config(7, t, n_layers=1, n_heads=2, d_model=d, d_ff=4 * d), 0)
    return sum(counted_macs(block, t, cached))


def cost_mistakes(t, d, cached):
    """Known mistakes -> the number that each of them gives."""
    T = 1 if cached else t
    right = right_cost(t, d, cached)
    return {
        "the other case: cached and not cached exchanged": right_cost(t, d, not cached),
        "the Drill's entry: one query against t keys without a cache, one against one with it": T * d,
        "the scores only, as in the blog's table": t * t,
        "the attention only: the linear layers are missing": 2 * T * t * d,
        "the linear layers only: scores and mixture are missing": 12 * T * d**2,
        "one of the two products with S missing: scores, then weights times values": 12 * T * d**2 + T * t * d,
        "operations, with the addition counted by itself; asked are multiply-adds": 2 * right,
        "the FFN missing": 4 * T * d**2 + 2 * T * t * d,
        "an FFN with one of its two layers": 8 * T * d**2 + 2 * T * t * d,
        "an FFN as wide as the model; it has 4d": 6 * T * d**2 + 2 * T * t * d,
        "one of the four projections of the attention missing": 11 * T * d**2 + 2 * T * t * d,
        "half of the square, the visible one; the product is computed whole and masked afterwards": 12 * T * d**2 + T * (t + 1) * d,
        (
            "t queries with a cache: only the new token asks"
            if cached
            else "the linear layers for one token; without a cache all t pass through them"
        ): 12 * d**2 + 2 * t * t * d,
        "the t - 1 cached rows only: the new token sees itself, too": 12 * T * d**2 + 2 * T * (t - 1) * d,
        "one query without a cache: all t positions ask again": 12 * t * d**2 + 2 * t * d,
        "one key with a cache: the new query meets all t": 12 * d**2 + 2 * d,
    }  # fmt: skip


def costs_are(answer, cases, right):
    for t, d, cached in cases:
        got, expected = answer(t, d, cached), right(t, d, cached)
        if isinstance(got, bool) or not isinstance(got, (int, float)) or got != expected:
            known = cost_mistakes(t, d, cached).items()
            looks = next((words for words, cost in known if cost == got), None)
            shown = f"{got:,}" if isinstance(got, (int, float)) else kind(got)
            which = "with a cache" if cached else "without a cache"
            raise Wrong(f"t = {t:,}, d = {d:,}, {which}: got {shown}, expected {expected:,}", looks)


@layer_cost.check("without a cache, as counted in a layer")
def _(answer):
    costs_are(answer, [(5, 12, False), (7, 8, False)], counted)


@layer_cost.check("with a cache, as counted in a layer")
def _(answer):
    costs_are(answer, [(5, 12, True), (7, 8, True)], counted)


@layer_cost.check("the first token of a text: both cost the same")
def _(answer):
    costs_are(answer, [(1, 8, False), (1, 8, True)], counted)


@layer_cost.check("a long text in a large model, exactly and at once")
def _(answer):
    costs_are(answer, [(1_000_001, 12_289, False), (1_000_001, 12_289, True)], right_cost)
