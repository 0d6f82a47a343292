"""Calls of this test's own, and how far a decoder's logits are from uncached ones: whether a mistake is one at all.

Written apart from the audit's scripts. COMMON are what a test of a cache would try first, MIXED are mixtures of them.
"""

import torch

COMMON = {  # a call is (method, argument): tokens to feed [B, T], rows to follow, tokens to keep, a decoder to fork
    "steps": "prefill 3x12, decode, decode, decode, decode",
    "one token": "prefill 2x1, decode, decode",
    "second": "prefill 2x9, decode, decode, prefill 2x4, decode, decode",
    "chunks": "prefill 2x5, extend 4, decode, extend 2, decode",
    "padded": "prefill 3x7 padded, decode, decode",
    "beams": "prefill 4x6, decode, reorder, decode, decode",
    "rollback": "prefill 2x6, decode, decode, decode, crop 7, decode, decode",
    "forks": "prefill 2x6, fork a, decode on a, decode on a, fork b, decode on b, decode, decode on a",
    "full": "fill, decode, decode, decode",
}
MIXED = {
    "padded chunks": "prefill 3x7 padded, decode, extend 3, decode",
    "padded beams": "prefill 4x7 padded, decode, reorder, decode",
    "padded rollback": "prefill 3x7 padded, decode, decode, decode, crop 8, decode",
    "padded second": "prefill 3x7 padded, decode, prefill 3x8 padded, decode",
    "other batch": "prefill 4x6, decode, prefill 2x5, decode, decode",
    "longer second": "prefill 2x5, decode, prefill 2x11, decode, decode",
    "second after rollback": "prefill 2x6, decode, decode, crop 7, decode, prefill 2x4, decode, decode",
    "beams in chunks": "prefill 4x6, decode, reorder, extend 3, decode",
    "fork and roll back": "prefill 2x6, decode, fork a, decode on a, crop 6 on a, decode on a, decode",
}


def moves(decoder, reference, texts):
    """Largest difference to uncached logits over the calls; infinity where the decoder breaks off, or does not where it must."""
    return max((difference(text, decoder(), reference) for text in texts.values()), default=0.0)


def difference(text, decoder, reference):
    """Of one list of calls; 0 where the decoder has not what it takes."""
    draw = torch.Generator().manual_seed(5)
    decoders, rows = {"main": decoder}, {"main": []}
    worst = 0.0
    for call in expanded(text, decoder):
        words, _, name = call.partition(" on ")
        kind, *given = words.split()
        name = name or "main"
        B = len(rows[name])
        past_end = B and kind == "decode" and len(rows[name][0]) >= (getattr(decoder, "capacity", None) or 10**9)
        try:
            answer = act(decoders, rows, name, kind, given, draw, reference.vocab_size)
        except NotImplementedError:
            return 0.0
        except (RuntimeError, ValueError, IndexError, AttributeError, TypeError) as error:
            return lacking(error, kind, decoder) if not past_end else worst
        if past_end:
            return float("inf")
        if answer is not None:
            right = torch.stack([reference.logits(row[None])[0, -1] for row in rows[name]])
            gap = float((answer - right).abs().max())
            worst = max(worst, gap if gap == gap else float("inf"))
    return worst


def expanded(text, decoder):
    if text.startswith("fill"):
        capacity = getattr(decoder, "capacity", None)
        text = text.replace("fill", f"prefill 1x{capacity - 2}") if capacity else ""
    return [call for call in text.split(", ") if call]


def lacking(error, kind, decoder):
    """0 where the decoder does not offer the call."""
    offered = hasattr(decoder, kind) and not ("lengths" in str(error) and isinstance(error, TypeError))
    return float("inf") if offered else 0.0


def act(decoders, rows, name, kind, given, draw, V):
    """Make one call, and the same on the rows of tokens."""
    decoder, B = decoders[name], len(rows[name])
    if kind == "prefill":
        B, T = map(int, given[0].split("x"))
        tokens = torch.randint(V, (B, T), generator=draw)
        lengths = T - 2 * torch.arange(B).clamp(max=2)
        padded = "padded" in given
        answer = decoder.prefill(tokens, lengths=lengths) if padded else decoder.prefill(tokens)
        rows[name] = [row[T - int(n) :] if padded else row for row, n in zip(tokens, lengths)]
        rows[name, "pads"] = [T - len(row) for row in rows[name]]
        return answer
    if kind in ("decode", "extend"):
        tokens = torch.randint(V, (B, int(given[0]) if given else 1), generator=draw)
        answer = decoder.decode(tokens[:, 0]) if kind == "decode" else decoder.extend(tokens)
        rows[name] = [torch.cat([row, new]) for row, new in zip(rows[name], tokens)]
        return answer
    if kind == "reorder":
        parents = torch.tensor([2, 0, 0, 1])
        decoder.reorder(parents)
        for what in (name, (name, "pads")):
            rows[what] = [rows[what][p] for p in parents.tolist()]
    elif kind == "crop":
        n = int(given[0])
        decoder.crop(n)
        rows[name] = [row[: n - pad] for row, pad in zip(rows[name], rows[name, "pads"])]
    elif kind == "fork":
        decoders[given[0]] = decoder.fork()
        rows[given[0]], rows[given[0], "pads"] = list(rows[name]), list(rows[name, "pads"])
    return None
