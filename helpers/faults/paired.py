"""A decoder and its oracle behind one set of calls, and the trace of what both said."""

from dataclasses import dataclass, field

import torch

from ..decoding import CachedDecoder, Oracle


@dataclass
class Step:
    """Logits `[B, V]` of decoder and oracle after `fed` tokens, and the rows that each layer of the decoder holds."""

    fed: int
    logits: torch.Tensor
    oracle: torch.Tensor
    rows: list[int]

    @property
    def difference(self):
        return float((self.logits.double() - self.oracle.double()).abs().max())


@dataclass
class ScenarioTrace:
    """The `steps` of a request, 0 being the end of its prompt, and the `error` that ended it early, if one did."""

    steps: list[Step]
    error: str | None = None

    def first_wrong(self, tolerance):
        """The first step that differs by more than `tolerance` (NaN does, too), or None."""
        return next((i for i, step in enumerate(self.steps) if not step.difference <= tolerance), None)


@dataclass
class Paired:
    """A decoder and its oracle behind one set of calls. The loop sees the oracle's logits, so that both are fed its choices."""

    decoder: CachedDecoder
    oracle: Oracle
    steps: list = field(default_factory=list)
    fed: int = 0

    def prefill(self, tokens, **ragged):
        self.fed = 0
        self.steps.clear()
        return self.note(tokens.shape[1], self.decoder.prefill(tokens, **ragged), self.oracle.prefill(tokens, **ragged))

    def decode(self, token):
        return self.note(1, self.decoder.decode(token), self.oracle.decode(token))

    def extend(self, tokens):
        return self.note(tokens.shape[1], self.decoder.extend(tokens), self.oracle.extend(tokens))

    def extend_all(self, tokens):
        ours, theirs = self.decoder.extend_all(tokens), self.oracle.extend_all(tokens)  # [B, T, V]
        for t, pair in enumerate(zip(ours.unbind(1), theirs.unbind(1)), start=1):
            self.note(1, *pair, behind=tokens.shape[1] - t)
        return theirs

    def note(self, T, logits, oracle, behind=0):
        """One step; `behind` tokens of the same call come after it, and their rows are not counted to it."""
        self.fed += T
        self.steps.append(Step(self.fed, logits, oracle, [k.shape[2] - behind for k, _ in self.decoder.layers()]))
        return oracle

    def crop(self, length):
        """What was said about the tokens after `length` is no longer part of the sequence."""
        self.decoder.crop(length)
        self.oracle.crop(length)
        self.steps[:] = [step for step in self.steps if step.fed <= length]
        self.fed = length

    def reorder(self, parents):
        self.decoder.reorder(parents)
        self.oracle.reorder(parents)

    def fork(self):
        """The twin's steps follow in the same list: the second request of a stored prefix comes after the first."""
        return Paired(self.decoder.fork(), self.oracle.fork(), self.steps, self.fed)
