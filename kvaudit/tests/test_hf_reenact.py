"""Public bug reports re-enacted on `transformers` models: first that the logits move, then that the audit names the bug."""

import pytest
import torch

import hf_models
from kvaudit import audit
from kvaudit.hf import HFDecoder, HFReference
from kvaudit.hf.reenactments import REENACTMENTS
from kvaudit.plan import scripts
from kvaudit.play.run import missing, run
from kvaudit.subject import Uncached

IGNORED = {"CachePosition"}  # what the installed version does not honour


def effect(model, reenactment):
    """Largest difference in the logits to the correct decoder of the same kind, over all scripts; 0: it is ignored."""
    reference = Uncached.of(HFReference(model))
    plans = scripts(reference.block_size, reference.vocab_size, device=reference.device, window=reference.window)
    largest = 0.0
    for plan in plans:
        wrong, right = (d(model, **reenactment.options) for d in (reenactment.decoder, HFDecoder))
        if missing(plan, right):
            continue
        pairs = zip(run(plan, wrong).logits, run(plan, right).logits)
        largest = max([largest, *(float((a - b).abs().max()) for a, b in pairs)])
    return largest


@pytest.mark.parametrize("name", [n for n in REENACTMENTS if n not in IGNORED])
def test_the_audit_names_a_reenacted_bug(name):
    bug, model = REENACTMENTS[name], hf_models.model("gpt2")
    assert effect(model, bug) > 0.1, "the library ignores it: nothing is re-enacted"
    report = audit(bug.decoder(model, **bug.options), hf_models.reference("gpt2"))
    assert report.verdict == "differs" and report.exit_code == 1
    assert report.suspects[0].family == bug.family
    assert report.suspects[0].fault in bug.faults
    assert report.suspects[0].residual < 1e-9
    assert report.suspects[0].look in str(report) and "def test_cached_equals_uncached" in report.test


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("llama", "PositionZero"),
        ("mistral", "PositionPlusOne"),
        ("gemma2", "LastTokenAgain"),
        ("gemma3", "MaskDroppedInDecode"),
        ("qwen2 mixed", "CacheReusedPositionsNew"),
        ("qwen3", "BeamsNotReordered"),
    ],
)
def test_other_architectures_are_diagnosed_as_well(model, name):
    """Rotary positions, windows, mixed layers and capped scores; shared heads in all of them."""
    bug = REENACTMENTS[name]
    assert effect(hf_models.model(model), bug) > 0.1
    report = audit(bug.decoder(hf_models.model(model), **bug.options), hf_models.reference(model))
    assert report.verdict == "differs"
    assert (report.suspects[0].fault, report.suspects[0].family) == (bug.faults[0], bug.family)


@pytest.mark.parametrize("name", sorted(IGNORED))
def test_an_ignored_argument_is_reported_as_ignored(name):
    """Since `cache_position` left the signature, a wrong one vanishes among the keyword arguments: no logit moves."""
    bug, model = REENACTMENTS[name], hf_models.model("llama")
    assert bug.faults == ("ignored",)
    assert effect(model, bug) == 0
    assert audit(bug.decoder(model), hf_models.reference("llama"), explain=False).verdict == "equal"


def test_rotary_positions_hide_a_count_through_the_padding():
    """All positions of a row move alike: with rotary attention that is rounding, with learned positions a bug."""
    bug = REENACTMENTS["PositionThroughPadding"]
    assert 0 < effect(hf_models.model("llama"), bug) < 1e-4 < 0.1 < effect(hf_models.model("gpt2"), bug)
    report = audit(bug.decoder(hf_models.model("llama")), hf_models.reference("llama"), explain=False)
    assert report.verdict == "equal"


def test_the_shortest_case_of_a_padded_batch_compares_the_row_that_is_wrong():
    """Row 0 has no padding: a test that looked at it would pass on the bug."""
    model, exact = hf_models.model("llama"), hf_models.reference("llama").double()
    bug, space = REENACTMENTS["MaskDroppedInDecode"], {}
    exec(audit(bug.decoder(model), hf_models.reference("llama")).test, space)
    test = space["test_cached_equals_uncached"]
    test(HFDecoder(exact.model), exact.logits)
    with pytest.raises(AssertionError, match="differ by"):
        test(bug.decoder(exact.model), exact.logits)


def test_there_is_no_effect_without_a_bug():
    from kvaudit.hf.reenactments import Reenactment

    correct = Reenactment(HFDecoder, "nothing", "none", (), "none")
    assert effect(hf_models.model("llama"), correct) == 0


def test_a_bug_of_ones_own_is_named_with_the_place_to_look():
    """A decode step whose queries keep the position of the prompt's last token, written as someone would write it."""

    class MyDecoder:
        def __init__(self, model):
            self.model = model

        @torch.inference_mode()
        def prefill(self, tokens):
            out = self.model(tokens, use_cache=True)
            self.cache, self.last = out.cache, tokens.shape[1] - 1
            return out.logits[:, -1]

        @torch.inference_mode()
        def decode(self, token):
            at = torch.full((len(token), 1), self.last)
            return self.model(token[:, None], cache=self.cache, position_ids=at, use_cache=True).logits[:, -1]

    report = audit(MyDecoder(hf_models.model("llama")), hf_models.reference("llama"))
    assert report.verdict == "differs" and report.suspects[0].family == "position"
    assert "left padding" in {r.name for r in report.results if r.status == "not exercised"}


@pytest.mark.parametrize(
    ("name", "changes", "fault"),
    [
        ("mistral", {"sliding_window": 8}, "window_keeps_one_more"),
        ("mistral", {"sliding_window": None}, "window_ignored"),
        ("qwen2 mixed", {"sliding_window": 8}, "window_keeps_one_more"),
        ("qwen2 mixed", {"use_sliding_window": False}, "window_ignored"),
        ("gemma3", {"sliding_window": 6}, "window_keeps_one_less"),
    ],
)
def test_a_wrong_window_is_named_where_only_some_layers_slide(name, changes, fault):
    """The decoder runs the same weights with another window than the reference has."""
    other = hf_models.make(name, **changes)
    weights = hf_models.model(name).state_dict()
    assert all(torch.equal(p, weights[key]) for key, p in other.state_dict().items())
    report = audit(HFDecoder(other, "full"), hf_models.reference(name))
    assert report.verdict == "differs"
    assert (report.suspects[0].fault, report.suspects[0].family) == (fault, "window")
