"""The audit's scripts, sized for the model. Sizes are pairwise different and odd, so that an exchanged axis cannot hide."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .calls import Call, Script

Calls = tuple[Call, ...]


def scripts(
    block_size: int,
    vocab_size: int,
    *,
    prompt: Tensor | None = None,
    tokens: Tensor | None = None,
    device: torch.device | str = "cpu",
    seed: int = 0,
    window: int | None = None,
    capacity: int | None = None,
) -> list[Script]:
    """All scripts. `prompt` `[B, T0]` and fed `tokens` `[B, n]` replace the random main one.

    `window`: of the attention, where it slides; `capacity`: rows that the decoder can hold, where that is a limit to test.
    """
    draw = torch.Generator().manual_seed(seed)

    def ids(B: int, T: int) -> Tensor:
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


def steps(prompt: Tensor, *tokens: Tensor, on: str = "main") -> Calls:
    return (Call("prefill", prompt, on=on), *[Call("decode", t.contiguous(), on=on) for t in tokens])


def again(first: Tensor, second: Tensor, feed: Sequence[Tensor]) -> Calls:
    return (*steps(first, *feed[:2]), *steps(second, *feed[2:5]))


def chunks(tokens: Tensor, a: int, b: int, feed: Sequence[Tensor]) -> Calls:
    return (
        Call("prefill", tokens[:, :a]),
        Call("extend", tokens[:, a : a + b]),
        Call("decode", feed[0]),
        Call("extend", tokens[:, a + b :]),
        Call("decode", feed[1]),
    )


def ragged(tokens: Tensor, lengths: Tensor, feed: Sequence[Tensor]) -> Calls:
    return (Call("prefill", tokens, lengths=lengths), *[Call("decode", t[:3]) for t in feed[:3]])


def beams(prompt: Tensor, feed: Sequence[Tensor]) -> Calls:
    parents = [torch.tensor([1, 0, 3, 0]), torch.tensor([2, 2, 1, 0])]
    order = [Call("decode", feed[0])]
    for p, token in zip(parents, feed[1:]):
        order += [Call("reorder", p.to(prompt.device)), Call("decode", token)]
    return (Call("prefill", prompt), *order)


def rollback(prompt: Tensor, feed: Sequence[Tensor]) -> Calls:
    kept = prompt.shape[1] + 1
    draft = [Call("decode", t) for t in feed[:3]]
    return (Call("prefill", prompt), *draft, Call("crop", kept), *[Call("decode", t) for t in feed[3:5]])


def forks(prompt: Tensor, feed: Sequence[Tensor]) -> Calls:
    return (
        Call("prefill", prompt),
        Call("fork", "a"),
        *[Call("decode", t, on="a") for t in feed[:2]],
        Call("fork", "b"),
        *[Call("decode", t, on="b") for t in feed[2:4]],
        Call("decode", feed[4], on="a"),  # the first goes on: what the second wrote must not have reached it
    )
