"""The audit in the terminal: a saved model in, a report, files and an exit code out."""

import json
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest
import torch
import transformers

import hf_models
import kvaudit.hf
from kvaudit import command as audit_cli
from kvaudit import targets
from kvaudit.hf.reenactments import PositionZero


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny-llama"
    hf_models.model("llama").save_pretrained(folder)
    return folder


def copied(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "copy")


@pytest.fixture
def wrong(monkeypatch):
    """The command builds a decoder that has a bug."""
    monkeypatch.setattr(kvaudit.hf, "HFDecoder", PositionZero)


def test_a_right_model_prints_a_report_and_exits_with_0(saved, tmp_path, capsys):
    files = {kind: tmp_path / f"report.{kind}" for kind in ("json", "xml")}
    code = audit_cli.main([str(saved), "--json", str(files["json"]), "--junit", str(files["xml"])])
    printed = capsys.readouterr().out
    assert code == 0
    assert printed.startswith("Verdict: EQUAL.") and "second request" in printed and "sensitivity" in printed
    report = json.loads(files["json"].read_text())
    assert report["verdict"] == "equal" and len(report["scripts"]) == 8 and report["caught"] > 40
    suite = ElementTree.parse(files["xml"]).getroot()
    assert suite.tag == "testsuite" and suite.attrib["tests"] == "9"
    assert (suite.attrib["failures"], suite.attrib["errors"], suite.attrib["skipped"]) == ("0", "0", "0")
    assert [c.attrib["name"] for c in suite] == [s["name"] for s in report["scripts"]] + ["verdict"]
    assert {c.attrib["classname"] for c in suite} == {"audit.tiny-llama"}
    assert "Verdict: EQUAL" in suite[-1].find("system-out").text


def test_a_wrong_decoder_exits_with_1_and_fails_case_by_case(saved, tmp_path, capsys, wrong):
    out = tmp_path / "report.xml"
    assert audit_cli.main([str(saved), "--junit", str(out)]) == 1
    assert "Suspect 1: every decode step runs at position 0" in capsys.readouterr().out
    suite = ElementTree.parse(out).getroot()
    failed = {c.attrib["name"]: c.find("failure").attrib["message"] for c in suite if c.find("failure") is not None}
    assert failed.keys() == {c.attrib["name"] for c in suite} and suite.attrib["failures"] == str(len(suite)) == "9"
    assert failed["plain"].startswith("differs by ") and "from step 1, row 0 on" in failed["plain"]
    assert "position 0" in failed["verdict"] and "look at:" in failed["verdict"]


def test_what_rounding_hides_exits_with_2(saved, monkeypatch, capsys, tmp_path):
    from kvaudit import Tolerance

    out = tmp_path / "report.xml"
    monkeypatch.setattr("kvaudit.judge.verdict.measure", lambda reference: Tolerance(0.5, 0.6, 20, 6))
    assert audit_cli.main([str(saved), "--quick", "--junit", str(out)]) == 2
    assert "Verdict: INCONCLUSIVE" in capsys.readouterr().out
    failures = [c.attrib["name"] for c in ElementTree.parse(out).getroot() if c.find("failure") is not None]
    assert failures == ["verdict"]  # no script is wrong, and still nothing is proved


def test_scripts_that_were_not_run_are_skipped_cases(tmp_path, capsys):
    hf_models.model("mistral").save_pretrained(tmp_path / "m")
    out = tmp_path / "report.xml"
    assert audit_cli.main([str(tmp_path / "m"), "--cache", "static", "--quick", "--junit", str(out)]) == 0
    skipped = {c.attrib["name"] for c in ElementTree.parse(out).getroot() if c.find("skipped") is not None}
    assert skipped == {"rollback"}


def test_control_characters_do_not_break_the_xml(tmp_path):
    from kvaudit import Report, Tolerance
    from kvaudit.judge import Result
    from kvaudit.report import junit

    broken = Result("plain", "one", "error", problem="decode raised ValueError: \x1b[31m<red> & \x00")
    report = Report("error in the decoder", "\x07", "float32", 0.0, Tolerance(1e-6, 1.0, 1, 1), [broken])
    junit(report, "m").write(tmp_path / "r.xml", encoding="utf-8", xml_declaration=True)
    assert ElementTree.parse(tmp_path / "r.xml").getroot()[0][0].attrib["message"].endswith("[31m<red> & ")


def test_dtype_prompt_and_cache_are_honoured(saved, monkeypatch, tmp_path):
    out = tmp_path / "r.json"
    ids = ["7", "8", "9", "10"]
    options = ["--dtype", "bfloat16", "--cache", "static", "--capacity", "20", "--quick", "--prompt-ids", *ids]
    assert audit_cli.main([str(saved), *options, "--json", str(out)]) == 0
    report = json.loads(out.read_text())
    assert report["dtype"] == "bfloat16" and "last position" in [s["name"] for s in report["scripts"]]
    seen, real = [], audit_cli.audit

    def spy(decoder, reference, **options):
        seen.append((decoder, options))
        return real(decoder, reference, **options)

    monkeypatch.setattr(audit_cli, "audit", spy)
    assert audit_cli.main([str(saved), *options, "--seed", "5", "--float64", "never"]) == 0
    ((decoder, given),) = seen
    assert decoder.kind == "static" and decoder.capacity == 20 and decoder.model.dtype == torch.bfloat16
    assert given["prompt"].tolist() == [[7, 8, 9, 10]] and given["seed"] == 5 and given["float64"] is False


def test_the_float64_copy_is_left_out_where_memory_is_short(saved, capsys, monkeypatch):
    monkeypatch.setattr(targets, "free_memory", lambda device: 1000)
    assert audit_cli.main([str(saved), "--quick"]) == 0
    printed = capsys.readouterr().out
    assert "float32 as it is (no float64 run)" in printed and "--float64 always makes it anyway" in printed
    assert audit_cli.main([str(saved), "--quick", "--float64", "always"]) == 0
    assert "decided by   float64" in capsys.readouterr().out


def not_causal(folder):
    sizes = {"vocab_size": 31, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    transformers.BertForMaskedLM(transformers.BertConfig(**sizes, intermediate_size=8)).save_pretrained(folder)


def broken_weights(folder):
    (folder / "model.safetensors").write_bytes(b"\x00" * 64)


def lost_layer(folder):
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    kept = {name: w for name, w in weights.items() if "layers.1.self_attn" not in name}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})


DAMAGE = {  # what is wrong with the folder -> (what does it, what is said)
    "no folder": (shutil.rmtree, "there is no folder"),
    "no config": (lambda f: (f / "config.json").unlink(), "has no config.json"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "has a config.json but no weights"),
    "bad config": (lambda f: (f / "config.json").write_text("{"), "could not be loaded"),
    "unknown model": (lambda f: (f / "config.json").write_text('{"model_type": "no-such"}'), "could not be loaded"),
    "bad weights": (broken_weights, "could not be loaded"),
    "lost layer": (lost_layer, "4 weights are missing and would be random (model.layers.1.self_attn"),
    "not causal": (not_causal, "holds a BertForMaskedLM, which is not a causal language model"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_folder_that_cannot_be_used_is_explained(damage, saved, tmp_path, capsys):
    folder = copied(saved, tmp_path)
    harm, words = DAMAGE[damage]
    harm(folder)
    assert audit_cli.main([str(folder)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("audit: ") and words in err and str(folder) in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--prompt-ids", "3", "61"], "prompt holds ids outside the vocabulary of 61"),
        (["--prompt-ids", *["3"] * 64], "a prompt of 64 tokens and 1 more do not fit"),
        (["--device", "nowhere"], "--device 'nowhere' cannot be used here"),
        (["--device", "meta"], "--device 'meta' cannot be used here: tensors there have a shape and no values"),
        (["--capacity", "0", "--cache", "static"], "--capacity must be at least 1, not 0"),
        (["--seed", str(2**70)], "--seed must be from"),
        (["--call-seconds", "0"], "--call-seconds must be above 0"),
        (["--json", "/"], "/ cannot be written: it is a folder"),
        (["--junit", "/no/such/folder/r.xml"], "cannot be written: no folder /no/such/folder"),
        (["--capacity", "3", "--cache", "static"], "there is room for 3 tokens only"),
    ],
)
def test_options_that_do_not_fit_the_model_are_explained(options, words, saved, capsys):
    assert audit_cli.main([str(saved), *options]) == 2
    assert words in capsys.readouterr().err


def test_without_transformers_the_way_to_get_it_is_named(saved, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert audit_cli.main([str(saved)]) == 2
    assert 'pip install "transformers>=' in capsys.readouterr().err


def test_another_version_of_transformers_is_named(saved, capsys, monkeypatch):
    monkeypatch.setattr(sys.modules["transformers"], "__version__", "4.40.0")
    assert audit_cli.main([str(saved)]) == 2
    assert "transformers 4.40.0 is installed; this adapter knows versions from" in capsys.readouterr().err


def test_unknown_options_show_the_usage(capsys):
    with pytest.raises(SystemExit) as stopped:
        audit_cli.main(["somewhere", "--cache", "paged"])
    assert stopped.value.code == 2 and "--cache" in capsys.readouterr().err


def test_the_network_is_not_asked(saved, monkeypatch):
    """A name that is no folder is refused before any library sees it, and a folder is read with local files only."""
    import socket

    def connect(*args):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", connect)
    assert audit_cli.main([str(saved), "--quick"]) == 0
    assert audit_cli.main(["gpt2"]) == 2


def test_the_command_in_a_shell(saved):
    done = subprocess.run(
        [sys.executable, "-m", "kvaudit", str(saved), "--quick"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Verdict: EQUAL.") and done.stderr == ""
