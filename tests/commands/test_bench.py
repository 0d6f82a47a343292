"""The benchmark's command line: what it prints and writes, its exit codes, and what it refuses before anything is timed."""

import json

import pytest

from helpers.bench.shapes import SHAPES
from helpers.bench.variants import CONCAT, DYNAMIC
from helpers.commands import bench as cli
from tests.bench.fabricated import CONFIG, made_up


@pytest.fixture(autouse=True)
def bench(monkeypatch):
    monkeypatch.setitem(SHAPES, "test", CONFIG)
    return made_up()


@pytest.fixture
def measured(monkeypatch, bench):
    """The command with this bench as what was measured; the plans that it was asked for."""
    plans = []
    monkeypatch.setattr(cli, "measure", lambda plan: plans.append(plan) or bench)
    return plans


def test_the_command_prints_and_writes(measured, tmp_path, capsys):
    assert cli.main(["--quick", "--json", str(tmp_path / "b.json"), "--plot", str(tmp_path / "b.png")]) == 0
    assert capsys.readouterr().out.startswith("# Decoding at the shape")
    assert json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))["growth"] == pytest.approx(1.5)
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
    assert measured[0].shape == "gpt2" and measured[0].lengths == (64, 256, 1024) and not measured[0].memory


def test_the_command_s_code_tells_a_wrong_variant_and_an_interruption(measured, bench, capsys):
    bench.refused = {DYNAMIC: "transformers is not installed"}
    assert cli.main([]) == 0
    bench.refused = {CONCAT: "its logits differ"}
    assert cli.main([]) == 1
    bench.partial = True
    assert cli.main([]) == cli.INTERRUPTED
    bench.steps = None
    assert cli.main([]) == cli.INTERRUPTED and "before anything was measured" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--lengths", "64", "2000"],
            "length 2000 cannot be measured: 24 rounds need at least 27 tokens, and the shape",
        ),
        (["--lengths", "16", "64"], "length 16 cannot be measured"),
        (["--lengths", "256", "64"], "rising"),
        (["--lengths", "64", "64"], "once each"),
        (["--rounds", "0"], "--rounds must be at least 1"),
        (["--threads", "-2"], "--threads must be at least 1"),
        (["--device", "abacus"], "--device 'abacus' cannot be used here"),
        (["--plot", "figure.jpg"], "--plot writes a .png file"),
        (["--json", "/no/such/folder/b.json"], "there is no folder /no/such/folder"),
    ],
)
def test_bad_options_are_refused_before_anything_is_measured(measured, arguments, words, capsys):
    assert cli.main(arguments) == 2
    assert words in capsys.readouterr().err and measured == []


def test_the_profile_is_of_our_step(capsys):
    assert cli.main(["--shape", "test", "--lengths", "30", "60", "--profile"]) == 0
    out = capsys.readouterr().out
    assert "## preallocated, length 30" in out and "## preallocated, length 60" in out and "| cache writes |" in out
