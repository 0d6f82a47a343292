"""Scripts: the calls that an audit makes on a decoder, and the uncached logits that each of them must give.

The same script is run on the decoder under audit, on a witness, and on a `Historian`, which answers each call with the
token history behind it; the reference turns histories into the expected logits. Every script says what it exercises.
"""

import inspect
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch


@dataclass(frozen=True)
class Call:
    """One call: `kind` is a decoder's method, `value` its argument; `on` names the decoder (forks have names)."""

    kind: str
    value: object = None
    lengths: torch.Tensor | None = None  # [B], with prefill of a left-padded batch
    on: str = "main"


@dataclass(frozen=True)
class Script:
    """A named list of calls. `ends` is True where the last call must be refused (one token past the last position)."""

    name: str
    about: str
    calls: tuple
    ends: bool = False

    @cached_property
    def content(self):
        """Text that tells these calls from others."""
        return str([[getattr(x, "tolist", lambda x=x: x)() for x in vars(call).values()] for call in self.calls])


def cost(script):
    """Tokens fed in all calls and rows: what running the script is worth, to begin with the cheapest."""
    return sum(call.value.numel() for call in script.calls if isinstance(call.value, torch.Tensor))


@dataclass
class Trace:
    """What a script gave: logits `[B, V]` per answering call, rows per layer after it, and the error that ended it."""

    logits: list = field(default_factory=list)
    rows: list = field(default_factory=list)
    problem: str | None = None  # the decoder broke a rule of the game: raised, wrong shape, NaN, …
    raised: Exception | None = None


def run(script, decoder, vocab_size=None, watch=None):
    """Run the script; `watch(step, logits)` may return True to stop early. Returns a Trace, whatever the decoder does."""
    trace, decoders = Trace(), {"main": decoder}
    for call in script.calls:
        step = len(trace.logits)
        given = call.value.clone() if isinstance(call.value, torch.Tensor) else call.value
        try:
            answer = perform(replace(call, value=given), decoders)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a decoder under audit may raise anything
            trace.problem, trace.raised = f"{call.kind} raised {type(error).__name__}: {error}", error
            return trace
        if call.kind not in ("prefill", "decode", "extend"):
            continue
        changed = isinstance(given, torch.Tensor) and not torch.equal(given, call.value)
        trace.problem = f"{call.kind} changed its input" if changed else wrong(answer, call, vocab_size)
        if trace.problem:
            return trace
        trace.logits.append(answer.clone() if isinstance(answer, torch.Tensor) else answer)
        trace.rows.append(rows_held(decoders[call.on]))
        if watch is not None and watch(step, answer):
            return trace
    return trace


def perform(call, decoders):
    decoder = decoders[call.on]
    if call.kind == "fork":
        decoders[call.value] = decoder.fork()
        return None
    if call.lengths is not None:
        return decoder.prefill(call.value, lengths=call.lengths)
    return getattr(decoder, call.kind)(call.value)


def wrong(answer, call, vocab_size):
    """In words, what is wrong with an answer before its numbers are looked at; None if nothing is."""
    if vocab_size is None:
        return None
    if not isinstance(answer, torch.Tensor):
        return f"{call.kind} returned {type(answer).__name__} where a tensor of logits [B, V] is expected"
    expected = [call.value.shape[0], vocab_size]
    if list(answer.shape) != expected:
        return f"{call.kind} returned shape {list(answer.shape)}, expected logits [B, V] = {expected}"
    if not answer.is_floating_point():
        return f"{call.kind} returned {answer.dtype}, expected floating-point logits"
    if answer.device != call.value.device:
        return f"{call.kind} returned logits on {answer.device}, the tokens are on {call.value.device}"
    if not bool(torch.isfinite(answer).all()):
        bad = [name for name, test in (("NaN", torch.isnan), ("infinity", torch.isinf)) if bool(test(answer).any())]
        return f"{call.kind} returned {' and '.join(bad)} in row {int((~torch.isfinite(answer)).nonzero()[0, 0])}"
    return None


def rows_held(decoder):
    """Rows per layer, measured from the tensors; None where the decoder does not show them."""
    try:
        return [int(k.shape[2]) for k, _ in decoder.layers()]
    except Exception:  # noqa: BLE001 - not offered, or in another form: the audit goes on without
        return None


def missing(script, decoder):
    """The calls of the script that this decoder does not offer, in words; empty where it can run."""
    lacks = {call.kind for call in script.calls if not callable(getattr(decoder, call.kind, None))}
    if any(call.lengths is not None for call in script.calls) and not takes_lengths(decoder):
        lacks.add("prefill(lengths=)")
    return sorted(lacks)


def takes_lengths(decoder):
    try:
        return "lengths" in inspect.signature(decoder.prefill).parameters
    except (TypeError, ValueError):
        return False


class Historian:
    """Answers each call with the tokens `[T so far]` of every row, padding left out."""

    def prefill(self, tokens, lengths=None):
        T = tokens.shape[1]
        self.rows = [ids[T - int(n) :] for ids, n in zip(tokens, [T] * len(tokens) if lengths is None else lengths)]
        self.pads = [T - len(ids) for ids in self.rows]
        return list(self.rows)

    def extend(self, tokens):
        self.rows = [torch.cat([row, new]) for row, new in zip(self.rows, tokens)]
        return list(self.rows)

    def decode(self, token):
        return self.extend(token[:, None])

    def crop(self, length):
        self.rows = [row[: length - pad] for row, pad in zip(self.rows, self.pads)]

    def reorder(self, parents):
        self.rows = [self.rows[p] for p in parents.tolist()]

    def fork(self):
        twin = Historian()
        twin.rows, twin.pads = list(self.rows), self.pads
        return twin


def histories(script):
    """Per answering call, the list of token histories `[T so far]`, one a row of the batch."""
    return run(script, Historian()).logits


def expected(reference, script):
    """The uncached logits `[B, V]` of every answering call: each history is computed whole, in few forward passes."""
    steps = histories(script)
    whole = []  # the histories that are no beginning of another one
    for ids in sorted({tuple(row.tolist()) for rows in steps for row in rows}, key=len, reverse=True):
        if len(ids) <= reference.block_size and not any(seq[: len(ids)] == ids for seq in whole):
            whole.append(ids)
    logits = {}  # sequence -> [T, V]
    for length in sorted({len(seq) for seq in whole}):
        group = [seq for seq in whole if len(seq) == length]
        logits.update(zip(group, reference.logits(torch.tensor(group, device=reference.device))))
    answers = []
    for rows in steps:
        ids = [tuple(row.tolist()) for row in rows]
        homes = [next((seq for seq in whole if seq[: len(i)] == i), None) for i in ids]
        if None in homes:
            return answers  # past the last position there is nothing to expect
        answers.append(torch.stack([logits[seq][len(i) - 1] for seq, i in zip(homes, ids)]))
    return answers


def scripts(block_size, vocab_size, *, prompt=None, tokens=None, device="cpu", seed=0, window=None, capacity=None):
    """The audit's scripts, sized for the block. `prompt` `[B, T0]` and fed `tokens` `[B, n]` replace the random main one.

    Sizes are pairwise different and odd, so that an exchanged axis cannot hide. `capacity`: rows that the decoder can
    hold, where that is a limit to test.
    """
    draw = torch.Generator().manual_seed(seed)

    def ids(B, T):
        return torch.randint(vocab_size, (B, T), generator=draw).to(device)

    room = max(block_size // 3, 2)
    T0 = min(13 if window is None else max(13, window + 2), room)
    prompt = ids(3, T0) if prompt is None else prompt
    n = min(7, room, block_size - prompt.shape[1])
    tokens = ids(prompt.shape[0], n) if tokens is None else tokens
    a, b = min(5, room), min(3, max(room - 1, 1))
    one, first, second, chunk = ids(2, 1), ids(2, a + b), ids(2, a), ids(2, a + 2 * b)
    feed = [ids(4, 1)[:, 0] for _ in range(12)]
    made = [
        Script("plain", "one prompt, then one token at a time", steps(prompt, *tokens.T)),
        Script("one token", "a prompt of length 1", steps(one, *[t[:2] for t in feed[:3]])),
        Script("second request", "a new prompt on the same decoder", again(first, second, [t[:2] for t in feed])),
        Script("chunks", "a prompt in three pieces, then a second turn", chunks(chunk, a, b, [t[:2] for t in feed])),
        Script("left padding", "rows of different length", ragged(ids(3, a + b), torch.tensor([a + b, a, b]), feed)),
        Script("beams", "rows that follow other rows", beams(ids(4, a), feed)),
        Script("rollback", "two draft tokens rejected", rollback(ids(2, a), [t[:2] for t in feed])),
        Script("shared prefix", "two requests continue one stored prompt", forks(ids(2, a), [t[:2] for t in feed])),
    ]
    if capacity is not None and capacity >= 4:
        calls = steps(ids(1, capacity - 2), *[t[:1] for t in feed[:3]])
        made.append(Script("last position", "up to the last row that fits, and one more", calls, ends=True))
    return made


def steps(prompt, *tokens, on="main"):
    return (Call("prefill", prompt, on=on), *[Call("decode", t.contiguous(), on=on) for t in tokens])


def again(first, second, feed):
    return (*steps(first, *feed[:2]), *steps(second, *feed[2:5]))


def chunks(tokens, a, b, feed):
    return (
        Call("prefill", tokens[:, :a]),
        Call("extend", tokens[:, a : a + b]),
        Call("decode", feed[0]),
        Call("extend", tokens[:, a + b :]),
        Call("decode", feed[1]),
    )


def ragged(tokens, lengths, feed):
    return (Call("prefill", tokens, lengths=lengths), *[Call("decode", t[:3]) for t in feed[:3]])


def beams(prompt, feed):
    parents = [torch.tensor([1, 0, 3, 0]), torch.tensor([2, 2, 1, 0])]
    order = [Call("decode", feed[0])]
    for p, token in zip(parents, feed[1:]):
        order += [Call("reorder", p.to(prompt.device)), Call("decode", token)]
    return (Call("prefill", prompt), *order)


def rollback(prompt, feed):
    kept = prompt.shape[1] + 1
    draft = [Call("decode", t) for t in feed[:3]]
    return (Call("prefill", prompt), *draft, Call("crop", kept), *[Call("decode", t) for t in feed[3:5]])


def forks(prompt, feed):
    return (
        Call("prefill", prompt),
        Call("fork", "a"),
        *[Call("decode", t, on="a") for t in feed[:2]],
        Call("fork", "b"),
        *[Call("decode", t, on="b") for t in feed[2:4]],
        Call("decode", feed[4], on="a"),  # the first goes on: what the second wrote must not have reached it
    )
