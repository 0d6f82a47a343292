"""The witness is a correct decoder until a rule is changed, and then a different one."""

import pytest
import torch

from helpers.model import Config, MiniGPT
from helpers.reference import MiniGPTReference
from kvaudit.plan import Call, Script, scripts
from kvaudit.play.history import expected
from kvaudit.play.run import run
from kvaudit.subject import Uncached
from kvaudit.witness import Replays, Witness, catalogue

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
    return Uncached.of(MiniGPTReference(model, window))


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


def everything():
    """A script with every kind of call in it, two requests, the second of them padded."""
    ids = torch.arange(40).reshape(2, 20) % 37
    feed = [Call("decode", ids[:, n]) for n in range(20)]
    first = [Call("prefill", ids[:, :4]), feed[4], Call("extend", ids[:, 5:8]), *feed[8:10], Call("crop", 8), feed[10]]
    first += [Call("reorder", torch.tensor([1, 0])), feed[11], Call("fork", "a")]
    first += [Call("decode", ids[:, 12], on="a"), feed[13], Call("decode", ids[:, 14], on="a")]
    return Script("everything", "", (*first, Call("prefill", ids[:, :5], torch.tensor([5, 3])), *feed[15:17]))


def assert_the_same_answers(replays, script, rules):
    logits, trace = [], run(script, Witness(replays.reference, rules))
    rows = replays.run(script, rules, lambda step, answer: logits.append(answer))
    assert len(logits) == len(trace.logits) and all(map(torch.equal, logits, trace.logits))
    assert rows == trace.rows


def test_calls_that_hypotheses_share_are_what_each_of_them_computes_alone():
    replays, script = Replays(reference("rope", window=5)), everything()
    known = [
        h for h in catalogue(replays.reference, capacities=[20]) if h.family != "rounding"
    ]  # those act in each call
    for h in known:
        assert_the_same_answers(replays, script, h.rules)
    calls = len(replays.kept)
    assert sum(call == 0 for _, call, _ in replays.kept) < 0.6 * len(known)  # the others share the first prefill
    for h in known:
        replays.run(script, h.rules)
    assert len(replays.kept) == calls  # nothing had to be computed again


@pytest.mark.parametrize("room", [0, 2e5])
def test_pairs_and_forgotten_calls_are_computed_again(room):
    replays = Replays(reference("rope", window=5), room)
    known = catalogue(replays.reference, capacities=[20])
    pairs = [a + b for a, b in zip(known[::5], known[3::5]) if not set(a.rules) & set(b.rules)]
    assert len(pairs) > 8
    for both in pairs:
        assert_the_same_answers(replays, everything(), both.rules)
        assert 0 <= replays.used <= room


def test_double_faults_keep_both_rules():
    known = {h.words: h for h in catalogue(reference("learned"))}
    both = known["every decode step runs at position 0"] + known["in decode the query sees itself only"]
    assert set(both.rules) == {"position", "mask"}
    assert both.fault == "pos_zero + self_only" and both.family == "position + mask"
