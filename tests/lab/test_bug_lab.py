"""The bug lab without a kernel or a front end: every fault, pairs, prompts, the words, the controls."""

import re
from itertools import combinations

import pytest
import torch

from helpers import lab
from helpers.decoding import CachedDecoder, Oracle, generate, teacher_forced
from helpers.faults import CATALOGUE, faulty
from helpers.lab import bug_panel, bugs, findings, panel
from helpers.lab.bug_view import text_verdict, view
from helpers.lab.calls import EARLIER, decode_both, setting_of
from helpers.lab.toggles import OWN
from helpers.lab.values import values_in
from helpers.ledger import TOKENIZER, check_note, example

torch.set_num_threads(1)  # tiny sizes: more threads only get in each other's way
KNOWN = bugs.applicable()
ROPE_ONLY = {"rope_again", "rope_query_restarts"}
HARMLESS = {("pos_uniform_shift", "rope")}
ROWS_DIFFER = {
    *("refeed_last_prompt_token", "refeed_everything", "decode_row_twice", "frozen_cache", "not_reset"),
    *("layers_share_list", "spec_no_crop", "clamp_overflow", "window_keeps_one_more"),
}


# ---- run and render ----


def test_what_is_left_out_needs_several_sequences_or_shared_heads():
    left_out = set(CATALOGUE) - set(KNOWN)
    assert {CATALOGUE[id].family for id in left_out} == {"shared heads", "ragged batch", "beams", "aliasing"}


@pytest.mark.parametrize("positions", ["learned", "rope"])
def test_the_correct_decoder_writes_the_oracles_note(positions):
    for task in (lab.TWO, lab.FIVE):
        report = lab.run(task, positions=positions)
        assert report.first_wrong is None and max(report.table.differences) < report.floor < report.tolerance
        assert report.note == report.oracle_note and not report.fields.wrong
        assert "values of the note are right." in report_words(report)


def report_words(report):
    return view(report).sentence


@pytest.mark.parametrize("positions", ["learned", "rope"])
@pytest.mark.parametrize("id", KNOWN)
def test_every_fault_moves_the_logits_and_is_drawn(id, positions):
    if id in ROPE_ONLY and positions == "learned":
        with pytest.raises(ValueError, match=f'"{CATALOGUE[id].title}" exists with rotary positions only'):
            lab.run(lab.TWO, [id], positions=positions)
        return
    report = lab.run(lab.TWO, [id], positions=positions)
    assert (report.first_wrong is None) == ((id, positions) in HARMLESS)
    held = any(rows != fed for step, fed in zip(report.table.lengths, report.table.fed) for rows in step)
    assert held == (id in ROWS_DIFFER)
    page = lab.render(report)
    assert page.count("<svg") == 1 and f"Cached, {CATALOGUE[id].title}" in page
    assert ("NOT equal" in page) == held and ("rows where" in page) == held
    wrong = len(report.fields.wrong) + len(report.oracle_fields.wrong)  # with a window, the oracle has one too
    assert page.split("a value as in the record")[0].count("&#10007;") == wrong


@pytest.mark.parametrize(
    "id, words",
    [
        ("pos_zero", "Calls: one prompt, then one token at a time."),
        ("chunk_top_left", "Calls: a prompt in three pieces."),
        ("not_reset", "Calls: another request before this one, on the same decoder."),
        ("clamp_overflow", "a buffer of "),
        ("window_keeps_one_more", "a window of "),
        ("spec_no_crop", "the second of them rejected"),
    ],
)
def test_the_panel_says_which_calls_were_made(id, words):
    assert words in lab.render(lab.run(lab.TWO, [id], steps=24))


def test_a_chunk_fault_is_harmless_where_the_prompt_is_fed_whole():
    """The setting makes the difference, not the fault alone."""
    tokens, logits = bugs.oracle(lab.TWO, 24, "learned")
    decoder = faulty(bugs.ledger_model("learned"), "chunk_top_left")
    for setting, wrong in ((setting_of((), 1), False), (setting_of(("chunk_top_left",), 1), True)):
        seen = decode_both(decoder, lab.TWO.prompt_ids, tokens, 24, setting).compared(logits)
        assert (max(seen["differences"]) > bugs.tolerance_of("learned").value) == wrong


@pytest.mark.parametrize(
    "pair", list(combinations(("pos_restart", "attend_then_append", "not_reset", "chunk_top_left"), 2))
)
def test_a_pair_is_neither_of_its_halves(pair):
    both = lab.run(lab.TWO, pair, steps=24)
    assert both.title == " and ".join(CATALOGUE[id].title for id in pair)
    for one in pair:
        assert lab.run(lab.TWO, [one], steps=24).table.differences != both.table.differences
    assert all(scenario in both.setting.scenarios for scenario in {CATALOGUE[id].scenario for id in pair} - {"plain"})


@pytest.mark.parametrize(
    "pair, reason",
    [
        (("pos_restart", "pos_zero"), '"restarts at 0" and "always at 0" cannot be combined: both replace positions()'),
        (("clamp_overflow", "evict_pos_rows"), "a decoder has one kind of cache"),
        (("value_is_key", "tail_unmasked"), '"value is the key" cannot be combined with a buffer'),
    ],
)
def test_two_that_cannot_be_combined_are_refused_in_the_words_of_the_toggles(pair, reason):
    with pytest.raises(ValueError, match="Leave one of them out.") as error:
        lab.run(lab.TWO, pair)
    assert reason in str(error.value)


def test_the_headline_prompts_show_what_they_were_chosen_for():
    for task in (lab.TWO, lab.FIVE):
        restart = lab.run(task, ["pos_restart"])
        assert restart.fields.fits_template and any(
            v.name == "amount" and v.record_of is not None for v in restart.fields
        )
        assert "reads well, but" in text_verdict(restart)
    moved = lab.run(lab.FIVE, ["pos_zero"])
    assert (
        moved.first_wrong == 1 and moved.note == moved.oracle_note and "the text hides the bug" in report_words(moved)
    )


@pytest.mark.parametrize("steps", [1, 24, lab.WHOLE])
def test_the_number_of_tokens(steps):
    report = lab.run(example(5, 5, 8), ["pos_plus1"], steps)
    assert len(report.table.differences) <= steps
    assert report.oracle_fields.fits_template == (steps == lab.WHOLE)
    assert (" …</div>" in lab.render(report)) == (steps != lab.WHOLE)


@pytest.mark.parametrize("ids", [(), ("pos_restart",), ("attend_then_append",)])
def test_both_rows_say_what_two_separate_runs_say(ids):
    """The trick of the lab: one batch of a forced and a free row, against the plain loops."""
    model, prompt, report = bugs.ledger_model("learned"), lab.FIVE.prompt_ids, lab.run(lab.FIVE, ids)
    free = generate(faulty(model, *ids), prompt, 48, stop=TOKENIZER.stop).tokens
    assert report.note == TOKENIZER.decode(free[0])
    right = generate(Oracle(model), prompt, 48, stop=TOKENIZER.stop)
    assert report.oracle_note == TOKENIZER.decode(right.tokens[0])
    forced = teacher_forced(faulty(model, *ids), prompt, right.tokens)
    apart = (forced - right.logits).double().abs().amax(-1)[0]
    assert torch.allclose(torch.tensor(report.table.differences, dtype=torch.float64), apart, atol=report.floor * 2)


def test_an_oracle_that_refuses_the_draft_writes_by_itself(monkeypatch):
    right = bugs.oracle(lab.TWO, 8, "learned")[0]
    monkeypatch.setattr(bugs, "faulty", lambda model: faulty(model, "value_is_key"))
    drafted = generate(faulty(bugs.ledger_model("learned"), "value_is_key"), lab.TWO.prompt_ids, 8).tokens[0]
    assert not torch.equal(drafted, right)  # the draft is wrong, and must not be taken
    assert torch.equal(bugs.oracle.__wrapped__(lab.TWO, 8, "learned")[0], right)


def test_running_out_of_positions_ends_the_trace_in_words():
    report = lab.run(lab.FIVE, ["refeed_everything"])
    assert "outside this model's 512 positions" in report.table.error
    assert 0 < len(report.table.differences) < 10 and "<svg" in lab.render(report)


@pytest.mark.parametrize(
    "text, words",
    [
        ("Hello", "a prompt begins with"),
        (lab.TWO.prompt.replace("amount", "sum", 1), "line 2: "),
        (lab.TWO.prompt.replace("trace", "judge"), "Task:"),
    ],
)
def test_a_prompt_of_another_form_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        lab.run(text)


def test_a_prompt_may_be_text():
    assert lab.run(lab.TWO.prompt, steps=24).oracle_note == lab.run(lab.TWO, steps=24).oracle_note
    assert lab.TWO != EARLIER


# ---- values and verdicts ----


def test_values_of_a_note_that_fits_are_check_notes():
    assert values_in(lab.TWO, lab.TWO.note) == check_note(lab.TWO, lab.TWO.note)


def test_values_behind_what_fits_are_held_against_the_record_asked_for():
    record, other = (lab.TWO.records[place] for place in lab.TWO.asked)
    found = values_in(lab.TWO, f"of {other.amount}, {other.amount} and {record.date}, 99,990 EUR")
    assert [value.name for value in found] == ["amount", "amount", "date", "amount"]
    assert [value.right for value in found] == [False, True, True, False]
    assert found[0].record_of == lab.TWO.asked[1] and found[3].expected == "" and found[3].record_of is None


def test_a_note_that_was_cut_is_fluent_up_to_its_last_value():
    cut = lab.run(lab.TWO, ["pos_restart"], steps=30)
    assert not cut.oracle_fields.fits_template and "reads well" in text_verdict(cut)
    assert "loses its form" in text_verdict(lab.run(lab.TWO, ["value_is_key"], steps=30))


# ---- the audit ----


@pytest.mark.parametrize("id", [None, "pos_restart", "value_is_key"])
def test_the_audit_names_the_fault(id):
    finding = lab.audited((id,) if id else ())
    assert finding.verdict == ("differs" if id else "equal")
    assert [CATALOGUE[id].look] == [look for _, look in finding.suspects] if id else not finding.suspects
    assert "≈" in finding.summary and not re.search(r"(?<!≈ )\b\d+\.\d", finding.summary)
    assert finding.verdict in findings.render_finding(finding)


# ---- the widget ----


@pytest.fixture
def quick(monkeypatch):
    """The panel with an audit that only says what it was asked."""
    asked = []

    def audited(faults, positions, explain=True):
        asked.append((faults, positions, explain))
        return lab.Finding("differs", f"audited {' '.join(faults)}", ())

    monkeypatch.setattr(bug_panel, "audited", audited)
    made = lab.bug_lab()
    made.asked = asked
    return made


def buttons(widget):
    """Every button in a widget, by its words."""
    found = {}
    for child in getattr(widget, "children", ()):
        found |= buttons(child)
    if type(widget).__name__ in ("Button", "ToggleButton"):
        found[widget.description.removeprefix("✓ ")] = widget
    return found


def test_a_click_on_a_toggle_changes_sentence_picture_and_audit(quick):
    pressed = buttons(quick.box)
    assert {fault.title for fault in KNOWN.values()} <= set(pressed) and repr(quick).startswith(
        "Bug lab: correct: no step"
    )
    before = quick.area.value
    pressed["restarts at 0"].value = True
    assert "restarts at 0: differs first at step 1" in repr(quick) and quick.area.value != before
    assert pressed["restarts at 0"].description == "✓ restarts at 0" and "audited pos_restart" in quick.verdict.value
    pressed["not stored back"].value = True
    assert quick.settings()["faults"] == ("pos_restart", "frozen_cache") and quick.asked[-1][2] is False
    pressed["all off: the correct decoder"].click()
    assert quick.area.value == before and not pressed["restarts at 0"].value


def test_two_toggles_that_clash_say_so_and_one_click_mends_it(quick):
    quick.set(faults=("pos_restart", "pos_zero"))
    assert "cannot be combined" in repr(quick) and "<svg" not in quick.area.value
    buttons(quick.box)["always at 0"].value = False
    assert "restarts at 0: differs" in repr(quick)


def test_about_ten_toggles_stand_at_first_and_the_rest_behind_a_button(quick):
    toggles = quick.box.children[0]
    _, first, more = toggles.children
    assert len(buttons(first)) == 11 and more.layout.display == "none"
    buttons(toggles)["more faults"].value = True
    assert more.layout.display == "flex" and len(buttons(more)) == len(KNOWN) - 11


def own_prompt(panel):
    choose, own = panel.box.children[1].children[0], panel.box.children[2]
    text, use, message = own.children
    return choose, own, text, use, message


def test_ones_own_prompt_is_checked_and_used(quick):
    choose, own, text, use, message = own_prompt(quick)
    assert own.layout.display == "none"
    choose.value = OWN
    assert own.layout.display == "flex"
    kept = quick.area.value
    text.value = "Ledger:\nnothing"
    use.click()
    assert "This prompt cannot be used" in message.value and quick.area.value == kept
    text.value = example(3, 1, 4).prompt
    use.click()
    assert message.value == "" and quick.settings()["prompt"] == example(3, 1, 4)
    quick.set(prompt=lab.FIVE)
    assert choose.value == "five records" and own.layout.display == "none"


def test_settings_from_code(quick):
    quick.set(faults=("rope_again",), positions="rope", steps=24, prompt=example(4, 1, 0))
    assert "keys rotated again: differs" in repr(quick) and own_prompt(quick)[0].value == OWN
    report = quick.report()
    assert (report.positions, report.steps, report.faults) == ("rope", 24, ("rope_again",))
    quick.finding()
    assert quick.asked[-1] == (("rope_again",), "rope", True)


def test_the_panel_keeps_a_bounded_number_of_views(quick):
    for seed in range(panel.KEPT):
        quick.views[seed] = None
    quick.set(steps=24)
    assert len(quick.views) == panel.KEPT + 1 and repr(quick.set(steps=48)).startswith("Bug lab: correct")
    assert len(quick.views) <= panel.KEPT + 1


def test_the_bundle_has_a_still_picture_and_a_short_text(quick):
    bundle = quick.set(faults=("pos_restart",))._repr_mimebundle_()
    assert bundle["image/png"].startswith("iVBOR") and "\n" not in bundle["text/plain"]
    assert len(bundle["text/plain"]) < 300


def test_a_refused_setting_still_has_a_picture(quick):
    assert quick.set(faults=("pos_restart", "pos_zero"))._repr_mimebundle_()["image/png"].startswith("iVBOR")


def test_correct_decoder_class_is_the_courses():
    assert type(bugs.build(bugs.ledger_model("learned"), (), setting_of((), 9))) is CachedDecoder
