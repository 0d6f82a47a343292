"""Does a decoder compute what the network computes? Judged here without the audit, by other call sequences."""

import torch

from .network import whole

# What is done, in order; the tokens are drawn. "interleaved" is what two users of one stored prompt do; "fill" leaves
# that many tokens free.
SESSIONS = {
    "chat": [
        ("prefill", 2, 6),
        ("decode",),
        ("decode",),
        ("extend", 4),
        ("decode",),
        ("prefill", 2, 9),
        ("decode",),
        ("decode",),
    ],
    "long": [("prefill", 3, 14), *[("decode",)] * 8],
    "padded": [("padded", 3, 7), ("decode",), ("decode",), ("extend", 3), ("decode",)],
    "search": [
        ("prefill", 3, 5),
        ("decode",),
        ("reorder", [1, 0, 0]),
        ("decode",),
        ("reorder", [2, 1, 0]),
        ("decode",),
    ],
    "draft": [("prefill", 2, 5), ("decode",), ("decode",), ("decode",), ("crop", 6), ("decode",), ("decode",)],
    "interleaved": [
        ("prefill", 2, 5),
        ("fork", "a"),
        ("decode",),
        ("fork", "b"),
        ("decode",),
        ("use", "a"),
        ("decode",),
    ],
    "full": [("fill", 2), ("decode",), ("decode",), ("refused",)],
}


def error(d, session, seed=0):
    """Largest difference of any answer of the session from the uncached logits; inf where the decoder breaks off."""
    draw = torch.Generator().manual_seed(seed)
    users, text, name, worst = {"main": d}, {}, "main", 0.0
    for kind, *args in SESSIONS[session]:
        if kind == "fork":
            users[args[0]], text[args[0]], name = users["main"].fork(), list(text["main"]), args[0]
        elif kind == "use":
            name = args[0]
        elif kind == "reorder":
            users[name].reorder(torch.tensor(args[0]))
            text[name] = [text[name][p] for p in args[0]]
        elif kind == "crop":
            users[name].crop(args[0])
            text[name] = [row[: args[0]] for row in text[name]]
        elif kind == "refused":
            worst = worst if refuses(users[name]) else float("inf")
        else:
            answer, text[name] = say(users[name], kind, args, text.get(name), draw)
            right = torch.stack([whole(d.w, d.spec, row[None])[0, -1] for row in text[name]])
            worst = max(worst, float((answer - right).abs().max()))
    return worst


def refuses(d):
    """Is one token too many refused?"""
    try:
        d.decode(torch.tensor([0]))
    except (ValueError, IndexError):
        return True
    return False


def say(d, kind, args, text, draw):
    """Feed drawn tokens by one call: (logits [B, V], texts of the B rows)."""
    if kind in ("prefill", "padded", "fill"):
        B, T = args if kind != "fill" else (1, d.limit - args[0])
        ids = torch.randint(d.spec.vocab, (B, T), generator=draw)
        if kind != "padded":
            return d.prefill(ids), list(ids)
        lengths = torch.tensor([T, T - 3, T - 5])
        return d.prefill(ids, lengths=lengths), [row[T - n :] for row, n in zip(ids, lengths.tolist())]
    ids = torch.randint(d.spec.vocab, (len(text), *args), generator=draw)
    answer = d.decode(ids) if kind == "decode" else d.extend(ids)
    return answer, [torch.cat([row, new.reshape(-1)]) for row, new in zip(text, ids)]


def errors(d):
    """{session: error} of fresh decoders like d, in float64."""
    found = {}
    for session in SESSIONS:
        try:
            found[session] = error(d.double(), session)
        except NotImplementedError:  # a window does not roll back
            continue
        except Exception:  # noqa: BLE001 - a wrong decoder may break off anywhere
            found[session] = float("inf")
    return found
