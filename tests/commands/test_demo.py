"""The demo: what it prints and writes is measured, and a decoder that is wrong shows."""

import json
import re

import pytest
import torch

from helpers import ledger
from helpers.commands import demo
from helpers.decoding import CachedDecoder, Oracle, generate

PROMPT = ledger.example(records=2, asked=1).prompt
SHORT = ["--new-tokens", "5"]


@pytest.fixture
def run(tmp_path, capsys):
    """Runs the demo in this process: (exit code, what it printed, what it wrote to its JSON file)."""

    def run(*options):
        file = tmp_path / "demo.json"
        code = demo.main([*options, "--json", str(file)])
        return code, capsys.readouterr().out, json.loads(file.read_text(encoding="utf-8"))

    return run


def greedy(positions, prompt, n):
    """Ids of the no-cache note, from the loops of decoding.py alone, and the length of the prompt."""
    model, ids = ledger.load(positions), ledger.parse_prompt(prompt).prompt_ids
    return generate(Oracle(model), ids, n, stop=ledger.TOKENIZER.stop).tokens[0].tolist(), ids.shape[1]


@pytest.mark.parametrize("positions", ["learned", "rope"])
def test_the_file_says_what_the_loops_say(run, positions):
    code, _, told = run("--prompt", PROMPT, "--positions", positions, *SHORT)
    tokens, T0 = greedy(positions, PROMPT, 5)
    assert code == 0 and told["exact"] is True
    assert told["tokens"] == tokens
    assert told["cache_lengths"] == [T0 + 4] * 4
    assert 0 < told["max_abs_diff"] < 1e-3


def test_a_whole_note_is_printed_twice_with_every_step(run):
    _, out, told = run("--prompt", PROMPT)
    note = ledger.parse_prompt(PROMPT).note
    assert out.count(note) == 2 and out.count("4 of 4 values are the asked records'):") == 2
    assert told["tokens"][-1] == ledger.TOKENIZER.stop
    T0, n = ledger.parse_prompt(PROMPT).prompt_ids.shape[1], len(told["tokens"])
    steps = re.findall(r"^ *(\d+) +(\d+)  (\d+ \d+ \d+ \d+) +≈ \S+ +yes$", out, flags=re.M)
    assert steps == [(str(k), str(T0 + k), " ".join([str(T0 + k)] * 4)) for k in range(n)]
    assert f"the same {n} tokens" in out and f"Time for {n} new tokens after a prompt of {T0}" in out


def test_a_line_break_may_be_written_as_backslash_n(run):
    assert run("--prompt", PROMPT.replace("\n", "\\n"), *SHORT)[2]["tokens"] == greedy("learned", PROMPT, 5)[0]


def test_a_decoder_that_is_wrong_shows_in_text_table_file_and_exit_code(run, monkeypatch):
    class Forgets(CachedDecoder):
        """Starts anew at every step: it only ever knows the last token."""

        def decode(self, token):
            return self.prefill(token[:, None])

    monkeypatch.setattr(demo, "CachedDecoder", Forgets)
    code, out, told = run("--prompt", PROMPT, *SHORT)
    assert code == 1 and told["exact"] is False
    assert told["max_abs_diff"] > 1 and told["cache_lengths"] == [1] * 4
    assert "NOT the same tokens" in out and re.search(r"\n +1 +\d+  1 1 1 1 +≈ \S+ +NO\n", out)
    assert "not a whole note" in out


def test_a_difference_that_is_not_a_number_is_not_passed_over():
    table = demo.StepTable(differences=[0.1, float("nan"), 0.2])
    made = demo.Generation(torch.zeros(1, 2), torch.zeros(1, 3), torch.zeros(1, 3, 5))
    told = demo.Demo(ledger.example(), "", made, made, [], table, {}).to_dict()
    assert told["max_abs_diff"] != told["max_abs_diff"]


def test_draws_depend_on_the_seed_and_are_the_same_with_and_without_cache(run):
    hot = ["--temperature", "5", "--top-k", "900", "--top-p", "0.99", *SHORT]
    first, again, other = (run("--seed", seed, *hot) for seed in ("1", "1", "2"))
    assert first[2]["exact"] and other[2]["exact"]
    assert first[2]["tokens"] == again[2]["tokens"] != other[2]["tokens"]
    assert "Drawn with temperature 5.0, top-k 900, top-p 0.99, seed 1." in first[1]


def test_one_likeliest_token_is_greedy(run):
    assert run("--temperature", "3", "--top-k", "1", *SHORT)[2] == run(*SHORT)[2]


def test_filters_without_a_temperature_are_said_to_change_nothing(run):
    assert (
        "Greedy (temperature 0): top-k 3 and top-p 0.5 change nothing."
        in run("--top-k", "3", "--top-p", "0.5", "--new-tokens", "1")[1]
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--prompt", "hello"], 'a prompt begins with the line "Ledger:"'),
        (["--prompt", ""], 'a prompt begins with the line "Ledger:"'),
        (["--prompt", PROMPT.replace("amount", "sum", 1)], "line 2: .* is not a record; one looks like"),
        (["--prompt", PROMPT.replace("Task: ", "Task: sing ")], 'line 4: .* is not "Task: trace|verify|report'),
        (
            ["--prompt", re.sub(r"EV-\d{4}", "EV-1\u0663\u0663\u0663", PROMPT, count=1)],
            r"no token fits ' EV-1.*line 2, column 2",
        ),
        (["--new-tokens", "0"], "--new-tokens must be at least 1, not 0"),
        (["--new-tokens", "900"], r"the block has 512; at most \d+ new tokens fit"),
        (["--temperature", "-1"], "temperature must be 0 .* not -1"),
        (["--temperature", "nan"], "temperature must be 0 .* not nan"),
        (["--temperature", "1", "--top-k", "0"], "top_k must be a whole number of at least 1"),
        (["--temperature", "1", "--top-k", "99999"], f"the vocabulary has only {ledger.TOKENIZER.vocab_size} tokens"),
        (["--temperature", "1", "--top-p", "1.5"], "top_p must be above 0 and at most 1, not 1.5"),
        (["--seed", "-1"], "--seed must be from 0"),
        (["--seed", str(2**63)], "--seed must be from 0"),
        (["--json", "no/such/folder/demo.json", "--new-tokens", "1"], "no/such/folder"),
    ],
)
def test_what_cannot_be_done_is_said_in_words(options, words, capsys):
    assert demo.main(options) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("demo: ") and re.search(words, err)


@pytest.mark.parametrize("options", [["--positions", "none"], ["--new-tokens", "few"], ["--what"]])
def test_an_option_that_does_not_exist_ends_with_2(options, capsys):
    with pytest.raises(SystemExit) as ended:
        demo.main(options)
    assert ended.value.code == 2 and "usage: python -m helpers demo" in capsys.readouterr().err


def test_rounds_take_turns():
    calls = []
    seconds = demo.interleaved({name: lambda name=name: calls.append(name) for name in "ab"}, rounds=3)
    assert calls == list("ababab")
    assert {name: len(took) for name, took in seconds.items()} == {"a": 3, "b": 3}


def test_rounds_that_lie_far_apart_are_said():
    assert demo.spread([1.0, 1.2, 1.1]) == ""
    assert demo.spread([1.0, 2.0, 1.1]) == "; unsteady: the slowest round took ≈ 2.0 × the fastest"
