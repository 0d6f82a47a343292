"""Models that show nothing, decoders that hang, waver or are still in training, folders that lie."""

import json
import os
import signal
import sys
import threading
import time

import pytest
import torch
from torch import nn

import hf_models
from kvaudit import assert_cached_equals_uncached, audit
from kvaudit.command import main
from kvaudit.play.limit import OutOfTime, limit
from toy import Toy, ToyDecoder


class AlwaysZero(ToyDecoder):
    """Feeds token 0, whatever it is given."""

    def prefill(self, tokens):
        return super().prefill(torch.zeros_like(tokens))


@pytest.mark.parametrize("decoder", [ToyDecoder, AlwaysZero])
def test_a_model_whose_logits_nothing_moves_proves_nothing(decoder):
    for dead in (Toy(size=0.0), nothing_but_a_bias()):
        report = audit(decoder(dead), dead)
        assert report.verdict == "inconclusive" and report.exit_code == 2
        assert "no injected fault moves these logits in one bit" in report.summary
        with pytest.raises(AssertionError, match="prove nothing"):
            assert_cached_equals_uncached(decoder(dead), dead)


def nothing_but_a_bias():
    """A last norm of zeros leaves its bias: the logits are the same for every token."""
    toy = Toy()
    toy.forward = lambda *given: Toy.forward(toy, *given) * 0 + torch.arange(11.0)
    return toy


def test_the_same_decoder_on_a_live_model_is_called_wrong():
    report = audit(AlwaysZero(Toy()), Toy())
    assert report.exit_code == 1 and report.verdict in ("differs", "unknown pattern")


def test_a_model_without_positions_is_judged_by_the_faults_that_move_it():
    toy = Toy()
    toy.places = toy.places * 0
    report = audit(ToyDecoder(toy), toy)
    assert report.verdict == "equal" and report.tolerance.fault > 1e-3
    assert "pos_plus1" in report.unseen  # no fault of this model


class Sleeper(ToyDecoder):
    def decode(self, token):
        time.sleep(60)


class Loop(ToyDecoder):
    def decode(self, token):
        while True:
            try:
                sum(range(1000))
            except Exception:  # noqa: BLE001 - a limit that is an Exception would be swallowed here
                pass


@pytest.mark.parametrize("decoder", [Sleeper, Loop])
def test_a_call_that_hangs_ends_the_audit_with_a_verdict_of_its_own(decoder):
    began = time.monotonic()
    report = audit(decoder(Toy()), Toy(), call_seconds=0.2)
    assert time.monotonic() - began < 20
    assert report.verdict == "no answer in time" and report.exit_code == 2
    assert "plain: decode gave no answer within 0.2 s" in report.summary
    assert all("an earlier call" in r.problem for r in report.results[1:])


def test_a_limit_leaves_timers_and_handlers_as_they_were():
    before = signal.getsignal(signal.SIGALRM)
    theirs = signal.setitimer(signal.ITIMER_REAL, 500)
    try:
        with limit(0.05), pytest.raises(OutOfTime):
            time.sleep(5)
        left, _ = signal.getitimer(signal.ITIMER_REAL)
        assert signal.getsignal(signal.SIGALRM) is before and 0 < left <= 500
    finally:
        signal.setitimer(signal.ITIMER_REAL, *theirs)


def test_in_another_thread_there_is_no_limit_and_no_error():
    reports = []
    thread = threading.Thread(target=lambda: reports.append(audit(ToyDecoder(Toy()), Toy(), explain=False)))
    thread.start()
    thread.join()
    assert reports[0].verdict == "equal"


class EverySeventhCall(ToyDecoder):
    calls = 0  # of all copies

    def prefill(self, tokens):
        type(self).calls += 1
        if self.calls % 7 == 0:
            raise OSError("busy")
        return super().prefill(tokens)


def test_a_decoder_that_breaks_off_now_and_then_is_not_deterministic():
    report = audit(EverySeventhCall(Toy()), Toy())
    assert report.verdict == "not deterministic"
    assert "decode raised OSError: busy, and another time the same calls went further" in report.summary


class Training(ToyDecoder):
    def __init__(self, toy):
        super().__init__(toy)
        self.dropout = nn.Dropout(0.5)

    def prefill(self, tokens):
        return self.dropout(super().prefill(tokens))


def test_a_dropout_that_is_still_on_is_named():
    report = audit(Training(Toy()), Toy())
    assert report.verdict == "not deterministic" and "call model.eval()" in report.summary
    still = Training(Toy())
    still.dropout.eval()
    assert audit(still, Toy()).verdict == "equal"


@pytest.fixture
def folder(tmp_path):
    hf_models.model("llama").save_pretrained(tmp_path / "m")
    return tmp_path / "m"


CODE = "open({!r}, 'w').close()\nclass Config: pass\n"


def lying(folder, model_type):
    """The folder's config names code of its own, which leaves a trace where it runs."""
    trace = folder / "it ran"
    (folder / "mine.py").write_text(CODE.format(str(trace)))
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": model_type,
        "auto_map": {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Config"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    return trace


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a terminal of its own needs a fork")
@pytest.mark.parametrize("model_type", ["no-such-type", "llama"])
def test_a_folders_code_is_never_run_not_even_if_somebody_says_yes(folder, model_type):
    """On a terminal the library would ask; here the answer is on its way already."""
    import pty

    trace = lying(folder, model_type)
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "kvaudit", str(folder), "--quick"])
    os.write(terminal, b"y\n" * 5)
    said = b""
    try:
        while piece := os.read(terminal, 4096):
            said += piece
    except OSError:  # the other end is closed
        pass
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert not trace.exists() and code == (0 if model_type == "llama" else 2), said.decode()
    assert (b"could not be loaded" in said) == (model_type != "llama")


def test_weights_that_are_no_numbers_are_refused(folder, capsys):
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"][3] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    assert main([str(folder)]) == 2
    assert "the weight model.norm.weight holds NaN or infinity" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_is_printed_all_the_same(folder, capsys, monkeypatch):
    target = folder.parent / "r.json"

    def full(self, *given, **options):
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr("pathlib.Path.write_text", full)
    assert main([str(folder), "--quick", "--json", str(target)]) == 2
    out, err = capsys.readouterr()
    assert out.startswith("Verdict: EQUAL") and f"audit: {target} could not be written: No space left" in err


MADE = """
from toy import Toy, ToyDecoder
def right(): return ToyDecoder(Toy()), Toy()
def bare(): return ToyDecoder(Toy())
def broken(): raise ZeroDivisionError("no weights")
"""


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("right", 0, "Verdict: EQUAL"),
        ("bare", 2, "pass reference="),
        ("broken", 2, "maker:broken raised ZeroDivisionError: no weights"),
        ("absent", 2, "maker:absent was not found from"),
    ],
)
def test_a_function_that_makes_a_decoder_is_audited(name, code, words, tmp_path, monkeypatch, capsys):
    (tmp_path / "maker.py").write_text(MADE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "maker", raising=False)
    assert main([f"maker:{name}", "--quick"]) == code
    assert words in "".join(capsys.readouterr())
