"""Lesson 06: three broken caches repaired. What is still wrong is named by replaying every known bug."""

from contextlib import suppress
from functools import cache

import torch

from kvaudit.subject import Uncached
from kvaudit.witness import Witness, catalogue

from ...audit import audit
from ...cache import ConcatCache
from ...decoding import CachedDecoder, Oracle
from ...faults import CATALOGUE
from ...faults.mysteries import interrogate
from ...model import OutOfPositions
from ...reference import MiniGPTReference
from ..compare import within
from ..registry import Exercise, Wrong, kind
from ..small import TOLERANCE, L, equal, far, small_model, some_tokens

T0, STEPS, CHUNK = 7, 5, 4
PROMPT, TOKENS = some_tokens(T0), some_tokens(T0 + STEPS)[:, T0:]


@cache
def reference():
    """Kept, because what it measures once (tolerances) it remembers."""
    return MiniGPTReference(small_model())


def with_cache(answer):
    """A decoder over the small model that makes a new `answer` for each sequence."""
    made = answer(L)
    missing = [call for call in ("positions", "update", "mask", "advance", "layers") if not hasattr(made, call)]
    if missing:
        raise Wrong(f"it makes {kind(made)} without {', '.join(missing)}; expected a class of caches, not a cache")
    return CachedDecoder(reference().model, lambda: answer(L))


def follow(decoder):
    """Logits `[B, 1 + n, V]`: the prompt whole, then the tokens one at a time."""
    logits = [decoder.prefill(PROMPT)]
    with suppress(OutOfPositions):  # the trace ends there
        for token in TOKENS.unbind(1):
            logits.append(decoder.decode(token))
    return torch.stack(logits, dim=1)


def interrogated(decoder):
    return interrogate(decoder, PROMPT, TOKENS, CHUNK)


@cache
def right(script):
    return script(Oracle(reference().model))


@cache
def replays(script):
    """What each known bug gives in a script: `[(hypothesis, logits)]`, likeliest first."""
    made, uncached = [], Uncached.of(reference())
    for h in catalogue(uncached):
        with suppress(
            RuntimeError, IndexError, ValueError
        ):  # a bug that breaks off here explains no trace that does not
            made.append((h, script(Witness(uncached, h.rules))))
    return made


def as_the_oracle(answer, script, steps):
    got, wanted = script(with_cache(answer)), right(script)
    if equal(got, wanted):
        return within(float(far(got, wanted).max()), TOLERANCE)
    if got.shape != wanted.shape:
        raise Wrong(f"it runs out of positions after {got.shape[1]} of {wanted.shape[1]} calls", still(got, script))
    step = int((~(far(got, wanted) <= TOLERANCE)).any(dim=2).any(dim=0).nonzero()[0])
    size = float(far(got, wanted).max())
    raise Wrong(f"{steps(step)} differs from the oracle, by up to {size:.3g}", still(got, script))


def still(got, script):
    """The bug that reproduces these logits, in words, with where to look; None if no known one does."""
    for hypothesis, logits in replays(script):
        if equal(got, logits):
            fault = CATALOGUE.get(hypothesis.fault)
            look = f". Look at {fault.look}" if fault else ""
            return f"still {hypothesis.fault}: {hypothesis.words}{look}"
    return None


def plain_step(step):
    return "the prefill" if step == 0 else f"decode step {step}"


def other_step(step):
    return (
        ("a new prompt's first piece", "its second piece, a chunk on a filled cache")[step]
        if step < 2
        else f"decode step {step - 1}"
    )


def audited(answer):
    with_cache(answer)
    report = audit(lambda model: CachedDecoder(model, lambda: answer(L)), reference(), explain=False)
    if report.ok:
        return f"{sum(result.status == 'equal' for result in report.results)} scripts agree"
    about = next((f" The script: {result.about}" for result in report.results if result.differs), "")
    raise Wrong(f"verdict {report.verdict}. {report.summary}{about}")


def rows_kept(answer):
    """A repair that keeps no rows computes the right logits and caches nothing."""
    decoder = with_cache(answer)
    follow(decoder)
    held = [k.shape[2] for k, _ in decoder.layers()]
    if held != [T0 + STEPS] * L:
        raise Wrong(
            f"after a prompt of {T0} and {STEPS} steps the layers hold {held} rows; expected {T0 + STEPS} in each"
        )
    return f"{T0 + STEPS} rows in each of {L} layers"


def repair(name, minutes, *hints):
    exercise = Exercise(name, "06", f"{name}(n_layers), a class of caches", minutes, "medium", hints)
    exercise.check("one prompt, five steps: logits equal the oracle's")(
        lambda answer: as_the_oracle(answer, follow, plain_step)
    )
    exercise.check("the rows are kept")(rows_kept)
    exercise.check("after another request, in two pieces: logits equal the oracle's")(
        lambda answer: as_the_oracle(answer, interrogated, other_step)
    )
    exercise.check("the full audit: rollback, beams, forks, the last position")(audited)
    return exercise


repair(
    "RepairedSteps",
    10,
    "Print what positions(1) answers at the first two steps after a prompt of 7. What should it be?",
    "The class counts decode steps. What else would it have to know, and who knows it already?",
    f"{ConcatCache.__name__} has one counter for everything: the number of tokens fed.",
)
repair(
    "RepairedAppend",
    10,
    "Count the rows of layer 0 after each step.",
    "How many lines of this class make a row longer in a decode step, those that it inherits included?",
    "super().update() has stored the new row before the class looks at it.",
)
repair(
    "RepairedMask",
    10,
    "Print mask(2, 5). Which keys should the first of two new tokens see, with three cached?",
    "The diagonal of tril() begins at the top left corner. Where does the first new query stand?",
    "There are S - T keys before the first new one; the diagonal has to be moved by as many.",
)
