"""The ledger task without the model: corpus, tokenizer, reading notes."""

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from helpers import ledger
from helpers.ledger import TOKENIZER, check_note, corpus


def training(n, seed=0):
    rng = random.Random(seed)
    return [corpus.draw(rng, *corpus.draw_size(rng), held_out=False) for _ in range(n)]


def test_held_out_records_never_occur_in_training():
    seen = {example.records for seed in range(3) for example in training(500, seed)}
    held = {example.records for seed in range(3) for example in ledger.held_out(500, seed)}
    assert len(seen) == len(held) == 1500
    assert not seen & held
    assert not any(map(corpus.is_held_out, seen)) and all(map(corpus.is_held_out, held))


def test_the_split_depends_on_the_records_alone():
    rng = random.Random(5)
    lists = [corpus.draw_records(rng, 3) for _ in range(4000)]
    assert 0.08 < sum(map(corpus.is_held_out, lists)) / len(lists) < 0.12
    fixed = corpus.example(3, 1, seed=0).records
    assert corpus.is_held_out(
        corpus.parse_prompt(corpus.Example(fixed, (0, 1), "report", "the first two records").prompt).records
    )


def test_the_same_seed_gives_the_same_examples():
    assert ledger.held_out(5, seed=3) == ledger.held_out(5, seed=3) != ledger.held_out(5, seed=4)
    assert ledger.example(4, 2, seed=1) == ledger.example(4, 2, seed=1) != ledger.example(4, 2, seed=2)


def test_examples_ask_by_id_by_place_and_for_all():
    tasks = {example.task for example in ledger.held_out(400)}
    assert {"the second record", "the last record", "the last two records", "all records in order"} <= tasks
    assert any(task.startswith("EV-") and " and " not in task for task in tasks)
    assert any(task.startswith("EV-") and " and " in task for task in tasks)


@pytest.mark.parametrize(
    "words, asked",
    [
        ("the second record", (1,)),
        ("the last record", (3,)),
        ("the first two records", (0, 1)),
        ("the last two records", (2, 3)),
        ("all records in order", (0, 1, 2, 3)),
    ],
)
def test_places_mean_what_they_say(words, asked):
    assert corpus.places(4)[words] == asked


def test_values_differ_between_the_records_but_often_share_a_part():
    lists = [corpus.draw_records(random.Random(seed), 5) for seed in range(200)]
    for records in lists:
        for field in corpus.FIELDS:
            assert len({getattr(record, field) for record in records}) == 5
    shared = sum(len({record.id[:5] for record in records}) < 5 for records in lists)
    assert shared > 80


def test_prompt_and_note_by_hand():
    record = corpus.Record("EV-4821", "15,300 USDT", "0x3fa9..c1", "2024-Mar-17")
    example = corpus.Example((record, corpus.example().records[0]), (0,), "trace", "the first record")
    assert example.prompt.split("\n")[1] == "- EV-4821 amount 15,300 USDT wallet 0x3fa9..c1 date 2024-Mar-17"
    assert example.prompt.endswith("\nTask: trace the first record.\nNote:\n")
    assert example.note == "Trail EV-4821 starts on 2024-Mar-17 and sends 15,300 USDT into wallet 0x3fa9..c1."


@pytest.mark.parametrize("records, asked", [(1, 1), (6, 1), (4, 3), (3, 0)])
def test_sizes_outside_the_task_are_refused(records, asked):
    with pytest.raises(ValueError, match=f"{asked} of {records} records"):
        ledger.example(records, asked)


def test_every_text_of_the_task_survives_the_tokenizer():
    for example in ledger.held_out(300, seed=1) + training(300, seed=1):
        prompt, note = TOKENIZER.encode(example.prompt), TOKENIZER.encode(example.note)
        assert TOKENIZER.decode(prompt) == example.prompt and TOKENIZER.decode(note) == example.note
        assert TOKENIZER.encode(example.prompt + example.note) == prompt + note
        assert example.prompt_ids.tolist() == [prompt]


@given(st.lists(st.integers(1, TOKENIZER.vocab_size - 1), max_size=12))
def test_whatever_can_be_encoded_decodes_to_the_same_text(ids):
    text = TOKENIZER.decode(ids)
    try:
        again = TOKENIZER.encode(text)
    except ValueError:  # two pieces can join to a longer one that leaves a rest: ",30" + "05" is not a text of the task
        assume(False)
    assert TOKENIZER.decode(again) == text


def test_values_are_cut_into_pieces_of_two_characters():
    text = " EV-4821 15,300 USDT 0x3fa9..c1 2024-Mar-17"
    pieces = [" EV-48", "21", " 15", ",300", " USDT", " 0x3f", "a9..", "c1", " 2024", "-Mar", "-17"]
    assert TOKENIZER.pieces(TOKENIZER.encode(text)) == pieces
    assert len(set(TOKENIZER.texts)) == TOKENIZER.vocab_size


def test_decode_stops_at_the_end_token():
    ids = TOKENIZER.encode("Trail EV-4821")
    assert TOKENIZER.decode([*ids, TOKENIZER.stop, *ids]) == "Trail EV-4821"
    assert TOKENIZER.decode(iter(ids)) == "Trail EV-4821"
    assert TOKENIZER.pieces([TOKENIZER.stop]) == ["<end>"]


def test_text_without_tokens_is_refused_with_its_place():
    with pytest.raises(ValueError, match=r"' é wallet' \(line 2, column 2\)"):
        TOKENIZER.encode("Ledger:\n- é wallet")


def test_a_prompt_is_read_back():
    for example in ledger.held_out(200, seed=2):
        assert ledger.parse_prompt(example.prompt) == example


@pytest.mark.parametrize("change, message", [
    (("Ledger:", "Book:"), "begins with the line"),
    (("USD", "usd"), "line 2: .* is not a record"),
    (("Task: verify", "Task: bless"), "is not \"Task: trace|verify|report"),
    (("the first record", "the fourth record"), "the task names 'the fourth record'.*'the last two records'"),
    (("the first record", "EV-1000"), "the task names 'EV-1000'.*EV-2222"),
    (("the first record", "EV-1111 and EV-1111"), "the task names"),
    (("\nNote:", ""), "ends with"),
])  # fmt: skip
def test_a_prompt_without_the_form_is_refused(change, message):
    assert ledger.parse_prompt(HAND.prompt) == HAND
    with pytest.raises(ValueError, match=message):
        ledger.parse_prompt(HAND.prompt.replace(*change))


@pytest.mark.parametrize(
    "keep, message", [([1], "has 1 records"), ([1, 2, 3] * 2, "has 6 records"), ([1, 2, 1], "same evidence id")]
)
def test_too_few_too_many_and_ambiguous_records_are_refused(keep, message):
    lines = HAND.prompt.split("\n")
    with pytest.raises(ValueError, match=message):
        ledger.parse_prompt("\n".join(lines[:1] + [lines[i] for i in keep] + lines[4:]))


HAND = corpus.Example(
    (
        corpus.Record("EV-1111", "11,110 USD", "0x1111..a1", "2023-Jan-01"),
        corpus.Record("EV-2222", "22,220 EUR", "0x2222..b2", "2024-Feb-02"),
        corpus.Record("EV-3333", "33,330 GBP", "0x3333..c3", "2025-Mar-03"),
    ),
    (0,),
    "verify",
    "the first record",
)
TWO = corpus.Example(HAND.records, (2, 0), "report", "EV-3333 and EV-1111")


def test_a_right_note_has_only_right_fields():
    for example in ledger.held_out(200, seed=3):
        fields = check_note(example, example.note)
        assert fields.fits_template and len(fields) == 4 * len(example.asked) and not fields.wrong
        assert all(example.note[field.start : field.end] == field.found for field in fields)


def test_another_records_amount_is_named():
    note = HAND.note.replace("11,110 USD", "22,220 EUR")
    fields = check_note(HAND, note)
    assert fields.fits_template and [field.name for field in fields] == ["id", "amount", "wallet", "date"]
    (wrong,) = fields.wrong
    assert (wrong.name, wrong.expected, wrong.found, wrong.right, wrong.record_of) == (
        "amount",
        "11,110 USD",
        "22,220 EUR",
        False,
        1,
    )
    assert note[wrong.start : wrong.end] == "22,220 EUR"


def test_a_value_of_no_record_belongs_to_nobody():
    (wrong,) = check_note(HAND, HAND.note.replace("2023-Jan-01", "2023-Feb-01")).wrong
    assert (wrong.name, wrong.found, wrong.record_of) == ("date", "2023-Feb-01", None)


def test_sentences_in_the_wrong_order_have_each_others_values():
    fields = check_note(TWO, "\n".join(reversed(TWO.note.split("\n"))))
    assert fields.fits_template and [field.record_of for field in fields] == [0] * 4 + [2] * 4
    assert [field.name for field in fields[:4]] == ["wallet", "amount", "date", "id"]


@pytest.mark.parametrize("note, fields", [
    ("", 0),
    ("Evidence EV-1111 confirms", 0),
    (HAND.note[:-1], 0),
    (HAND.note + " Trail", 4),
    (HAND.note + "\n" + HAND.note, 4),
    (HAND.note.replace("11,110 USD", "11,110 0x11"), 0),
    (HAND.note.replace("Evidence", "Trail"), 0),
])  # fmt: skip
def test_a_note_of_another_form_does_not_fit(note, fields):
    found = check_note(HAND, note)
    assert not found.fits_template and len(found) == fields


@pytest.mark.parametrize(
    "note, fields",
    [(TWO.note.split("\n")[0], 4), (TWO.note.replace("\n", " "), 4), (TWO.note.replace("\n", "\n\n"), 4)],
)
def test_a_missing_or_unseparated_sentence_does_not_fit(note, fields):
    found = check_note(TWO, note)
    assert not found.fits_template and len(found) == fields


def test_white_space_around_a_note_does_not_matter():
    fields = check_note(HAND, f"\n {HAND.note}\n")
    assert fields.fits_template and not fields.wrong


def test_unknown_positions_and_missing_weights_are_said(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="'learned' or 'rope', not 'sinusoidal'"):
        ledger.load("sinusoidal")
    monkeypatch.setattr(ledger, "FOLDER", tmp_path)
    with pytest.raises(
        FileNotFoundError, match="ledger-rope.json and ledger-rope.safetensors not found.*--positions rope"
    ):
        ledger.load("rope")
