"""The trained ledger models: exact notes, files, independence, and that a cached decoder gives the oracle's logits."""

import functools
import pathlib

import pytest
import torch

from helpers import ledger
from helpers.decoding import CachedDecoder, Oracle, generate, teacher_forced
from helpers.ledger import TOKENIZER, check_note, measure

POSITIONS = ("learned", "rope")


@functools.cache
def held_out_notes(positions):
    examples = ledger.held_out(200, seed=1)
    return examples, measure.write_notes(CachedDecoder(ledger.load(positions)), examples)


@pytest.mark.parametrize("positions", POSITIONS)
def test_held_out_notes_are_exact(positions):
    examples, notes = held_out_notes(positions)
    exact = [note == example.note for example, note in zip(examples, notes)]
    assert len(exact) == 200 and sum(exact) >= 196


@pytest.mark.parametrize("positions", POSITIONS)
def test_check_note_and_equality_agree_on_what_the_model_writes(positions):
    for example, note in zip(*held_out_notes(positions)):
        fields = check_note(example, note)
        assert (note == example.note) == (fields.fits_template and not fields.wrong)


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_weights_are_small_safetensors_that_name_every_parameter(positions):
    file = ledger.FOLDER / f"ledger-{positions}.safetensors"
    assert file.stat().st_size <= 3_000_000
    raw = file.read_bytes()
    size = int.from_bytes(raw[:8], "little")  # the format begins with the length of a JSON header
    header = raw[8 : 8 + size].decode()
    model = ledger.load(positions)
    assert all(f'"{name}"' in header for name in model.state_dict())
    card = (ledger.FOLDER / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert f"{sum(p.numel() for p in model.parameters()):,}" in card
    assert all(
        f"`{name}`".replace("blocks.0.", "blocks.N.") in card for name in model.state_dict() if "blocks.0" in name
    )


def test_nothing_is_pickled():
    files = [file for file in ledger.FOLDER.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    assert {file.suffix for file in files} == {".py", ".md", ".json", ".safetensors"}
    for file in pathlib.Path(ledger.FOLDER).glob("*.py"):
        source = file.read_text(encoding="utf-8")
        assert "torch.save" not in source and "torch.load" not in source and "import pickle" not in source


@pytest.mark.parametrize("positions", POSITIONS)
def test_each_load_is_independent_and_in_eval_mode(positions):
    one, two = ledger.load(positions), ledger.load(positions, dtype=torch.float64)
    assert not one.training and two.token.weight.dtype == torch.float64
    one.token.weight.data.zero_()
    assert ledger.load(positions).token.weight.abs().sum() > 0 and two.token.weight.abs().sum() > 0


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_cached_decoder_gives_the_oracles_logits(positions):
    model, example = ledger.load(positions, torch.float64), ledger.example(4, 2, seed=1)
    note = torch.tensor([TOKENIZER.encode(example.note)])
    cached, oracle = (teacher_forced(d, example.prompt_ids, note) for d in (CachedDecoder(model), Oracle(model)))
    assert cached.shape == oracle.shape == (1, note.shape[1], TOKENIZER.vocab_size)
    torch.testing.assert_close(cached, oracle, rtol=0, atol=1e-9)


@pytest.mark.parametrize("positions", POSITIONS)
def test_the_training_record_tells_how_the_weights_were_made(positions):
    record = ledger.training_record(positions)
    assert record["config"]["positions"] == positions and record["config"]["vocab_size"] == TOKENIZER.vocab_size
    assert {"seed", "steps", "cpu_seconds", "copied", "exact"} <= set(record["training"])
    assert record["training"]["exact"] >= 0.98


def test_notes_in_batches_equal_notes_one_by_one():
    model, examples = ledger.load(), ledger.held_out(6, seed=2)
    alone = []
    for example in examples:
        tokens = generate(CachedDecoder(model), example.prompt_ids, 120, stop=TOKENIZER.stop).tokens
        alone.append(TOKENIZER.decode(tokens[0].tolist()))
    assert measure.write_notes(CachedDecoder(model), examples) == alone


@pytest.mark.parametrize("positions", POSITIONS)
def test_restarted_positions_write_well_formed_notes_with_other_records_values(positions):
    effect = measure.fault_effect(ledger.load(positions), "pos_restart", ledger.held_out(120, seed=1))
    assert effect.logits > 1 and effect.valid > 0.8  # every logit moves, and most notes still read well
    assert effect.silently_wrong > 0.05 and effect.borrowed > 0.5  # some hold a value, mostly another record's


def test_a_decoder_without_the_fault_has_no_effect(monkeypatch):
    monkeypatch.setattr("helpers.faults.faulty", lambda model, *ids, **sizes: CachedDecoder(model))
    effect = measure.fault_effect(ledger.load(), "pos_restart", ledger.held_out(10, seed=1))
    assert effect.valid == 1 and effect.logits == 0 and effect.wrong_fields == 0 and effect.borrowed is None


def test_running_out_of_positions_counts_as_notes_that_do_not_fit():
    effect = measure.fault_effect(ledger.load(), "refeed_everything", ledger.held_out(2, seed=1))
    assert effect.valid == 0 and effect.wrong_fields is None and effect.logits is None
    assert "out of positions" in measure.row(effect)
