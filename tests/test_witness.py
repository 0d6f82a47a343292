"""The witness is a correct decoder until a rule is changed, and then a different one."""

import pytest
import torch

from helpers.hypotheses import catalogue
from helpers.model import Config, MiniGPT
from helpers.reference import MiniGPTReference
from helpers.scripts import expected, run, scripts
from helpers.witness import Witness

# Harmless in these configurations, for the reason given.
HARMLESS = {
    "rope": {"pos_uniform_shift": "a common shift of all positions cancels", "leftpad_arange_pos": "the same, per row"},
    "learned": {},
}


def reference(positions, window=None):
    torch.manual_seed(3)
    config = Config(37, block_size=48, n_layers=3, n_heads=6, n_kv_heads=2, d_model=48, d_ff=40, positions=positions)
    model = MiniGPT(config).double().eval()
    model.reset_parameters(0.2)
    return MiniGPTReference(model, window)


def gaps(ref, script, rules=None):
    trace = run(script, Witness(ref, rules), ref.vocab_size)
    return [float((a - b).abs().max()) for a, b in zip(trace.logits, expected(ref, script))], trace


@pytest.mark.parametrize("window", [None, 5])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rope"])
def test_the_unchanged_witness_equals_the_uncached_forward_in_every_script(positions, window):
    ref = reference(positions, window)
    for script in scripts(ref.block_size, ref.vocab_size, window=window, capacity=ref.block_size):
        found, trace = gaps(ref, script)
        answers = [c for c in script.calls if c.kind in ("prefill", "decode", "extend")]
        assert len(found) == len(answers) - script.ends, script.name
        assert max(found) < 1e-12, script.name
        assert bool(trace.problem) is script.ends


@pytest.mark.parametrize("positions", ["learned", "rope"])
def test_every_hypothesis_changes_some_logits_unless_it_is_harmless(positions):
    ref = reference(positions, window=5)
    made = scripts(ref.block_size, ref.vocab_size, window=5, capacity=20)
    silent = set()
    for h in catalogue(ref, capacities=[20]):
        if not any(gap > 1e-9 for script in made for gap in gaps(ref, script, h.rules)[0]):
            silent.add(h.fault)
    assert silent == set(HARMLESS[positions])


def test_double_faults_keep_both_rules():
    known = {h.words: h for h in catalogue(reference("learned"))}
    both = known["every decode step runs at position 0"] + known["in decode the query sees itself only"]
    assert set(both.rules) == {"position", "mask"}
    assert both.fault == "pos_zero + self_only" and both.family == "position + mask"
