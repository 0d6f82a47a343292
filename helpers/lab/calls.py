"""The calls of the bug lab: the setting in which the chosen faults show, and one decode that answers two questions."""

from dataclasses import dataclass, field

import torch

from ..caches import CapacityError
from ..faults import find
from ..faults.scenarios import SCENARIOS
from ..ledger import TOKENIZER, example
from ..model import OutOfPositions

EARLIER = example(records=2, asked=1, seed=1)  # the request before this one: what it leaves behind can be mixed in
ROOM = 12  # rows of the buffer after the prompt, where it is to overflow
REACH = 4  # tokens of the note that a window sees beside the whole prompt
BEYOND = 24  # tokens that a note may be longer than the oracle's


@dataclass(frozen=True)
class Setting:
    """Which calls are made: keys of SCENARIOS, and the sizes `capacity` and `window` (rows) where they matter."""

    scenarios: frozenset
    capacity: int | None = None
    window: int | None = None

    @property
    def about(self):
        """The calls in words; "" for one prompt, then one token at a time."""
        parts = [SCENARIOS[name].about for name in SCENARIOS if name in self.scenarios]
        sizes = {"a buffer of {} rows": self.capacity, "a window of {} rows, for the oracle too": self.window}
        return "; ".join(parts + [words.format(size) for words, size in sizes.items() if size])


def setting_of(faults, T0):
    """The `Setting` that shows all `faults` on a prompt of `T0` tokens. Raises ValueError for an unknown fault."""
    chosen = [find(id) for id in faults]
    scenarios = frozenset(f.scenario for f in chosen) - {"plain"}
    window = T0 + REACH if any(f.needs == "window" for f in chosen) else None
    return Setting(scenarios, T0 + ROOM if "overflow" in scenarios else None, window)


@dataclass
class Trace:
    """What `decode_both` saw: row 0's logits `[V]` and rows per layer at each step, the tokens that row 1 wrote."""

    logits: list = field(default_factory=list)
    rows: list = field(default_factory=list)
    expected: list = field(default_factory=list)
    own: list = field(default_factory=list)
    error: str | None = None

    def compared(self, right):
        """The columns of a `StepTable` against the oracle's logits `[n, V]`."""
        n = min(len(self.logits), len(right))
        seen, right = torch.stack(self.logits[:n]) if n else right[:0], right[:n]
        return {
            "differences": (seen.double() - right.double()).abs().amax(-1).tolist(),
            "same_argmax": (seen.argmax(-1) == right.argmax(-1)).tolist(),
            "lengths": self.rows[:n],
            "fed": self.expected[:n],
        }

    def note(self):
        return TOKENIZER.decode(self.own)


@torch.inference_mode()
def decode_both(decoder, prompt, forced, steps, setting):
    """Decode `prompt` `[1, T0]` twice at once, as a batch of two rows: a `Trace`.

    Row 0 is fed the oracle's tokens `forced` `[n]` (its logits can be compared), row 1 what the decoder chooses itself
    (its text can be read). Running out of positions or slots ends both.
    """
    trace, forced = Trace(), forced.tolist()
    try:
        logits = prefill(decoder, prompt.repeat(2, 1), setting)  # [2, V]
        while note(trace, decoder, logits, prompt.shape[1], setting.window, len(forced), steps):
            at = len(trace.own) - 1
            token = torch.tensor([forced[at] if at < len(forced) else TOKENIZER.stop, trace.own[-1]])
            logits = decode(decoder, token, prompt.shape[1] + at + 1, "draft" in setting.scenarios)
    except (OutOfPositions, CapacityError) as end:
        trace.error = str(end)
    return trace


def note(trace, decoder, logits, T0, window, n, steps):
    """Keep one step; False where both rows are done."""
    trace.logits.append(logits[0])
    fed = T0 + len(trace.rows)
    trace.rows.append([k.shape[2] for k, _ in decoder.layers()])
    trace.expected.append(min(fed, window or fed))
    trace.own.append(int(logits[1].argmax()))
    longest = min(steps, n + BEYOND)
    return len(trace.own) < n or (TOKENIZER.stop not in trace.own and len(trace.own) < longest)


def prefill(decoder, prompt, setting):
    """Logits `[2, V]` after the prompt, in one piece or in three, on a new decoder or after another request."""
    if "second_request" in setting.scenarios:
        earlier = torch.tensor([TOKENIZER.encode(EARLIER.prompt + EARLIER.note)])
        decoder.prefill(earlier.repeat(2, 1))
    if "chunked" not in setting.scenarios:
        return decoder.prefill(prompt)
    a = prompt.shape[1] // 4
    decoder.prefill(prompt[:, :a])
    decoder.extend(prompt[:, a : 2 * a])
    return decoder.extend(prompt[:, 2 * a :])


def decode(decoder, token, fed, draft):
    """Logits `[2, V]` after `token` `[2]`; with a `draft`, after a guess behind it that is rejected and rolled back."""
    if not draft:
        return decoder.decode(token)
    guess = torch.full_like(token, TOKENIZER.stop)
    logits = decoder.extend_all(torch.stack([token, guess], dim=1))[:, 0]  # [2, 2, V] -> [2, V]
    decoder.crop(fed)
    return logits
