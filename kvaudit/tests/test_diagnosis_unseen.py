"""The audit on code that it has never seen: a second implementation with its own faults, mutants, pairs and outsiders.

Every wrong decoder must be flagged, nobody may be accused of another bug, and the catalogue's faults must be named. What
runs here is one network; `UNSEEN=full python -m pytest tests/test_diagnosis_unseen.py -s` runs them all (an hour) and
prints the figures with a line for each decoder that was not named.
"""

import os

import pytest
import torch

from kvaudit import audit
from kvaudit.bugs import BUGS
from second_implementation import cases, exercise
from second_implementation.decoder import Decoder
from second_implementation.faults import FAMILY, FAULTS
from second_implementation.mutants import DOUBLES, MUTANTS, OUTSIDE
from second_implementation.score import Row, rows, table

torch.set_num_threads(1)
FULL = os.environ.get("UNSEEN") == "full"
NETWORKS = {  # kind -> networks on which the full run measures it
    "catalogue": [(size, start, p) for size in cases.SIZES for start in cases.STARTS for p in ("learned", "pairs")],
    "mutants": [("small", "wide", "pairs"), ("small", "init", "learned"), ("large", "wide", "halves")],
    "outside": [("small", "wide", "pairs"), ("large", "init", "learned")],
    "doubles": [("small", "wide", "halves"), ("small", "init", "learned")],
}
BLIND = set()  # missed by every script; empty, and a new entry here is a finding
FEW = {  # what the short run lets the audit explain, besides the whole catalogue
    "mutants": {"position plus 2 in decode", "token fed twice", "frozen in the last layer"},
    "outside": {"values of one head lost"},
    "doubles": {"pos_zero + gqa_tile"},
}


def test_every_fault_has_its_words_and_its_family():
    assert {fault: BUGS[fault].family for fault in FAULTS} == FAMILY
    assert len(MUTANTS) >= 15 and len(DOUBLES) >= 20 and len(OUTSIDE) >= 5


@pytest.mark.parametrize("positions", ["learned", "halves", "pairs"])
def test_the_second_implementation_is_right(positions):
    w, spec = cases.network("small", "wide", positions)
    for needs in ({}, {"storage": "fixed"}, {"span": 8}):
        found = exercise.errors(cases.decoder(w, spec, needs))
        assert max(found.values()) < 1e-12, found


@pytest.mark.parametrize("kind", ["mutants", "outside", "doubles"])  # the catalogue's: in the next test
def test_every_wrong_decoder_is_flagged(kind):
    found = list(rows(kind, "small", "wide", "pairs", audit, explain=False))
    print("\n" + table([row for row in found if row.outcome == "missed"]))
    assert {row.name for row in found if row.outcome == "missed"} == BLIND & {row.name for row in found}
    assert sum(bool(row.changed) for row in found) > 0.8 * len(found)


@pytest.mark.parametrize("kind", cases.KINDS)
def test_faults_are_named_and_nobody_is_wrongly_accused(kind):
    networks = NETWORKS[kind] if FULL else [("small", "wide", "pairs")]
    found = [row for network in networks for row in rows(kind, *network, audit, None if FULL else FEW.get(kind))]
    print("\n" + table(found))
    assert [str(row) for row in found if row.outcome in ("missed", "wrong") and row.name not in BLIND] == []
    if kind == "catalogue":
        changed = [row for row in found if row.changed]
        assert sum(row.outcome == "named" for row in changed) >= 0.95 * len(changed)


def test_the_score_tells_a_right_name_from_a_wrong_one():
    w, spec = cases.network("small", "wide", "pairs")
    report = audit(Decoder(w, spec, changes=(FAULTS["pos_zero"],)), cases.references("small", "wide", "pairs")[None])
    assert Row("catalogue", "pos_zero", {"position"}, ["chat"], report).outcome == "named"
    assert Row("catalogue", "pos_zero", {"mask"}, ["chat"], report).outcome == "wrong"
    assert Row("doubles", "two", {"position", "mask"}, ["chat"], report).outcome == "partly"
    assert Row("catalogue", "harmless", {"position"}, [], report).outcome == "wrong"
