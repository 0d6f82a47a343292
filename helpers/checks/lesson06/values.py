"""Lesson 06: symptoms foretold, six mysteries named, one boundary. What is right is measured or drawn, not written down."""

from functools import cache

import torch

from ...config import Config
from ...decoding import CachedDecoder, generate
from ...faults import CATALOGUE, faulty
from ...faults.mysteries import CANDIDATES, draw
from ...faults.scenarios import run_scenario
from ...model import MiniGPT
from ..choices import Choices, entry
from ..registry import Exercise, Wrong, kind
from ..small import TOLERANCE, small_model

SYMPTOMS = {
    "a": "a plain run is right at step 0 and wrong from step 1 on; rows as many as tokens fed",
    "b": "a plain run is right at step 0 and wrong from step 1 on; more rows than tokens fed",
    "c": "a plain run is wrong already at step 0, the prefill",
    "d": "a plain run is right throughout; a prompt that is fed in chunks is not",
    "e": "a plain run is right at steps 0 and 1 and wrong from step 2 on; fewer rows than tokens fed",
}
FORETOLD = ("sdpa_top_left", "value_is_key", "chunk_top_left", "frozen_cache", "refeed_last_prompt_token")

symptoms = Choices(
    name="symptoms",
    lesson="06",
    call='{"sdpa_top_left": "a", …}, a letter for each fault',
    minutes=10,
    difficulty="medium",
    keys=FORETOLD,
    hints=(
        "Which call does the fault change: every one, a decode step, or a chunk on a filled cache?",
        "What a step stores is read by the next step; what it attends to is seen in its own logits.",
        "A fault of the prefill, or before the first step, is wrong at step 0. One that forgets the new row is wrong a step late.",
    ),
)


@cache
def measured(id):
    """(letter of the symptom, what was measured in words) of a fault, on a small model in float64."""
    model = small_model()
    plain, chunked = (run_scenario(model, [id], scenario, n=5) for scenario in ("plain", "chunked"))
    first, last = plain.first_wrong(TOLERANCE), plain.steps[-1]
    more = max(last.rows) - last.fed
    words = f"first wrong step {first}, {max(last.rows)} rows for {last.fed} tokens fed; in chunks, {chunked.first_wrong(TOLERANCE)}"
    if first is None:
        return "d" if chunked.first_wrong(TOLERANCE) is not None else None, words
    return {0: "c", 1: "b" if more > 0 else "a", 2: "e"}.get(first), words


def foretell(id):
    @symptoms.check(f"{id} ({CATALOGUE[id].title})")
    def _(answer):
        letter, (right, words) = entry(answer, id), measured(id)
        if letter not in SYMPTOMS:
            raise Wrong(f"{letter!r}; it should be one of {', '.join(map(repr, SYMPTOMS))}")
        if letter != right:
            raise Wrong(f"{letter!r} says: {SYMPTOMS[letter]}. Measured: {words}")
        return words


for id in FORETOLD:
    foretell(id)


class Mysteries(Choices):
    """Needs the seed beside the entries: it says what was drawn."""

    def unfit(self, answer):
        seed = answer.get("seed") if isinstance(answer, dict) else 0
        if isinstance(seed, bool) or not isinstance(seed, int):
            return f'the entry "seed" is {seed!r}; expected the whole number that the mysteries were drawn with'
        return super().unfit(answer)


mystery_names = Mysteries(
    name="mystery_names",
    lesson="06",
    call='{"seed": 12, 1: "a fault id", 2: …, 3: …, 4: a line number, 5: …, 6: …}',
    minutes=25,
    difficulty="hard",
    keys=(1, 2, 3, 4, 5, 6),
    hints=(
        "Row counts and the first wrong step leave one or two families; that much needs no code.",
        "Within a family, replay: interrogate a faulty decoder for each candidate, and let `explain` choose.",
        "In a review, ask of each added line: which step, which layer, which token count does it assume?",
    ),
)


def fault_named(answer, number):
    """(the fault that the answer names, the one that is hidden)."""
    named, hidden = entry(answer, number), draw(answer["seed"]).faults[number]
    if named not in CATALOGUE:
        shown = repr(named) if isinstance(named, (str, int)) else kind(named)
        raise Wrong(f"{shown} is no fault's id; candidates are {', '.join(CANDIDATES)}")
    return CATALOGUE[named], CATALOGUE[hidden]


def decoder_named(number):
    @mystery_names.check(f"mystery {number}: the family")
    def _(answer):
        named, hidden = fault_named(answer, number)
        if named.family != hidden.family:
            raise Wrong(f"{named.id} is of the family {named.family!r}; mystery {number} is of another one")
        return named.family

    @mystery_names.check(f"mystery {number}: the fault")
    def _(answer):
        named, hidden = fault_named(answer, number)
        if named != hidden:
            near = "the family is right; replay each of its faults" if named.family == hidden.family else None
            raise Wrong(f"a decoder with {named.id} gives other logits than mystery {number}", near)
        return named.does


def line_found(number):
    @mystery_names.check(f"review {number}: the wrong line")
    def _(answer):
        line, review = entry(answer, number), draw(answer["seed"]).reviews[number]
        if isinstance(line, bool) or not isinstance(line, int) or not 1 <= line <= len(review.lines):
            raise Wrong(f"{line!r}; expected the number of one of the {len(review.lines)} lines")
        if line != review.wrong:
            added = review.lines[line - 1].startswith("+")
            looks = (
                "a line that could stay if another one were right" if added else "a line that the change does not add"
            )
            raise Wrong(f"line {line} is `{review.lines[line - 1].strip()}`", looks)
        return review.why


for number in (1, 2, 3):
    decoder_named(number)
for number in (4, 5, 6):
    line_found(number)

BLOCK, PROMPT = 512, 500

boundary_06 = Exercise(
    name="boundary_06",
    lesson="06",
    call="boundary_06 = a number of new tokens",
    minutes=5,
    difficulty="medium",
    hints=(
        "At which position does decode step 1 run in the correct decoder, and in this one?",
        "n new tokens need n - 1 decode steps: the last token is chosen and not fed.",
        f"The last step may stand at position {BLOCK - 1}. Step k of this decoder stands at {PROMPT} + k, not at {PROMPT} + k - 1.",
    ),
)
boundary_06.unfit = lambda answer: (
    None
    if isinstance(answer, int) and not isinstance(answer, bool)
    else f"boundary_06 is {answer!r}; it should be a whole number"
)


@cache
def longest(*faults):
    """How many new tokens a decoder writes after a prompt of 500 before it runs out of its 512 positions: measured."""
    torch.manual_seed(0)
    model = MiniGPT(Config(vocab_size=11, block_size=BLOCK, n_layers=1, n_heads=1, d_model=4, d_ff=4)).eval()
    decoder = faulty(model, *faults) if faults else CachedDecoder(model)
    decoder.block_size = None  # let the model itself refuse, not the loop that counts beforehand
    prompt, new = torch.zeros(1, PROMPT, dtype=torch.long), 0
    try:
        while True:
            generate(decoder, prompt, new + 1)
            new += 1
    except ValueError:
        return new


@boundary_06.check("measured: new tokens until the model refuses a position")
def _(answer):
    right, correct = longest("pos_plus1"), longest()
    looks = {
        correct: "the correct decoder's number: this one leaves a position out",
        right - 1: "the last token counted as fed; it is chosen and needs no position",
        right + 1: "the correct decoder's number" if right + 1 == correct else None,
        BLOCK: "the block: it has to hold the prompt as well",
    }
    if answer != right:
        what = "more can be written" if answer < right else f"before that, position {BLOCK} is asked for and refused"
        raise Wrong(f"{answer} new tokens: measured, {what}", looks.get(answer))
    return f"{right} new tokens, then position {BLOCK} is refused; the correct decoder writes {correct}"
