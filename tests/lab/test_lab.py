"""The widget shell and the two widgets of lesson 05, without a kernel or a front end."""

import re

import pytest
import torch

from helpers import lab
from helpers.decoding import CachedDecoder, Oracle, generate
from helpers.faults import CATALOGUE, faulty
from helpers.lab.fault_view import mark, trace_picture, verdict
from helpers.lab.faults import SAMPLES, used
from helpers.ledger import TOKENIZER, Example, check_note, example
from helpers.model import Config, MiniGPT

torch.set_num_threads(1)  # tiny sizes: more threads only get in each other's way
T0, N = 5, 4


def tiny(block_size=256, dtype=torch.float32):
    torch.manual_seed(0)
    config = Config(TOKENIZER.vocab_size, block_size, n_layers=2, n_heads=3, d_model=24, d_ff=48)
    model = MiniGPT(config)
    model.reset_parameters(std=0.2)
    return model.to(dtype).eval()


@pytest.fixture(scope="module")
def model():
    return tiny()


@pytest.fixture(scope="module")
def prompt():
    return torch.randint(1, TOKENIZER.vocab_size, (2, T0), generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def tokens(model, prompt):
    return generate(Oracle(model), prompt, N).tokens


# ---- the shell ----


def counting_panel(still=None):
    calls = []

    def show(n, word):
        calls.append((n, word))
        if n == 3:
            raise ZeroDivisionError("three <is> bad")
        return lab.View(f"{word} {n}", f"<svg>{n}</svg>")

    controls = {"n": lab.Step("n", 0, 3), "word": lab.Choice("word", {"One word": "a", "Another": "b"})}
    return lab.Panel("Counter", controls, show, still), calls


def test_a_panel_shows_sentence_and_picture_of_its_setting():
    panel, _ = counting_panel()
    assert repr(panel) == "Counter: a 0"
    panel.set(n=2, word="b")
    assert repr(panel) == "Counter: b 2"
    assert "b 2" in panel.area.value and "<svg>2</svg>" in panel.area.value


def test_a_setting_is_drawn_once_and_then_kept():
    panel, calls = counting_panel()
    for n in (1, 0, 1, 0):
        panel.set(n=n)
    assert calls == [(0, "a"), (1, "a")]


def test_an_error_is_drawn_in_the_panel_and_the_next_setting_works():
    panel, _ = counting_panel()
    panel.set(n=3)
    assert "ZeroDivisionError: three &lt;is&gt; bad" in panel.area.value
    assert "raised an error" in repr(panel)
    assert repr(panel.set(n=1)) == "Counter: a 1"


def test_an_error_while_building_is_raised():
    def broken(n):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        lab.Panel("Broken", {"n": lab.Step("n", 0, 1)}, broken)


def test_next_and_previous_move_one_step_and_stop_at_the_ends():
    panel, _ = counting_panel()
    slider, back, forth = panel.box.children[0].children
    back.click()
    assert slider.value == 0
    forth.click()
    forth.click()
    assert slider.value == 2 and "a 2" in panel.area.value
    back.click()
    assert slider.value == 1


def test_the_bundle_has_the_widget_the_text_and_the_still_picture():
    bundle = counting_panel(still=lambda: b"png")[0]._repr_mimebundle_()
    assert bundle["text/plain"] == "Counter: a 0"
    assert bundle["image/png"] == "cG5n"
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "image/png" not in counting_panel()[0]._repr_mimebundle_()


# ---- the step slider ----


@pytest.mark.parametrize(
    "step, expected", [(0, (6, 6, 0, 6, 6)), (1, (7, 1, 6, 7, 13)), (3, (9, 1, 8, 9, 6 + 7 + 8 + 9))]
)
def test_counts_of_a_step(step, expected):
    count = lab.count_step(6, step)
    assert (count.rows, count.new, count.reused, count.total_cached, count.total_uncached) == expected


def test_counts_are_what_the_model_projects(model, prompt, tokens):
    """The uncached total, counted where keys are made, equals the formula."""
    seen = []
    hook = model.blocks[0].attention.qkv.register_forward_hook(lambda _, given, __: seen.append(given[0].shape[1]))
    try:
        for decoder, total in ((Oracle(model), "total_uncached"), (CachedDecoder(model), "total_cached")):
            seen.clear()
            lab.compare(decoder, Oracle(tiny()), prompt, tokens)
            assert sum(seen) == getattr(lab.count_step(T0, N - 1), total)
    finally:
        hook.remove()


@pytest.mark.parametrize("bad", [(0, 1), (3, -1)])
def test_a_step_that_does_not_exist(bad):
    with pytest.raises(ValueError, match="at least"):
        lab.count_step(*bad)


def letters(svg):
    """Letters in the cells of one picture, row by row from the top: `{y: text}`."""
    rows = {}
    for y, letter in re.findall(r'<text [^>]*y="([\d.]+)"[^>]*>([nram])</text>', svg):
        rows[float(y)] = rows.get(float(y), "") + letter
    return list(rows.values())


def test_the_picture_of_a_step_marks_each_cell():
    view = lab.render_step(2, 1, last=1, row_bytes=10)
    cached, uncached = re.findall(r"<svg.*?</svg>", view.html)[:2]
    assert letters(cached) == ["rrn", "nnn"]  # the K/V strip, then the one new query
    assert letters(uncached) == ["aan", "amm", "aam", "nnn"]
    assert "30 bytes" in view.sentence and "30 bytes" in view.html
    assert "1 K/V row computed, 2 reused" in view.sentence and "3 against 5" in view.sentence


def test_the_step_panel_walks_through_all_its_steps():
    panel = lab.step_panel(3, 2, row_bytes=8)
    said = [repr(panel.set(step=step)) for step in range(3)]
    assert said[0].startswith("Step slider: Prefill") and len(set(said)) == 3
    assert panel.still().startswith(b"\x89PNG")


# ---- comparing with the oracle ----


def test_a_correct_decoder_equals_the_oracle_in_float64(prompt):
    model = tiny(dtype=torch.float64)
    tokens = generate(Oracle(model), prompt, N).tokens
    table = lab.compare(CachedDecoder(model), Oracle(model), prompt, tokens)
    assert max(table.differences) < 1e-12
    assert table.first_wrong(1e-12) is None
    assert table.lengths == [[T0 + step] * 2 for step in range(N)] and table.fed == [T0, T0 + 1, T0 + 2, T0 + 3]
    assert all(table.same_argmax) and "yes" in repr(table)


@pytest.mark.parametrize("fault, first", [("pos_restart", 1), ("attend_then_append", 1), ("not_reset", 0)])
def test_the_table_finds_the_first_wrong_step(model, prompt, tokens, fault, first):
    decoder = faulty(model, fault)
    decoder.prefill(prompt.flip(1))
    table = lab.compare(decoder, Oracle(model), prompt, tokens)
    assert table.first_wrong(1e-4) == first
    assert (table.lengths[-1][0] == table.fed[-1]) == (fault != "not_reset")


def test_a_nan_is_a_difference():
    assert lab.StepTable([0.0, float("nan")], [True, True], [[], []], [1, 2]).first_wrong(1.0) == 1


def test_a_decoder_that_runs_out_of_positions_ends_its_trace():
    model = tiny(block_size=T0 + 3)
    prompt = torch.ones(1, T0, dtype=torch.int64)
    decoder = faulty(model, "not_reset")
    decoder.prefill(prompt[:, :2])
    table = lab.compare(decoder, Oracle(model), prompt, torch.ones(1, 4, dtype=torch.int64))
    assert len(table.differences) == 2 and "outside" in table.error and "ended" in repr(table)
    assert table.first_wrong(float("inf")) == 2


def test_logits_of_another_shape_are_not_compared(model, prompt, tokens):
    class Row(CachedDecoder):
        def prefill(self, tokens):
            return super().prefill(tokens)[:1]

    with pytest.raises(ValueError, match=r"\[1, .*expected \[2, "):
        lab.compare(Row(model), Oracle(model), prompt, tokens)


# ---- break it ----


@pytest.fixture(scope="module")
def task():
    return example(records=2, asked=1, seed=0)


@pytest.mark.parametrize("chosen", [(), *((fault,) for fault in SAMPLES)])
def test_a_fault_report_says_what_the_decoder_did(model, task, chosen):
    report = lab.run_fault(model, task, chosen, tolerance=1e-4, max_new_tokens=6)
    expected = {(): None, ("not_reset",): 0}.get(chosen, 1)
    assert report.first_wrong == expected
    assert report.title == (CATALOGUE[chosen[0]].title if chosen else "correct")
    said = verdict(report)
    assert ("no step differs" in said) == (not chosen) and (f"first at step {expected}" in said) == bool(chosen)
    assert ("not the" in said) == (chosen == ("not_reset",))
    view = lab.render_fault(report)
    assert "Oracle (no cache)" in view.html and view.html.count("<tr>") == 3
    assert ("NOT equal" in view.html) == (chosen == ("not_reset",))


def report_on(task, note, differences=(1e-7, 2.0)):
    steps = range(len(differences))
    table = lab.StepTable(
        list(differences), [True for _ in steps], [[9 + s] * 2 for s in steps], [9 + s for s in steps]
    )
    return lab.FaultReport(
        "restarts at 0", task.note, note, check_note(task, task.note), check_note(task, note), table, 1e-4
    )


def test_wrong_values_carry_a_sign_and_a_frame(task):
    other = task.records[1 - task.asked[0]]
    note = task.note.replace(task.records[task.asked[0]].amount, other.amount)
    report = report_on(task, note)
    assert "has 1 wrong of 4 sensitive values (1 from another record)" in verdict(report)
    oracle, cached = lab.render_fault(report).html.split("Cached, restarts at 0")
    assert mark(other.amount, False) in cached and "&#10007;" not in oracle
    assert cached.split("a value as in the record")[0].count("solid") == 4  # three right values and the key


def test_the_verdict_of_a_right_and_of_a_broken_note(task):
    assert "all 4 sensitive values are right" in verdict(report_on(task, task.note))
    assert "not a sentence of this task" in verdict(report_on(task, "Wallet wallet wallet"))


def test_a_note_is_escaped(task):
    assert "<b>" not in lab.render_fault(report_on(task, "<b>bold</b>")).html


def test_the_trace_picture_tells_points_above_the_line_by_shape():
    svg = trace_picture([0.0, 1e-7, 1e-2, 5.0], 1e-4)
    assert svg.count("<circle") == 2 and svg.count("<rect") == 2 and "2 of 4 steps lie above" in svg


def test_the_fault_panel_runs_each_setting_once(task, monkeypatch):
    runs = []
    made = report_on(task, task.note)
    monkeypatch.setattr("helpers.lab.faults.run_fault", lambda *given: runs.append(given[2]) or made)
    panel = lab.fault_panel(None, {"two records": task}, 1e-4)
    for chosen in [("not_reset",), (), ("not_reset",)]:
        panel.set(fault=chosen)
    assert runs == [(), ("not_reset",)]
    assert [words for words, _ in panel.controls["fault"].options] == [
        "correct",
        *(CATALOGUE[f].title for f in SAMPLES),
    ]


def test_a_used_decoder_has_served_another_request(model):
    k, _ = used(model, ("not_reset",), batch=2).layers()[0]
    assert k.shape[0] == 2 and k.shape[2] > 10


def test_the_panel_hands_out_the_reports_behind_its_settings(task, monkeypatch):
    runs = []
    monkeypatch.setattr(
        "helpers.lab.faults.run_fault", lambda *given: runs.append(given[2]) or report_on(task, task.note)
    )
    panel = lab.fault_panel(None, {"two records": task}, 1e-4)
    assert panel.report("two records", ("not_reset",)) is panel.report("two records", ("not_reset",))
    assert runs == [(), ("not_reset",)]


def test_examples_are_what_the_panel_expects(task):
    assert isinstance(task, Example) and task.prompt_ids.dtype == torch.int64
