"""Correct decoders of all kinds, drawn at random and audited: what the tests of false alarms share."""

import os
import random
from collections import Counter

import torch

from kvaudit import audit

COUNT = int(os.environ.get("FALSE_ALARMS", 4))
DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64]


def decoders(drawn, count, seed=0):
    """(about, decoder, reference, stored in fewer bits, threads) of `count` decoders; `drawn(draw, dtype)` gives the first four."""
    draw = random.Random(seed)
    for n in range(count):
        dtype, threads = DTYPES[n % 4], 2 if n % 80 == 79 else 1  # two threads on two busy cores take minutes
        about, decoder, reference, stored = drawn(draw, dtype)
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


def assert_none_is_called_wrong(drawn):
    alarms, verdicts, strange = [], Counter(), []
    for about, decoder, reference, stored, threads in decoders(drawn, COUNT):
        report = verdict(decoder, reference, threads)
        verdicts[report.verdict, "stored in fewer bits" if stored else "exact"] += 1
        if alarm(report):
            alarms.append(f"{about}: {report.verdict}. {report.summary}")
        elif report.verdict not in (("rounding", "equal") if stored else ("equal",)):
            strange.append(f"{about}: {report.verdict}. {report.summary}")
    print(f"\n{len(alarms)} false alarms in {COUNT} correct decoders: below {3 / COUNT:.1%} with 95 % confidence")
    print(dict(verdicts), *strange, sep="\n")
    assert alarms == [] and len(strange) <= 0.05 * COUNT
