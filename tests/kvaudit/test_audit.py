"""The audit: every fault flagged and named, no correct decoder called wrong, every verdict reachable."""

import copy

import pytest
import torch

from helpers.audit import assert_cached_equals_uncached, audit
from helpers.decoding import CachedDecoder
from helpers.faults import CATALOGUE, faulty
from helpers.faults.controls import CONTROLS, control
from helpers.model import Config, MiniGPT
from helpers.reference import MiniGPTReference
from kvaudit.references import reference_for

HARMLESS = {("rope", "leftpad_arange_pos")}  # a shift of a whole row cancels in rotary attention
CAPACITY = 30  # of buffers: fewer rows than the block, so that the end of the buffer is met first


def build(positions, std=0.2, n_kv_heads=2):
    torch.manual_seed(0)
    config = Config(
        37, block_size=64, n_layers=4, n_heads=6, n_kv_heads=n_kv_heads, d_model=48, d_ff=64, positions=positions
    )
    model = MiniGPT(config).eval()
    model.reset_parameters(std)
    return model


MODELS = {positions: build(positions) for positions in ("learned", "rope")}
REFERENCES = {
    (positions, window): MiniGPTReference(model, window) for positions, model in MODELS.items() for window in (None, 8)
}


def judged(decoder, **options):
    """An audit against the reference of the decoder's model: what is measured on that is measured once for all tests."""
    shared = next((REFERENCES[positions, None] for positions, model in MODELS.items() if decoder.model is model), None)
    return audit(decoder, shared, **options)


def audited(positions, fault_id, **options):
    fault = CATALOGUE[fault_id]
    decoder = faulty(MODELS[positions], fault_id, capacity=CAPACITY if fault.needs == "buffer" else None)
    return audit(decoder, REFERENCES[positions, 8 if fault.needs == "window" else None], **options)


CASES = [("learned", f) for f in sorted(CATALOGUE) if CATALOGUE[f].fits(MODELS["learned"].config)]
CASES += [
    ("rope", f) for f in sorted(CATALOGUE) if CATALOGUE[f].family in ("rotary", "position", "ragged batch", "window")
]


@pytest.mark.parametrize(("positions", "fault_id"), CASES)
def test_every_fault_is_flagged_and_named_first(positions, fault_id):
    report = audited(positions, fault_id)
    if (positions, fault_id) in HARMLESS:
        assert report.verdict == "equal"
    elif (positions, fault_id) == ("rope", "pos_uniform_shift"):  # no logit moves, but positions run out early
        assert report.verdict == "error in the decoder" and "OutOfPositions" in report.summary
    else:
        assert report.verdict == "differs" and report.exit_code == 1
        assert report.suspects[0].fault == fault_id
        assert report.suspects[0].family == CATALOGUE[fault_id].family
        assert report.suspects[0].residual < 1e-9
        assert "Not explained" not in str(report)  # it reproduces every script that differs
        assert CATALOGUE[fault_id].look in str(report)


@pytest.mark.parametrize("name", CONTROLS)
@pytest.mark.parametrize("positions", ["learned", "rope"])
def test_controls_are_equal_or_rounding(positions, name):
    report = judged(control(MODELS[positions], name))
    stored = name.startswith("cache in ")
    assert report.verdict == ("rounding" if stored else "equal"), str(report)
    assert report.exit_code == 0 and not report.suspects
    if stored:
        assert name.removeprefix("cache in ") in report.summary


@pytest.mark.parametrize("feature", ["buffer", "window", "left padding"])
def test_correct_decoders_with_a_feature_are_equal(feature):
    report = audit(faulty(MODELS["learned"], feature=feature, capacity=33))
    assert report.verdict == "equal", str(report)
    assert report.max_abs_diff < 1e-12 and report.caught > 30


def test_a_pass_states_its_sensitivity_its_oracle_and_its_certificate():
    text = str(judged(CachedDecoder(MODELS["learned"])))
    assert "Verdict: EQUAL" in text and "would have caught" in text
    assert "not exercised: leftpad_arange_pos" in text  # the plain decoder has no prefill(lengths=)
    assert "independent (plain loops" in text and "greedy text is identical" in text


def test_the_shortest_case_is_a_test_that_fails_on_the_bug_and_passes_without_it():
    for fault_id in ("pos_restart", "frozen_cache", "chunk_top_left", "not_reset", "beam_no_reorder", "spec_no_crop"):
        report = audited("learned", fault_id)
        space = {}
        exec(compile(report.test, fault_id, "exec"), space)
        test, right = space["test_cached_equals_uncached"], REFERENCES["learned", None].double()
        test(CachedDecoder(right.model), right.logits)
        with pytest.raises(AssertionError, match="differ by"):
            test(faulty(right.model, fault_id), right.logits)


def test_the_shortest_case_of_a_position_fault_is_one_token_and_one_step():
    test = audited("learned", "pos_zero").test
    assert test.count("got.append") == 2 and "prefill(ids([[21]]))" in test
    assert len(test.splitlines()) <= 25


def test_two_faults_at_once_are_both_named():
    report = audit(faulty(MODELS["learned"], "frozen_cache", "pos_plus1"), REFERENCES["learned", None])
    assert report.suspects and {*report.suspects[0].fault.split(" + ")} == {"frozen_cache", "pos_plus1"}


class Mixed(CachedDecoder):
    """A bug that is in no catalogue: in decode, the second half of each vector of logits is reversed."""

    def decode(self, token):
        logits = super().decode(token)
        half = logits.shape[1] // 2
        return torch.cat([logits[:, :half], logits[:, half:].flip(1)], dim=1)


def test_a_bug_outside_the_catalogue_is_an_unknown_pattern():
    report = judged(Mixed(MODELS["learned"]))
    assert report.verdict == "unknown pattern" and not report.suspects and report.exit_code == 1


def test_without_a_tapped_forward_the_verdict_stands_and_nobody_is_accused():
    full = MiniGPTReference(MODELS["learned"])

    class LogitsOnly:
        def __init__(self, inner):
            self.inner, self.logits, self.model = inner, inner.logits, inner.model
            self.vocab_size, self.block_size = inner.vocab_size, inner.block_size
            self.dtype, self.device = inner.dtype, inner.device

        def double(self):
            return LogitsOnly(self.inner.double())

    assert audit(CachedDecoder(MODELS["learned"]), LogitsOnly(full)).verdict == "equal"
    report = audit(faulty(MODELS["learned"], "pos_zero"), LogitsOnly(full))
    assert report.verdict == "differs" and not report.suspects and report.first[1] == 1


def test_a_decoder_that_is_not_deterministic():
    class Noisy(CachedDecoder):
        def decode(self, token):
            return super().decode(token) + torch.randn(1)

    report = judged(Noisy(MODELS["learned"]))
    assert report.verdict == "not deterministic" and report.exit_code == 1


def test_an_oracle_that_contradicts_itself_judges_nobody():
    wrong = faulty(MODELS["learned"], "gqa_tile").model  # the bug is in the reference as well
    report = audit(CachedDecoder(wrong))
    assert report.verdict == "the oracles disagree" and report.exit_code == 2


def test_where_rounding_hides_the_faults_the_verdict_is_inconclusive():
    model = copy.deepcopy(build("learned", std=0.002)).bfloat16()  # logits of one size, and few bits to tell them
    report = audit(CachedDecoder(model), float64=False)
    assert report.verdict == "inconclusive" and report.exit_code == 2, str(report)


def test_bfloat16_has_its_logic_proved_in_float64_and_its_rounding_as_a_ratio():
    report = audit(CachedDecoder(copy.deepcopy(MODELS["rope"]).bfloat16()))
    assert report.verdict == "equal" and report.logic == "float64" and report.dtype == "bfloat16"
    assert 0.5 < report.arithmetic < 2


def test_a_bug_that_only_the_own_dtype_shows_is_no_rounding():
    class OnlyInFloat32(CachedDecoder):
        def decode(self, token):
            logits = super().decode(token)
            return logits.roll(1, dims=-1) if logits.dtype == torch.float32 else logits

    report = judged(OnlyInFloat32(MODELS["learned"]))
    assert report.verdict in ("differs", "unknown pattern") and report.exit_code == 1
    assert report.logic.startswith("float32") and "equal in float64" in str(report) and report.arithmetic > 1000


def test_coarse_arithmetic_in_the_own_dtype_is_rounding():
    class Coarse(CachedDecoder):
        def decode(self, token):
            logits = super().decode(token)
            return logits.bfloat16().float() if logits.dtype == torch.float32 else logits

    report = judged(Coarse(MODELS["learned"]))
    assert report.verdict == "rounding" and report.arithmetic > 3 and report.exit_code == 0


def test_a_loop_that_feeds_the_wrong_token_is_found_though_each_step_is_right():
    class OwnLoop(CachedDecoder):
        def generate(self, prompt, max_new_tokens):
            logits, tokens = self.prefill(prompt), []
            for _ in range(max_new_tokens):
                tokens.append(logits.argmax(dim=-1))
                logits = self.decode(prompt[:, -1])  # the prompt's last token again, not the one just written
            return torch.stack(tokens, dim=1)

    report = judged(OwnLoop(MODELS["learned"]))
    assert report.verdict == "differs" and "own loop" in report.summary and not report.test


def test_rows_that_reach_other_rows_and_pads_that_are_read_are_noted():
    class Mean(CachedDecoder):
        def decode(self, token):
            logits = super().decode(token)
            return logits + 1e-12 * logits.mean(dim=0)  # far below any tolerance, and yet another row's

    assert "rows are mixed" in str(audit(Mean(copy.deepcopy(MODELS["learned"]).double())))
    assert "rows are mixed" not in str(judged(CachedDecoder(MODELS["learned"])))
    decoder = faulty(MODELS["learned"], feature="left padding")
    assert "padding is read" not in str(audit(decoder))


def test_an_audit_gives_the_same_report_twice():
    first, second = audited("learned", "frozen_cache"), audited("learned", "frozen_cache")
    assert first.to_json() == second.to_json()


def test_an_audit_leaves_the_decoder_as_it_was():
    decoder = CachedDecoder(MODELS["learned"])
    prompt = torch.arange(6)[None]
    before = decoder.prefill(prompt)
    audit(decoder)
    assert decoder.cache.length == 6
    other = CachedDecoder(decoder.model)
    other.prefill(prompt)
    assert torch.equal(decoder.decode(before.argmax(-1)), other.decode(before.argmax(-1)))


def test_the_assertion_carries_the_report():
    assert assert_cached_equals_uncached(CachedDecoder(MODELS["learned"]), REFERENCES["learned", None]).ok
    with pytest.raises(AssertionError, match=r"decode counts .*from 0 again"):
        assert_cached_equals_uncached(faulty(MODELS["learned"], "pos_restart"), REFERENCES["learned", None])


def test_a_decoder_without_a_known_model_needs_a_reference():
    class Bare:
        def prefill(self, tokens):
            return tokens

    with pytest.raises(ValueError, match="pass reference="):
        reference_for(Bare())
