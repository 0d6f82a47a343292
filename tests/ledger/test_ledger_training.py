"""The ledger model's training: labels, batches, losses and the seed. No weights are needed."""

import random

import pytest
import torch

from helpers import ledger
from helpers.ledger import TOKENIZER
from helpers.ledger.aids import HEADS, looking, note_loss
from helpers.ledger.samples import KIND_TABLE, KINDS, NONE, collate, sample
from helpers.ledger.train import Training, schedule
from helpers.model import CausalAttention, Config, MiniGPT

EXAMPLES = ledger.held_out(200, seed=5)


def test_a_sample_says_where_each_value_is_copied_from():
    for example in EXAMPLES:
        one = sample(example)
        text = TOKENIZER.pieces(one.ids)
        for t, source in enumerate(one.sources):
            assert (source != NONE) == (one.kinds[t] != NONE and t + 1 >= one.prompt_length)
            if source != NONE:
                assert text[source] == text[t + 1] and one.records[source] == one.records[t] in example.asked


def test_each_sentence_needs_one_piece_of_every_kind():
    for example in EXAMPLES:
        one = sample(example)
        kinds = [kind for kind in one.kinds[one.prompt_length - 1 :] if kind != NONE]
        assert sorted(kinds) == sorted(list(range(len(KINDS))) * len(example.asked))


def test_an_id_in_the_task_line_is_matched_with_its_record():
    for example in EXAMPLES:
        one = sample(example)
        found = [(t, source) for t, source in enumerate(one.matches) if source != NONE]
        assert [one.records[source] for _, source in found] == list(example.asked if "EV-" in example.task else ())
        for t, source in found:
            assert one.ids[t - 1 : t + 1] == one.ids[source - 1 : source + 1] and one.joins[t] == t - 1


def test_the_note_and_nothing_else_counts():
    for example in EXAMPLES[:20]:
        one = sample(example)
        assert not any(one.weights[: one.prompt_length - 1]) and all(one.weights[one.prompt_length - 1 :])
        assert len(one.weights) == len(one.ids) - 1 and one.ids[-1] == TOKENIZER.stop


def test_no_piece_is_of_two_kinds():
    assert KIND_TABLE.sum(1).tolist() == [90, 100, 90, 100, 6, 256, 256, 96, 3, 12, 28]
    assert KIND_TABLE.sum(0).max() == 1


def test_a_batch_pads_right_and_counts_nothing_there():
    samples = [sample(ledger.example(2, 1, seed=1)), sample(ledger.example(5, 5, seed=1))]
    batch = collate(random.Random(0), samples)
    length, longest = (len(one.ids) - 1 for one in samples)
    assert all(tensor.shape == (2, longest) for tensor in batch.values())
    assert batch["weights"][0, length:].sum() == 0 and (batch["sources"][0, length:] == NONE).all()
    assert batch["targets"][0, :length].tolist() == samples[0].ids[1:]


def test_noisy_rows_stand_at_wrong_positions_and_teach_no_record():
    one = sample(ledger.example(3, 2, seed=1))
    batch, start = collate(random.Random(0), [one] * 60), one.prompt_length
    noisy = batch["noisy"][:, 0]
    right = torch.arange(len(one.ids) - 1)
    assert 2 <= noisy.sum() <= 20
    assert (batch["positions"][~noisy] == right).all() and (batch["positions"][:, :start] == right[:start]).all()
    assert (batch["positions"][noisy, start:].diff(dim=1) == 1).all()
    assert (batch["positions"][noisy, start] == 0).any()
    assert (batch["sources"][noisy] == NONE).all() and (batch["records"][noisy, start - 1 :] == NONE).all()
    assert (batch["records"][~noisy, start - 1 :] != NONE).all()


def test_in_noisy_rows_any_value_of_the_right_kind_is_right():
    a, b = torch.tensor([TOKENIZER.ids["-Mar"], TOKENIZER.ids["-Apr"]])
    logits = torch.full((2, TOKENIZER.vocab_size), -30.0)
    logits[:, b] = 30.0  # sure of April, in both rows
    at = {"kinds": torch.tensor([KINDS.index("date_2")] * 2), "targets": a.repeat(2), "weights": torch.ones(2)}
    clean, copied = note_loss(logits, at | {"noisy": torch.tensor([False, False])})
    assert clean == pytest.approx(60, abs=1e-3) and copied == 0
    mixed, _ = note_loss(logits, at | {"noisy": torch.tensor([False, True])})
    assert mixed == pytest.approx(30, abs=1e-3)


def test_looking_compares_with_earlier_places_only():
    scores = torch.zeros(1, 2, 4, 4)  # B, h, T, T
    sources = torch.tensor([[NONE, NONE, NONE, 1]])
    assert looking(scores, sources) == pytest.approx(torch.tensor(3.0).log().item())  # places 0, 1, 2, all alike
    scores[0, :, 3, 3] = 50.0  # the token itself, which is not judged
    scores[0, :, 3, 1] = 20.0
    assert looking(scores, sources) < 1e-6
    assert looking(scores, torch.full((1, 4), NONE)) == 0


def test_the_rate_warms_up_and_ends_low():
    assert schedule(0, 1000) == pytest.approx(0.01) and schedule(300, 1000) == schedule(500, 1000) == 1
    assert schedule(1000, 1000) == pytest.approx(0.02)


@pytest.mark.parametrize("positions", ["learned", "rope"])
def test_training_repeats_from_its_seed_and_leaves_a_plain_model(positions):
    model, figures = Training(positions, seed=1, steps=2).run()
    again, _ = Training(positions, seed=1, steps=2).run()
    other, _ = Training(positions, seed=2, steps=2).run()
    assert torch.equal(model.token.weight, again.token.weight)
    assert not torch.equal(model.token.weight, other.token.weight)
    assert model.state_dict().keys() == MiniGPT(Config(TOKENIZER.vocab_size, positions=positions)).state_dict().keys()
    assert all(type(model.blocks[layer].attention) is CausalAttention for layer in HEADS)
    assert figures["steps"] == 2 and not model.training


def test_a_stage_ends_when_copying_works_or_at_its_last_step():
    run = Training("learned", seed=0, steps=1)
    run.step, run.copied = 10, 0.9
    run.next_stage()
    assert run.stage == 0
    run.copied = 0.96
    run.next_stage()
    assert (run.stage, run.copied) == (1, 0.0)
    run.step = 900
    run.next_stage()
    run.next_stage()
    assert run.stage == 2
