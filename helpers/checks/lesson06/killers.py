"""Lesson 06: test prompts that expose bugs. Graded by the share of mutants that they expose and by no false alarm."""

from functools import lru_cache

import torch

from ...caches import BufferCache
from ...decoding import CachedDecoder, Oracle
from ...faults import CATALOGUE, faulty
from ...faults.controls import ChunkedDecoder, ExplicitAttention
from ...modules import with_modules
from ..registry import Exercise, Wrong, kind
from ..small import BLOCK, TOLERANCE, L, V, small_model
from .mutants import MUTANTS

STEPS, CASES, ROWS = 3, 4, 4  # decode steps after each prompt; at most so many cases, rows in a batch
FROM_CATALOGUE = (
    "pos_zero",
    "pos_restart",
    "pos_plus1",
    "sdpa_top_left",
    "chunk_top_left",
    "mask_only_if_square",
    "no_mask_with_cache",
    "attend_then_append",
    "frozen_cache",
    "decode_row_twice",
    "not_reset",
    "value_is_key",
)

killer_prompts = Exercise(
    name="killer_prompts",
    lesson="06",
    call="killer_prompts() -> [(prompt, chunks, batch), …]",
    minutes=25,
    difficulty="hard",
    hints=(
        "List what a test can vary: the length, the number and the sizes of the pieces, the rows, the tokens, the order of requests.",
        "What does a prompt of one token look like to code that asks `T == 1`? And a piece of one token, or two equal pieces?",
        "Four cases are enough: one token; one long prompt whole; one in three unequal pieces, the later ones of several "
        "tokens; each with several rows, one with token 0 in the middle.",
    ),
    seconds=30.0,
)


def listed(cases):
    """The cases as nested tuples of ints; raises `Wrong` for what cannot be fed."""
    if not isinstance(cases, (list, tuple)) or not 1 <= len(cases) <= CASES:
        many = f"{len(cases)} cases" if isinstance(cases, (list, tuple)) else kind(cases)
        raise Wrong(f"it returned {many}; expected a list of 1 to {CASES} cases (prompt, chunks, batch)")
    return tuple(one_case(number, case) for number, case in enumerate(cases, 1))


def one_case(number, case):
    if not isinstance(case, (list, tuple)) or len(case) != 3:
        raise Wrong(f"case {number} is {kind(case)}; expected (prompt, chunks, batch)")
    prompt, chunks, batch = case
    try:
        prompt, chunks = tuple(map(int, prompt)), tuple(map(int, chunks))
    except (TypeError, ValueError):
        raise Wrong(f"case {number}: prompt and chunks are lists of whole numbers") from None
    if not prompt or not all(0 <= token < V for token in prompt):
        raise Wrong(f"case {number}: the prompt {list(prompt)}; expected at least one token id, each from 0 to {V - 1}")
    if sum(chunks) != len(prompt) or min(chunks) < 1:
        raise Wrong(f"case {number}: the chunks {list(chunks)} cut a prompt of {len(prompt)} tokens; expected pieces of "
                    "at least one token that add up to it")  # fmt: skip
    if isinstance(batch, bool) or not isinstance(batch, int) or not 1 <= batch <= ROWS:
        raise Wrong(f"case {number}: a batch of {batch!r}; expected 1 to {ROWS}")
    return prompt, chunks, batch


@torch.inference_mode()
def exposed(decoder, oracle, cases):
    """Where a decoder leaves the oracle, in words, or None. All cases in order, on the one decoder."""
    for number, (prompt, chunks, batch) in enumerate(cases, 1):
        tokens = (torch.tensor(prompt) + torch.arange(batch)[:, None]) % V  # [B, T0], rows differ
        first, *rest = tokens.split(chunks, dim=1)
        wanted = [oracle.prefill(first), *map(oracle.extend, rest)]
        try:
            got = [decoder.prefill(first), *map(decoder.extend, rest)]
            for _ in range(STEPS):
                token = wanted[-1].argmax(-1)
                wanted.append(oracle.decode(token))
                got.append(decoder.decode(token))
        except (ValueError, RuntimeError, IndexError) as error:
            return f"case {number} raised {type(error).__name__}: {error}"
        for call, (mine, right) in enumerate(zip(got, wanted)):
            if not bool(((mine - right).abs() <= TOLERANCE).all()):
                return f"case {number}, call {call + 1} of {len(got)}"
    return None


def right_decoders(model):
    return {
        "the course's decoder": CachedDecoder(model),
        "one with a preallocated buffer": CachedDecoder(model, lambda: BufferCache(L, BLOCK)),
        "one that prefills three tokens at a time": ChunkedDecoder(model),
        "one with another attention kernel": CachedDecoder(with_modules(model, [ExplicitAttention], [])),
    }


@lru_cache(maxsize=4)
def outcome(cases):
    """({mutant in words: where it is exposed, or None}, {right decoder: the same})."""
    model = small_model()
    mutants = {CATALOGUE[id].does: faulty(model, id) for id in FROM_CATALOGUE}
    mutants |= {words: make(model) for words, make in MUTANTS.items()}

    def all_of(decoders):
        return {words: exposed(decoder, Oracle(model), cases) for words, decoder in decoders.items()}

    right = all_of(right_decoders(model))
    return ({} if any(right.values()) else all_of(mutants)), right


@killer_prompts.check(f"1 to {CASES} cases that can be fed")
def _(answer):
    cases = listed(answer())
    return f"{len(cases)} cases, {sum(len(prompt) for prompt, _, _ in cases)} prompt tokens"


@killer_prompts.check("no false alarm: right decoders pass")
def _(answer):
    right = outcome(listed(answer()))[1]
    for words, where in right.items():
        if where:
            raise Wrong(
                f"{words} was accused: {where}",
                f"more than the {BLOCK} positions that the model has" if "position" in where else None,
            )
    return f"{len(right)} right decoders pass"


def share(least, points):
    @killer_prompts.check(
        f"{'all' if least == 1 else f'at least {least:.0%}'} of {len(FROM_CATALOGUE) + len(MUTANTS)} mutants exposed",
        points,
    )
    def _(answer):
        found = outcome(listed(answer()))[0]
        hidden = [words for words, where in found.items() if not where]
        exposed_share = 1 - len(hidden) / len(found)
        if exposed_share < least:
            more = "\n".join(f"- {words}" for words in hidden[:4])
            raise Wrong(
                f"{len(found) - len(hidden)} of {len(found)} are exposed. Among those that pass all your cases:\n{more}"
            )
        return f"{len(found) - len(hidden)} of {len(found)}"


share(0.5, 1)
share(0.75, 1)
share(1.0, 2)
