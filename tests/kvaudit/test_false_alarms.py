"""Correct decoders of the course's implementation: none may be called wrong.

A few run here. `FALSE_ALARMS=240 python -m pytest tests/kvaudit/test_false_alarms.py -s` runs 240 and prints the bound that
so many allow: none of n false alarms puts the rate below 3 / n with 95 % confidence (the rule of three).
"""

import torch

from correct_decoders import alarm, assert_none_is_called_wrong
from helpers.audit import MiniGPTReference, audit
from helpers.decoding import CachedDecoder
from helpers.faults import faulty
from helpers.faults.controls import CONTROLS, control
from tests.wide import wide

FEATURES = [None, "buffer", "window", "left padding"]


def drawn(draw, dtype):
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
        f"{positions} {heads} {kind}",
        decoder,
        MiniGPTReference(decoder.model, window),
        str(kind).startswith("cache in"),
    )


def test_no_correct_decoder_is_called_wrong():
    assert_none_is_called_wrong(drawn)


def test_a_wrong_decoder_would_be_an_alarm():
    model = wide("learned", torch.float32)
    assert alarm(audit(faulty(model, "pos_zero"), MiniGPTReference(model), explain=False))
