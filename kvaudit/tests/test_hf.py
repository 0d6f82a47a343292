"""Any `transformers` causal language model: no false alarm, and a reference that says what it cannot do."""

import copy
import sys

import pytest
import torch
import transformers

import hf_models
from kvaudit import assert_cached_equals_uncached, audit, measure
from kvaudit.explain.probes import greedy
from kvaudit.hf import HFDecoder, HFReference, check_version
from kvaudit.hf.decoder import CACHES
from kvaudit.witness import attend, band

WITNESSED = ["gpt2", "llama", "qwen2", "qwen2 mixed", "qwen3", "mistral", "gemma", "gemma2", "gemma3", "mixtral"]
ROTARY = ["llama", "qwen2", "qwen2 mixed", "qwen3", "mistral", "gemma", "gemma2", "mixtral"]
NO_ROLLBACK = {  # sliding layers forget rows, so that a draft cannot be taken back
    (name, cache)
    for name in ("qwen2 mixed", "mistral", "gemma2", "gemma3", "gpt_oss")
    for cache in ("dynamic", "static")
}


def ids(*shape, seed=0):
    return torch.randint(61, shape, generator=torch.Generator().manual_seed(seed))


COMBINATIONS = [(name, cache) for name in hf_models.MODELS for cache in CACHES if (name, cache) != ("bloom", "static")]


@pytest.mark.parametrize(("name", "cache"), COMBINATIONS)
def test_a_correct_decoder_is_equal(name, cache):
    report = audit(HFDecoder(hf_models.model(name), cache), hf_models.reference(name), explain=False)
    assert report.verdict == "equal", str(report)
    left_out = {"rollback"} if (name, cache) in NO_ROLLBACK else set()
    assert {r.name for r in report.results if r.status == "not exercised"} == left_out
    ends = name == "gpt2" or (cache == "static" and name != "mistral")  # learned positions, or a row that never slides
    assert [r.name for r in report.results][8:] == (["last position"] if ends else [])


def test_a_combination_that_the_library_cannot_run_is_an_error_not_a_difference():
    """Bloom adds its position bias for the tokens seen, a static cache returns all its rows."""
    report = audit(HFDecoder(hf_models.model("bloom"), "static"), hf_models.reference("bloom"))
    assert report.verdict == "error in the decoder" and "prefill raised RuntimeError" in report.summary


def test_five_lines_are_enough():
    from kvaudit import audit
    from kvaudit.hf import HFDecoder

    report = audit(HFDecoder(hf_models.model("llama")))
    assert report.ok and report.exit_code == 0 and report.logic == "float64"
    assert report.caught >= 40 and report.certificate and 0.5 < report.arithmetic < 2
    assert "a second attention and mask" in str(report)


@pytest.mark.parametrize("name", WITNESSED)
def test_a_witness_can_attend_in_the_model(name):
    reference = hf_models.reference(name)
    assert hasattr(reference, "forward")
    assert reference.independent_difference(ids(2, 12)) < 1e-4


@pytest.mark.parametrize("name", ["bloom", "gpt_oss"])
def test_a_model_with_another_attention_gets_a_verdict_and_no_name(name):
    """Bloom has its own attention, gpt-oss has sinks in the softmax: no witness can stand in for it."""

    class LastTokenAgain(HFDecoder):
        def prefill(self, tokens, lengths=None):
            super().prefill(tokens, lengths)
            return self.extend(tokens[:, -1:])

    reference = hf_models.reference(name)
    assert not hasattr(reference, "forward")
    report = audit(LastTokenAgain(hf_models.model(name)), reference)
    assert report.verdict == "differs" and not report.suspects and report.first[1] == 0


def test_a_wrong_idea_of_the_attention_is_found_by_trying():
    for change in ({"windows": [None, None]}, {"softcap": None}, {"windows": [7, 7]}):
        wrong = copy.copy(hf_models.reference("gemma2"))
        assert wrong.agrees()
        vars(wrong).update(change)
        assert not wrong.agrees(), change


@pytest.mark.parametrize("name", WITNESSED)
def test_rotation_is_recognised_by_turning_keys(name):
    assert hf_models.reference(name).rotary == (name in ROTARY)


def test_a_wrong_rotation_is_not_taken_for_the_models():
    wrong = copy.copy(hf_models.reference("llama"))
    assert wrong.turns()
    wrong.rotary_module = type("Other", (), {"inv_freq": wrong.rotary_module.inv_freq * 1.5})
    assert not wrong.turns()


def test_the_positions_and_masks_of_the_reference_are_the_libraries():
    """forward at shifted positions equals the library's own pass with the same position_ids."""
    model, reference, tokens = hf_models.model("gpt2"), hf_models.reference("gpt2"), ids(2, 5)
    mask = band(5, 5)
    mine = reference.forward(tokens, torch.arange(5) + 3, lambda layer, q, k, v, scale: attend(q, k, v, scale, mask))
    with torch.inference_mode():
        theirs = model(input_ids=tokens, attention_mask=torch.ones(2, 5), position_ids=torch.arange(5)[None] + 3).logits
    torch.testing.assert_close(mine, theirs, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("name", ["gpt2", "mistral"])
def test_greedy_tokens_are_those_of_the_librarys_generate(name, cache):
    model, prompt = hf_models.model(name), ids(2, 9)
    mine = greedy(HFDecoder(model, cache), prompt, 12)
    theirs = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=12, min_new_tokens=12, do_sample=False
    )
    allowed = theirs[:, 9:]
    stopped = (mine == 2).cumsum(1).cumsum(1) > 1  # generate() suppresses the stop token; compare up to it
    assert torch.equal(mine[~stopped & (mine != 2)][:6], allowed[~stopped & (mine != 2)][:6])


@pytest.mark.parametrize("cache", CACHES)
def test_rows_are_shown_without_the_unwritten_ones(cache):
    decoder = HFDecoder(hf_models.model("llama"), cache)
    decoder.prefill(ids(3, 5))
    decoder.decode(ids(3))
    assert [tuple(x.shape) for pair in decoder.layers() for x in pair] == [(3, 2, 6, 6)] * 4


@pytest.mark.parametrize("cache", CACHES)
def test_padded_rows_keep_their_padding_when_beams_move(cache):
    """What the audit's scripts do not combine: ragged rows, another parent each, one rolled back, in one go."""
    model, lengths, parents = hf_models.model("gpt2"), torch.tensor([7, 3, 5]), torch.tensor([1, 2, 0])
    tokens, steps = ids(3, 7), ids(3, 2, seed=1)
    decoder = HFDecoder(model, cache)
    decoder.prefill(tokens, lengths=lengths)
    decoder.reorder(parents)
    decoder.decode(ids(3, seed=2))
    decoder.crop(7)
    decoder.decode(steps[:, 0])
    mine = decoder.decode(steps[:, 1])
    for row, parent in enumerate(parents):
        history = torch.cat([tokens[parent, 7 - lengths[parent] :], steps[row]])[None]
        right = hf_models.reference("gpt2").logits(history)[0, -1]
        torch.testing.assert_close(mine[row], right, atol=1e-5, rtol=1e-5)


def test_a_fork_goes_its_own_way_on_the_same_weights():
    decoder = HFDecoder(hf_models.model("llama"))
    decoder.prefill(ids(2, 5))
    twin = decoder.fork()
    assert twin.model is decoder.model and twin.cache is not decoder.cache
    twin.decode(ids(2))
    assert decoder.layers()[0][0].shape[2] == 5 and twin.layers()[0][0].shape[2] == 6


def test_dynamic_rotary_frequencies_are_different_by_specification():
    parameters = {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 4.0}
    model = hf_models.make("llama", rope_parameters=parameters, max_position_embeddings=16)
    inside = audit(HFDecoder(model), explain=False)
    assert inside.verdict == "equal"  # within the trained length nothing is recomputed
    beyond = audit(HFDecoder(model), HFReference(model, block_size=48))
    assert beyond.verdict == "different by specification" and beyond.ok
    assert "beyond 16 tokens" in beyond.summary


def test_bfloat16_is_judged_on_a_float64_copy():
    model = hf_models.make("llama").to(torch.bfloat16)
    report = audit(HFDecoder(model), explain=False)
    assert report.verdict == "equal" and report.logic == "float64" and report.dtype == "bfloat16"
    assert 0.5 < report.arithmetic < 2
    assert model.dtype == torch.bfloat16  # the copy is a copy


def test_without_float64_kernels_the_dtype_as_it_is_decides(monkeypatch):
    def no_kernel(model):
        raise RuntimeError("expected Float32, got Double")

    monkeypatch.setattr("kvaudit.hf.reference.in_float64", no_kernel)
    report = audit(HFDecoder(hf_models.model("llama")), HFReference(hf_models.model("llama")), explain=False)
    assert report.verdict == "equal" and report.logic == "float32 as it is (no float64 run)"


def test_float64_is_not_trusted_below_the_digits_of_float32_norms():
    exact = hf_models.reference("llama").double()
    assert exact.dtype == torch.float64 and exact.eps == torch.finfo(torch.float32).eps
    assert measure(exact).null > 1e-7


def test_an_audit_leaves_the_model_as_it_was():
    model = hf_models.make("gpt2")
    before = {name: p.clone() for name, p in model.state_dict().items()}
    attention = model.config._attn_implementation
    audit(HFDecoder(model))
    assert model.config._attn_implementation == attention and model.dtype == torch.float32
    assert all(torch.equal(p, before[name]) for name, p in model.state_dict().items())


def test_as_one_assertion_in_a_test():
    model = hf_models.model("gpt2")
    assert assert_cached_equals_uncached(HFDecoder(model), hf_models.reference("gpt2")).verdict == "equal"

    class PositionZero(HFDecoder):
        def position_ids(self, T):
            return torch.zeros_like(super().position_ids(T)) if T == 1 else super().position_ids(T)

    with pytest.raises(AssertionError) as failed:
        assert_cached_equals_uncached(PositionZero(model), hf_models.reference("gpt2"))
    assert "Verdict: DIFFERS" in str(failed.value) and "position 0" in str(failed.value)
    assert "def test_cached_equals_uncached" in str(failed.value)


@pytest.mark.parametrize("version", ["5.10.0", "5.24.0", "5.99.1.dev0"])
def test_versions_inside_the_range(version):
    check_version(version)


@pytest.mark.parametrize("version", ["4.57.1", "5.9.0", "6.0.0"])
def test_versions_outside_the_range_are_named(version):
    with pytest.raises(ImportError, match=rf'transformers {version} is installed.*5\.10.*pip install "transformers'):
        check_version(version)


def test_the_installed_version_is_checked(monkeypatch):
    monkeypatch.setattr(sys.modules["transformers"], "__version__", "4.57.1")
    with pytest.raises(ImportError, match="this adapter knows versions from 5.10"):
        HFDecoder(hf_models.model("gpt2"))


def no_head():
    return transformers.LlamaModel(transformers.LlamaConfig(**hf_models.SIZES)).eval()


def encoder_decoder():
    sizes = {"vocab_size": 31, "d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 8, "d_kv": 8}
    return transformers.T5ForConditionalGeneration(transformers.T5Config(**sizes)).eval()


def recurrent():
    return transformers.MambaForCausalLM(
        transformers.MambaConfig(vocab_size=31, hidden_size=16, num_hidden_layers=1)
    ).eval()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (no_head, "LlamaModel has no language model head"),
        (encoder_decoder, "is an encoder-decoder"),
        (recurrent, "keeps recurrent states"),
        (lambda: hf_models.make("gpt2").train(), "training mode.*call model.eval()"),
    ],
)
def test_what_cannot_be_decoded_with_keys_and_values_is_refused_in_words(make, words):
    with pytest.raises(ValueError, match=words):
        HFDecoder(make())


def test_misuse_of_the_decoder_is_said_in_words():
    model = hf_models.model("llama")
    with pytest.raises(ValueError, match="cache must be one of dynamic, full, static, not 'paged'"):
        HFDecoder(model, "paged")
    with pytest.raises(ValueError, match="call prefill before decode"):
        HFDecoder(model).decode(ids(2))
    static = HFDecoder(model, "static", capacity=5)
    static.prefill(ids(1, 5))
    with pytest.raises(ValueError, match="6 tokens do not fit: there is room for 5"):
        static.decode(ids(1))
