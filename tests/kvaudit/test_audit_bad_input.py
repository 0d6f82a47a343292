"""Decoders that break the rules of the call: the audit always answers with a report that says so, never with a traceback."""

import pytest
import torch

from helpers.audit import audit
from helpers.decoding import CachedDecoder
from helpers.model import Config, MiniGPT
from helpers.reference import MiniGPTReference
from tests.wide import wide

MODEL = wide(dtype=torch.float32, n_layers=2, n_heads=4, d_model=24, d_ff=32)
REFERENCE = MiniGPTReference(MODEL)


class Bad(CachedDecoder):
    """Right until its third step, where `spoil` changes the answer `[B, V]`."""

    def prefill(self, tokens):
        self.step = 0
        return super().prefill(tokens)

    def decode(self, token):
        self.step += 1
        answer = super().decode(token)
        return self.spoil(answer) if self.step == 3 else answer

    def spoil(self, answer):
        return answer


def first_time(method):
    """The same mistake, already made by prefill."""

    class FromTheStart(Bad):
        def prefill(self, tokens):
            return method(self, super().prefill(tokens))

    return FromTheStart


def raises(self, answer):
    raise KeyError("layers.0.k")


def exits(self, answer):
    raise SystemExit(3)


def nothing(self, answer):
    return None


def a_tuple(self, answer):
    return answer, None


def an_array(self, answer):
    return answer.numpy()


def with_time_axis(self, answer):
    return answer[:, None]


def one_token_short(self, answer):
    return answer[:, :-1]


def one_row_short(self, answer):
    return answer[:-1]


def a_scalar(self, answer):
    return answer.sum()


def not_a_number(self, answer):
    answer = answer.clone()
    answer[1, 0] = float("nan")
    return answer


def infinite(self, answer):
    return answer / 0


def on_meta(self, answer):
    return answer.to("meta")


def integers(self, answer):
    return answer.long()


def booleans(self, answer):
    return answer > 0


WORDS = {  # the mistake -> what the report must say
    raises: "raised KeyError: 'layers.0.k'",
    nothing: "returned NoneType where a tensor of logits [B, V] is expected",
    a_tuple: "returned tuple where",
    an_array: "returned ndarray where",
    with_time_axis: "returned shape [3, 1, 61], expected logits [B, V] = [3, 61]",
    one_token_short: "returned shape [3, 60], expected logits [B, V] = [3, 61]",
    one_row_short: "returned shape [2, 61], expected logits [B, V] = [3, 61]",
    a_scalar: "returned shape [], expected",
    not_a_number: "returned NaN in row 1",
    infinite: "infinity",
    on_meta: "logits on meta, the tokens are on cpu",
    integers: "returned torch.int64, expected floating-point logits",
    booleans: "returned torch.bool, expected floating-point logits",
}


def bad(mistake, when):
    return first_time(mistake) if when == "prefill" else type("AtStep3", (Bad,), {"spoil": mistake})


@pytest.mark.parametrize("when", ["prefill", "step 3"])
@pytest.mark.parametrize("mistake", WORDS, ids=lambda f: f.__name__)
def test_a_broken_answer_is_reported_in_words(mistake, when):
    report = audit(bad(mistake, when)(MODEL), REFERENCE)
    assert report.verdict == "error in the decoder" and report.exit_code == 1 and not report.ok
    plain = report.results[0]
    assert plain.status == "error" and WORDS[mistake] in plain.problem
    assert plain.problem.startswith("prefill" if when == "prefill" else "decode")
    assert len(plain.diffs) == (0 if when == "prefill" else 3)  # what came before is compared all the same
    assert WORDS[mistake] in str(report) and "Traceback" not in str(report)


def test_the_same_decoder_without_a_mistake_is_equal():
    assert audit(Bad(MODEL), REFERENCE, explain=False).verdict == "equal"


def test_a_decoder_that_calls_exit():
    report = audit(bad(exits, "step 3")(MODEL), REFERENCE)
    assert report.verdict == "error in the decoder" and "SystemExit" in report.summary


def test_an_interrupt_by_the_user_is_not_swallowed():
    def interrupt(self, answer):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(bad(interrupt, "prefill")(MODEL), REFERENCE)


def test_a_batch_that_grows_by_itself():
    class Doubles(CachedDecoder):
        def prefill(self, tokens):
            return super().prefill(tokens.repeat(2, 1))

    report = audit(Doubles(MODEL), REFERENCE)
    assert report.verdict == "error in the decoder"
    assert "returned shape [6, 61], expected logits [B, V] = [3, 61]" in report.summary


def test_answers_that_differ_from_run_to_run():
    class Random(CachedDecoder):
        def extend(self, tokens):
            answer = super().extend(tokens)
            return answer + torch.randn_like(answer)

    report = audit(Random(MODEL), REFERENCE)
    assert report.verdict == "not deterministic" and not report.suspects and report.exit_code == 1


@pytest.mark.parametrize(("method", "seen"), [("prefill", "prefill"), ("decode", "decode"), ("extend", "prefill")])
def test_a_decoder_that_changes_its_input(method, seen):
    def mutating(self, tokens, *args, **options):
        answer = getattr(CachedDecoder, method)(self, tokens, *args, **options)
        tokens.fill_(0)
        return answer

    report = audit(type("Mutates", (CachedDecoder,), {method: mutating})(MODEL), REFERENCE)
    assert not report.ok and report.verdict == "error in the decoder"
    assert f"{seen} changed its input" in str(report)


def test_the_script_is_not_spoiled_by_a_decoder_that_changes_its_input():
    class Mutates(CachedDecoder):
        def prefill(self, tokens):
            answer = super().prefill(tokens)
            tokens.zero_()
            return answer

    prompt = torch.arange(12).view(3, 4)
    audit(Mutates(MODEL), REFERENCE, prompt=prompt, explain=False)
    assert prompt.tolist() == torch.arange(12).view(3, 4).tolist()


class Twice(CachedDecoder):
    """Answers from one buffer, which the next call overwrites: each answer is right when it is given."""

    def extend(self, tokens):
        answer = super().extend(tokens)
        if not hasattr(self, "buffer") or self.buffer.shape != answer.shape or self.buffer.dtype != answer.dtype:
            self.buffer = torch.empty_like(answer)
        with torch.inference_mode():
            return self.buffer.copy_(answer)


def test_a_decoder_that_reuses_its_buffer_for_answers_is_equal():
    assert audit(Twice(MODEL), REFERENCE, explain=False).verdict == "equal"


@pytest.mark.parametrize("name", ["extend", "layers", "crop", "reorder", "fork"])
def test_a_broken_optional_call_ends_in_a_report(name):
    def broken(self, *args):
        raise RuntimeError("no such thing")

    report = audit(type("Broken", (CachedDecoder,), {name: broken})(MODEL), REFERENCE)
    assert report.verdict in ("equal", "error in the decoder")
    if name == "layers":
        assert report.verdict == "equal" and report.results[0].rows[0] is None
    else:
        assert "no such thing" in str(report)


def test_layers_of_another_form_are_left_out_of_the_report():
    odd = type("Odd", (CachedDecoder,), {"layers": lambda self: {"keys": 1}})
    report = audit(odd(MODEL), REFERENCE)
    assert report.verdict == "equal" and report.results[0].rows[0] is None


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("prefill only", lambda: type("Half", (), {"prefill": lambda self, tokens: MODEL(tokens)[:, -1]})()),
        ("no calls", lambda: object()),
        ("a number", lambda: 3),
        ("None", lambda: None),
        ("a function that raises", lambda: broken_maker),
        ("a class that cannot be made", lambda: CannotBeMade),
    ],
)
def test_what_is_no_decoder_is_said_in_words(name, make):
    try:
        report = audit(make(), REFERENCE)
    except (TypeError, ValueError) as error:
        assert "prefill" in str(error) and "decode" in str(error)
    else:
        assert not report.ok and ("decode" in str(report) or "could not be made" in str(report))


def broken_maker(model):
    raise ZeroDivisionError("no weights")


class CannotBeMade:
    def __init__(self, model):
        raise OSError("no such file")

    prefill = decode = None


@pytest.mark.parametrize(
    "options",
    [
        {"prompt": torch.zeros(2, 0, dtype=torch.long)},
        {"prompt": torch.tensor([1, 2])},
        {"prompt": torch.tensor([[1.0, 2.0]])},
        {"prompt": torch.tensor([[1, 99]])},
        {"prompt": torch.tensor([[1, 2]]), "tokens": torch.tensor([[1, 2], [1, 2]])},
        {"prompt": torch.zeros(1, 65, dtype=torch.long)},
        {"prompt": [[1, 2]]},
        {"prompt": torch.zeros(1, 60, dtype=torch.long), "tokens": torch.zeros(1, 5, dtype=torch.long)},
    ],
)
def test_a_bad_prompt_is_said_in_words(options):
    with pytest.raises(ValueError, match="prompt|tokens"):
        audit(CachedDecoder(MODEL), REFERENCE, **options)


@pytest.mark.parametrize("length", [57, 60, 63])
def test_a_long_prompt_is_no_error_of_the_decoder(length):
    prompt = torch.arange(length)[None] % 61
    report = audit(CachedDecoder(MODEL), REFERENCE, prompt=prompt, explain=False)
    assert report.verdict == "equal" and len(report.results[0].diffs) == 1 + min(7, 64 - length)


def with_block(block):
    model = MiniGPT(Config(61, block_size=block, n_layers=2, n_heads=4, d_model=24, d_ff=32)).eval()
    model.reset_parameters(std=0.2)
    return model


@pytest.mark.parametrize("block", [6, 7, 8, 9, 10, 11, 12, 15, 20])
def test_small_blocks_get_scripts_that_fit(block):
    report = audit(CachedDecoder(with_block(block)), explain=False)
    assert report.verdict == "equal", str(report)
    assert {r.name for r in report.results if r.status == "not exercised"} == {"left padding"}


def test_a_block_that_is_too_small_is_said_in_words():
    with pytest.raises(ValueError, match="room for 5 tokens only; an audit needs 6"):
        audit(CachedDecoder(with_block(5)))
