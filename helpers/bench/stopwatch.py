"""Correctness before speed: a stopwatch that hands out nothing to time until the decoder has passed the audit.

watch = Stopwatch(model)
watch.enter("preallocated", preallocated)       # raises NotProved, with what the audit says, for a wrong decoder
watch.step("preallocated", length=256)          # a callable for a timer: one cached step a call
"""

import torch

from ..audit import audit
from ..figures import approx
from ..ledger import load
from .equality import COMPARED, COMPARED_STEPS, Equality, compare
from .shapes import random_tokens
from .timing import interleaved
from .variants import Stepper

BELOW_A_BUG = 4  # rounded weights may move the logits by this share of what a known bug moves them


class NotProved(ValueError):
    """A decoder whose speed would mean nothing, because what it computes was not proved to be right."""


class Stopwatch:
    """Decoders over one `model`, each entered with a function `build(model, capacity) -> decoder`."""

    def __init__(self, model):
        self.model, self.entered, self.errors = model, {}, {}
        self.ledger = load("learned")  # small and trained: each of its logits depends on each token

    def enter(self, name, build, rounded_from=None):
        """Let a decoder start: the audit on the trained model, then its logits on the weights that are timed.

        rounded_from: the proved decoder whose logic this one has, where only its weights are rounded: then the logits may
        differ by more than rounding, and by much less than a known bug moves them. Returns the audit's report (None for a
        rounded one); raises NotProved.
        """
        report = None if rounded_from else self.prove(name, build)
        if rounded_from:
            self.proved(rounded_from)
        equality = self.measure(name, build)
        allowed = equality.bug / BELOW_A_BUG if rounded_from else equality.tolerance
        if name in equality.broken:
            raise NotProved(f"{name} did not run on the weights to be timed: {equality.broken[name]}")
        self.errors[name] = equality.differences[name]
        if not self.errors[name] <= allowed:
            raise NotProved(
                f"{name} is not timed. On the weights to be timed its logits differ by {approx(self.errors[name])}; allowed "
                f"is {approx(allowed)}"
            )
        self.entered[name] = build
        return report

    def prove(self, name, build):
        decoder = build(self.ledger, self.ledger.config.block_size)
        report = audit(decoder, explain=False)
        if not report.ok:
            report = audit(decoder)  # once more, for the suspects
            suspect = f" Suspect: {report.suspects[0].words}." if report.suspects else ""
            raise NotProved(f"{name} is not timed. The audit: {report.verdict}. {report.summary}{suspect}")
        return report

    def measure(self, name, build) -> Equality:
        tokens = random_tokens(self.model.config, COMPARED)
        return compare(self.model, {name: build(self.model, COMPARED)}, tokens, COMPARED_STEPS)

    def proved(self, name):
        """The function that builds a decoder; raises NotProved for one that was not entered."""
        if name not in self.entered:
            raise NotProved(f"{name} was never proved: enter() it before it is timed")
        return self.entered[name]

    def decoder(self, name, tokens, room=0):
        """A proved decoder that has read `tokens` `[B, T]`, with room for as many more."""
        decoder = self.proved(name)(self.model, tokens.shape[1] + room)
        decoder.prefill(tokens)
        return decoder

    def step(self, name, length, calls):
        """A callable that decodes one token; its last of so many `calls` ends at `length` tokens."""
        tokens = random_tokens(self.model.config, length)
        return Stepper(self.proved(name)(self.model, length), tokens, calls)

    def whole(self, name, length):
        """A callable that computes all `length` tokens at once, as a decoder without a cache does for each token."""
        tokens = random_tokens(self.model.config, length)
        decoder = self.proved(name)(self.model, length)
        return torch.inference_mode()(lambda: decoder.prefill(tokens))


def medians(variants, rounds=15, warmup=2):
    """`{name: median seconds}` of one call: what the lesson's own timer is asked for."""
    timings = interleaved(variants, rounds, warmup)
    return {name: timing.median for name, timing in timings.variants.items()}
