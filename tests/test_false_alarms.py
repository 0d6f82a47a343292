"""Correct decoders of all kinds: none may be called wrong.

A few run here. `FALSE_ALARMS=240 python -m pytest tests/test_false_alarms.py -s` runs 240 and prints the bound that
so many allow: none of n false alarms puts the rate below 3 / n with 95 % confidence (the rule of three).
"""

import os
import random
from collections import Counter
from dataclasses import replace

import torch
from second_implementation import cases, storage
from second_implementation.decoder import Decoder
from wide import wide

from helpers.audit import audit
from helpers.controls import CONTROLS, control
from helpers.decoding import CachedDecoder
from helpers.faults import faulty
from helpers.reference import MiniGPTReference

COUNT = int(os.environ.get("FALSE_ALARMS", 8))
DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64]
FEATURES = [None, "buffer", "window", "left padding"]


def second(draw, dtype):
    """A correct decoder of the second implementation and its reference."""
    size, start = draw.choice(list(cases.SIZES)), draw.choice(list(cases.STARTS))
    w, spec = cases.network(size, start, draw.choice(["learned", "halves", "pairs"]), seed=draw.randrange(10**6))
    kind, change = draw.choice(["grow", "fixed", "window"]), draw.choice([*storage.SCHEDULES, *storage.FORMATS])
    spec = replace(
        spec, kernel=draw.choice(["einsum", "loop", "sdpa"]), span=draw.randrange(3, 12) if kind == "window" else None
    )
    w = {name: t.to(dtype) for name, t in w.items()}
    habit = draw.choice(["rows", "count"]) if kind == "grow" else "count"
    made = (storage.SCHEDULES | storage.FORMATS)[change]
    decoder = Decoder(w, spec, "fixed" if kind == "fixed" else "grow", habit, draw.randrange(24, 40), (made,))
    about = f"second {size} {start} {spec.positions} {kind} {spec.kernel} {habit} {change}"
    return about, decoder, cases.Reference(w, spec), change in storage.FORMATS


def first(draw, dtype):
    """A correct decoder of the course's implementation; its reference is found from it."""
    positions, heads = draw.choice(["learned", "rope"]), draw.choice([1, 2, 6])
    model = wide(
        positions,
        dtype,
        draw.randrange(10**6),
        draw.choice([0.02, 0.2]),
        n_layers=draw.choice([1, 2, 3]),
        n_kv_heads=heads,
    )
    kind = draw.choice([*FEATURES, *CONTROLS])
    if kind in CONTROLS:
        decoder = control(model, kind)
    elif kind is None:
        decoder = CachedDecoder(model)
    else:
        decoder = faulty(model, feature=kind, capacity=draw.randrange(24, 40))
    window = getattr(getattr(decoder, "new_cache", lambda: None)(), "window", None)
    return (
        f"first {positions} {heads} {kind}",
        decoder,
        MiniGPTReference(decoder.model, window),
        str(kind).startswith("cache in"),
    )


def decoders(count, seed=0):
    draw = random.Random(seed)
    for n in range(count):
        dtype, threads = DTYPES[n % 4], 2 if n % 80 == 79 else 1  # two threads on two busy cores take minutes
        about, decoder, reference, stored = (second if n % 3 else first)(draw, dtype)
        yield f"{about}, {dtype}, {threads} threads", decoder, reference, stored, threads


def verdict(decoder, reference, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        return audit(decoder, reference)
    finally:
        torch.set_num_threads(before)


def alarm(report):
    """A correct decoder is an alarm where it is called wrong, or anything is suspected of it."""
    return report.exit_code == 1 or bool(report.suspects)


def test_no_correct_decoder_is_called_wrong():
    alarms, verdicts, strange = [], Counter(), []
    for about, decoder, reference, stored, threads in decoders(COUNT):
        report = verdict(decoder, reference, threads)
        verdicts[report.verdict, "stored in fewer bits" if stored else "exact"] += 1
        if alarm(report):
            alarms.append(f"{about}: {report.verdict}. {report.summary}")
        elif report.verdict not in (("rounding", "equal") if stored else ("equal",)):
            strange.append(f"{about}: {report.verdict}. {report.summary}")
    print(f"\n{len(alarms)} false alarms in {COUNT} correct decoders: below {3 / COUNT:.1%} with 95 % confidence")
    print(dict(verdicts), *strange, sep="\n")
    assert alarms == [] and len(strange) <= 0.05 * COUNT


def test_a_wrong_decoder_would_be_an_alarm():
    about, decoder, reference, _, _ = next(d for d in decoders(20) if "second" in d[0])
    wrong = {"where": lambda old: lambda d, T: old(d, T) + (torch.arange(T) > 0)}
    report = audit(Decoder(decoder.w, decoder.spec, changes=(wrong,)), reference, explain=False)
    assert alarm(report), about
