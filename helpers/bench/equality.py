"""Correctness before speed: what a variant's logits differ by, step by step, and whether that is rounding.

The reference is the no-cache loop in float64. The tolerance is measured from both sides: what the no-cache loops in the
working dtype differ by (rounding alone), and what a cached decoder with a known bug differs by.
"""

import copy
from dataclasses import dataclass

import torch

from ..caches import PreallocatedCache
from ..decoding import CachedDecoder, Oracle, teacher_forced

COMPARED, COMPARED_STEPS = 24, 8  # tokens of a comparison, of which so many are decoded one by one
MARGIN = 8.0  # times the rounding seen: other orders of summing round otherwise


class NotEqual(ValueError):
    """A variant's logits differ by more than rounding: its speed would mean nothing."""


class Shifted(PreallocatedCache):
    """The known bug: positions one too far, from the first decode step on."""

    def positions(self, T):
        return super().positions(T) + (T == 1)


@dataclass(frozen=True)
class Equality:
    """Largest logits difference of each variant over all steps; `rounding` and `bug` are the tolerance's two sides.

    `broken`: what a variant that could not be run raised, in words.
    """

    differences: dict[str, float]
    rounding: float
    bug: float
    broken: dict[str, str]

    @property
    def tolerance(self):
        return MARGIN * self.rounding

    @property
    def separates(self):
        """Whether the known bug stands out from rounding at all."""
        return self.bug > MARGIN * self.tolerance

    def wrong(self, rounded=()):
        """The variants that differ by more than the tolerance, or are not numbers.

        Those `rounded` on purpose (fewer bits a weight) may differ by more, but by less than the known bug.
        """
        allowed = {name: self.bug if name in rounded else self.tolerance for name in self.differences}
        return [name for name, d in self.differences.items() if not d <= allowed[name]]


def compare(model, decoders, tokens, steps=8, tick=lambda: None):
    """An `Equality` of `decoders` `{name: decoder}` on `tokens` `[B, T]`: prompt, then the last `steps` one by one.

    model: the MiniGPT that all of them claim to be. `Oracle` and other no-cache loops among them set the rounding.
    `tick` is called after each decoder.
    """
    exact = logits_of(Oracle(copy.deepcopy(model).double()), tokens, steps)
    differences, broken = {}, {}
    for name, decoder in decoders.items():
        try:
            differences[name] = largest(logits_of(decoder, tokens, steps), exact)
        except Exception as error:  # noqa: BLE001 - another library's code, or its compiler's
            broken[name] = first_line(error)
        tick()
    loops = [differences[name] for name, decoder in decoders.items() if name in differences and is_loop(decoder)]
    loops.append(largest(logits_of(Oracle(model), tokens, steps), exact))
    shifted = CachedDecoder(model, lambda: Shifted(model.config.n_layers, tokens.shape[1] + 1))
    return Equality(differences, max(loops), largest(logits_of(shifted, tokens, steps), exact), broken)


def is_loop(decoder):
    return not hasattr(decoder, "new_cache")


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else 'no message'}"


def logits_of(decoder, tokens, steps):
    """float64 `[B, steps + 1, V]`: after the prompt and after each step."""
    prompt = tokens.shape[1] - steps
    padded = torch.cat([tokens[:, prompt:], tokens[:, -1:]], dim=1)  # the last entry is compared to, not fed
    return teacher_forced(decoder, tokens[:, :prompt], padded).double()


def largest(logits, exact):
    """Largest absolute difference; NaN where any is."""
    return (logits - exact).abs().max().item()


def refused(equality, rounded=()):
    """`{variant: why it must not be timed}`, in words; `rounded`: names of those that round their weights on purpose."""
    reasons = {name: f"did not run: {words}" for name, words in equality.broken.items()}
    if not equality.separates:
        words = (
            f"the comparison proves nothing: a decoder with a known bug differs by {equality.bug:.1e}, rounding by "
            f"{equality.rounding:.1e}; take wider weights or a longer sequence"
        )
        return reasons | dict.fromkeys(equality.differences, words)
    explained = f"from the float64 loop where rounding explains {equality.tolerance:.1e}; mend it before timing it"
    return reasons | {
        n: f"its logits differ by {equality.differences[n]:.1e} {explained}" for n in equality.wrong(rounded)
    }


def require(equality):
    """Raise NotEqual in words where any variant is refused."""
    reasons = refused(equality)
    if reasons:
        raise NotEqual("; ".join(f"{name}: {words}" for name, words in reasons.items()))
