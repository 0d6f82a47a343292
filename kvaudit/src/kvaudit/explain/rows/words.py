"""What rows say, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .described import Forensics, Of, Wrong

CLAUSES = 3  # of one sentence
PLAIN = {
    "missing": "are missing",
    "not finite": "are not finite",
    "zeros": "are all zeros",
    "scaled": "are the right ones times {}",
    "order": "are the right numbers in another order",
    "heads": "stand in other heads ({})",
    "rounded": "are rounded ({})",
    "unknown": "are those of no token, layer or position",
}
WHEN = {
    "rejected": "a rejected draft",
    "request": "the request before",
    "reorder": "before the reorder",
    "fork": "another fork",
}


def sentence(seen: Forensics) -> str:
    """The whole in words: where, what, since when, and whether it explains the logits."""
    if not seen.wrong:
        return all_right(seen)
    S = len(seen.grids[seen.shown].keys[0])
    clauses = [clause(some, layers, parts, seen, S) for some, layers, parts in merged(seen.wrong)]
    told = "; ".join(clauses[:CLAUSES]) + (f"; and {len(clauses) - CLAUSES} more" if len(clauses) > CLAUSES else "")
    since = f"; first after step {seen.step} of {seen.script}"
    proof = (
        ""
        if seen.residual is None
        else f". Attention over these rows gives the decoder's logits, to {seen.residual:.0e}"
    )
    return told + ("" if seen.rounded else since) + proof


def all_right(seen: Forensics) -> str:
    L, at = seen.shapes[2], f"after step {seen.step} of {seen.script}, which is wrong"
    tail = f"; {seen.behind} unwritten rows behind them must stay hidden" if seen.behind else ""
    turned = f"; all keys stand {seen.turned} positions further, which is right if queries do" if seen.turned else ""
    look = (
        "which rows it reads, its mask, the positions of its queries, how heads share keys, or at the rest of the layer"
    )
    if seen.ahead:
        look = "its mask: of the new tokens only the last one is right, the others see what follows them"
    if seen.attention == L - 1:
        last = "what the last layer reads, its mask, the positions of its queries, what comes after it, or what is fed"
        return f"all rows are right, also {at}: look at {last}{tail}{turned}"
    told = f"all rows of layer {seen.attention} are right {at}, and what it makes of them is not"
    return f"{told}: look at {look}{tail}{turned}"


def merged(wrong: Iterable[Wrong]) -> list[tuple[Wrong, list[int], str]]:
    """Alike ones of several layers, and of keys and values, together: (one of them, layers, "K", "V" or "KV")."""
    places: dict[Wrong, dict[int, str]] = {}
    for w in wrong:
        own = places.setdefault(replace(w, layer=-1, part="", old=False), {})
        own[w.layer] = own.get(w.layer, "") + w.part
    found: list[tuple[Wrong, list[int], str]] = []
    for w, parts in places.items():
        for kind in dict.fromkeys("".join(sorted(p)) for p in parts.values()):
            found.append((w, [layer for layer, p in parts.items() if "".join(sorted(p)) == kind], kind))
    return sorted(found, key=lambda x: ("unknown" in (x[0].kind, x[0].detail), x[1], x[0].rows[0]))


def clause(w: Wrong, layers: list[int], parts: str, seen: Forensics, S: int) -> str:
    B, H, L = seen.shapes
    where = [numbered("layer", layers, L)]
    if w.kind != "extra":
        where.append(rows(w.rows, S))
    if len(w.batch) < B:
        where.append(numbered("batch row", w.batch, B))
    if len(w.heads) < H:
        where.append(numbered("head", w.heads, H))
    return f"{', '.join(where)}: {holds(w, parts)}"


def numbered(what: str, numbers: Sequence[int], all_of: int) -> str:
    if len(numbers) == all_of:
        return f"every {what}" if all_of > 1 else f"{what} 0"
    return f"{what}{'s' if len(numbers) > 1 else ''} {spans(numbers)}"


def spans(numbers: Sequence[int]) -> str:
    """0-3, 5: runs of numbers."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)


def rows(places: Sequence[int], S: int) -> str:
    if len(places) == S:
        return "every row"
    if len(places) > 1 and places == tuple(range(places[0], S)):
        return f"row {places[0]} on"
    return f"row{'s' if len(places) > 1 else ''} {spans(places)}"


def holds(w: Wrong, parts: str) -> str:
    noun = {"K": "keys", "V": "values", "KV": "keys and values"}[parts]
    if w.kind == "extra":
        many = f"{len(w.rows)} row{'s' if len(w.rows) > 1 else ''} too many ({spans(w.rows)})"
        if w.detail in ("unknown", "not finite"):
            return many
        return f"{many}, {whose(w.of, noun, w.detail, parts)}" if w.of != Of() else f"{many}, {made_of(w.detail)}"
    if w.kind == "rotated":
        return f"keys are {rotation(w.detail)}"
    if w.kind == "fed":
        return f"holds {noun} of {made_of(w.detail)}"
    if w.kind == "other":
        return f"holds {whose(w.of, noun, w.detail, parts)}"
    return f"{noun} {PLAIN[w.kind].format(w.detail)}"


def whose(of: Of, noun: str, detail: str, parts: str) -> str:
    """Layer 1's keys of the next row, …"""
    if of.part is not None:
        noun = {"K": "keys", "V": "values"}.get(of.part, noun) + (f" as {noun}" if len(parts) == 1 else "")
    owner = "" if of.layer is None else f"layer {of.layer}'s "
    place = f" of {step_aside(of.row, 'row')}" if of.row else ""
    batch = f" of {step_aside(of.batch, 'batch row')}" if of.batch else ""
    when = (
        f" of {WHEN[of.when]}"
        if of.when in WHEN and of.when != "reorder"
        else (f" from {WHEN['reorder']}" if of.when else "")
    )
    turned = {"before its rotation": ", not rotated", "at this place": ", rotated to this place"}.get(detail, "")
    return f"{owner}{noun}{place}{batch}{when}{turned}"


def step_aside(number: str, what: str) -> str:
    """+1: the next one; =3: number 3."""
    if number.startswith("="):
        return f"{what} {number[1:]}"
    n = int(number)
    near = {1: f"the next {what}", -1: f"the {what} before"}
    return near.get(n, f"the {what} {abs(n)} places {'further' if n > 0 else 'before'}")


def rotation(detail: str) -> str:
    if detail in ("again", "not"):
        return {"again": "rotated twice, by their own position", "not": "not rotated"}[detail]
    if detail.startswith("="):
        return f"rotated to position {detail[1:]}"
    n = int(detail)
    return f"rotated {abs(n)} position{'s' if abs(n) > 1 else ''} too {'far' if n > 0 else 'little'}"


def made_of(detail: str) -> str:
    """ "token of row -1, position +2": the token of the row before, 2 positions too far."""
    told = []
    for part in detail.split(", "):
        if part.startswith("token of row "):
            told.append(f"the token of {step_aside(part.removeprefix('token of row '), 'row')}")
        elif part.startswith("position ="):
            told.append(f"at position {part.removeprefix('position =')}")
        elif part.startswith("position "):
            n = int(part.removeprefix("position "))
            told.append(f"{abs(n)} position{'s' if abs(n) > 1 else ''} too {'far' if n > 0 else 'early'}")
        else:
            told.append(part)
    token = "" if told[0].startswith(("the token", "token")) else "its token "
    return token + " ".join(told)
