"""Correct decoders of the second implementation: none may be called wrong.

A few run here. `FALSE_ALARMS=240 python -m pytest kvaudit/tests/test_false_alarms.py -s` runs 240 and prints the bound that
so many allow: none of n false alarms puts the rate below 3 / n with 95 % confidence (the rule of three).
"""

from dataclasses import replace

import torch

from correct_decoders import alarm, assert_none_is_called_wrong, decoders
from kvaudit import audit
from second_implementation import cases, storage
from second_implementation.decoder import Decoder


def drawn(draw, dtype):
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
    about = f"{size} {start} {spec.positions} {kind} {spec.kernel} {habit} {change}"
    return about, decoder, cases.Reference(w, spec), change in storage.FORMATS


def test_no_correct_decoder_is_called_wrong():
    assert_none_is_called_wrong(drawn)


def test_a_wrong_decoder_would_be_an_alarm():
    about, decoder, reference, _, _ = next(decoders(drawn, 1))
    wrong = {"where": lambda old: lambda d, T: old(d, T) + (torch.arange(T) > 0)}
    report = audit(Decoder(decoder.w, decoder.spec, changes=(wrong,)), reference, explain=False)
    assert alarm(report), about
