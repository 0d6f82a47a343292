"""Lesson 02's helpers: the heads of the trained model, the usual mistakes of attention, the leaks, the panels, the plots."""

import re

import pytest
import torch

from helpers.faults.mistakes import MISTAKES, MORE, small, with_mistake
from helpers.lab.attention import attention_panel, count_leaks, dependences, render_attention
from helpers.lab.head_roles import attention_weights, note_places, pieces_right, read_by, segments, without
from helpers.lab.heads import HeadView, head_panel
from helpers.lab.leaks import influence, leaks
from helpers.ledger import TOKENIZER, example, held_out, load
from helpers.model import Config, MiniGPT, NoCache
from helpers.plots import heads as plots_heads

EVERY = {(i, j) for j in range(5) for i in range(j)}
NONE = set()
MERGED = {
    (0, 1),
    (0, 2),
    (1, 2),
    (1, 3),
    (1, 4),
    (2, 3),
    (3, 4),
}  # worked out by hand, row i reads tokens (3i + r) mod 5
LEAKING = {
    "correct": NONE,
    "scale by d_model": NONE,
    "no scale": NONE,
    "split strided": NONE,
    "merge without transpose": MERGED,
    "softmax over the queries": EVERY,
    "mask after the softmax": EVERY,
    "additive mask, == 0": EVERY,
    "no mask": EVERY,
}


@pytest.fixture(scope="module")
def model():
    return load("learned").requires_grad_(False)


@pytest.fixture(scope="module")
def task():
    return example(records=3, asked=1, seed=4)


@pytest.mark.parametrize("kind", LEAKING)
def test_each_mistake_leaks_where_it_must(kind):
    assert leaks(small(kind), 5, 12) == LEAKING[kind]


def test_every_mistake_but_the_split_has_its_leaks_named():
    """How a split that cuts tokens leaks depends on the numbers of tokens and heads; it does leak."""
    assert set(MISTAKES | MORE) - set(LEAKING) == {"split without transpose"}
    assert leaks(small("split without transpose"), 5, 12)


@pytest.mark.parametrize("kind", [kind for kind in MISTAKES | MORE if kind != "correct"])
def test_each_mistake_keeps_the_shape_and_changes_the_numbers(kind):
    x = torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    right, wrong = small("correct")(x), small(kind)(x)
    assert wrong.shape == right.shape and wrong.isfinite().all() and (wrong - right).abs().max() > 1e-3


def test_the_fill_shows_each_query_its_future_only_and_the_last_one_everything():
    moved = influence(small("additive mask, == 0"), 4, 12)
    assert [row.nonzero().flatten().tolist() for row in moved] == [[0, 1, 2, 3], [1, 2, 3], [3], [0, 1, 2, 3]]


def test_influence_changes_one_token_at_a_time_in_all_channels_each_by_another_amount():
    """Else a leak in one channel, or one behind a normalisation, is not seen."""
    calls = []

    def attention(x):
        calls.append(x)
        return x

    assert torch.equal(influence(attention, 4, 12), torch.eye(4).bool())
    first, *others = calls
    for j, x in enumerate(others):
        change = (x - first)[:, j]  # [B, C]
        assert torch.equal(torch.arange(4) == j, (x != first).any(dim=-1).any(dim=0))
        assert change.all() and (change.std(dim=-1) > 0.1).all()


@pytest.mark.parametrize("channel", range(12))
def test_a_leak_in_any_single_channel_is_found(channel):
    assert leaks(lambda x: x + x[:, -1:, channel : channel + 1], 3, 12) == {(0, 2), (1, 2)}


def test_a_mistake_in_the_trained_model_leaves_the_model_alone(model, task):
    before = model(task.prompt_ids)
    assert (with_mistake(model, "correct")(task.prompt_ids) - before).abs().max() < 1e-3
    assert (with_mistake(model, "scale by d_model")(task.prompt_ids) - before).abs().max() > 1
    assert torch.equal(model(task.prompt_ids), before)


def test_attention_weights_are_causal_rows_that_sum_to_1_and_give_the_layers_output():
    torch.manual_seed(0)
    model = MiniGPT(Config(11, 16, n_layers=2, n_heads=3, d_model=12, d_ff=8)).double().requires_grad_(False)
    tokens = torch.randint(11, (2, 5))
    weights = attention_weights(model, tokens)  # [L, B, H, T, T]
    assert weights.shape == (2, 2, 3, 5, 5)
    assert (weights.sum(-1) - 1).abs().max() < 1e-12 and not weights.triu(1).any()
    attention, x = model.blocks[0].attention, model.blocks[0].norm1(model.embed(tokens, torch.arange(5)))
    y = attention.merge(weights[0] @ attention.split(attention.qkv(x))[2])
    assert (attention.project(y) - attention(x, NoCache(), None)).abs().max() < 1e-12


def test_a_silenced_head_takes_exactly_its_term_out_of_the_sum():
    torch.manual_seed(1)
    model = MiniGPT(Config(11, 16, n_layers=1, n_heads=3, d_model=12, d_ff=8)).double().requires_grad_(False)
    whole, x = model.blocks[0].attention, torch.randn(2, 5, 12, dtype=torch.float64)
    cut = without(model, [(0, 1)]).blocks[0].attention
    q, k, v = whole.split(whole.qkv(x))
    term = (q @ k.mT / 2).masked_fill(~torch.ones(5, 5).tril().bool(), -torch.inf).softmax(-1) @ v
    term = term[:, 1] @ whole.project.weight[:, 4:8].T
    assert (whole(x, NoCache(), None) - cut(x, NoCache(), None) - term).abs().max() < 1e-12


def test_places_of_a_note_name_the_same_piece_in_the_record(task):
    tokens, queries, sources = note_places(task)
    ids = tokens[0]
    assert len(queries) == 11 and torch.equal(ids[queries + 1], ids[sources])
    assert (sources < task.prompt_ids.shape[1]).all() and (queries >= task.prompt_ids.shape[1] - 1).all()


def test_segments_cut_the_tokens_at_the_lines(task):
    tokens, *_ = note_places(task)
    parts = segments(task)
    assert [words for words, *_ in parts] == ["ledger", "record 0", "record 1", "record 2", "task", "note"]
    assert [start for _, start, _ in parts] == [0, *(end for *_, end in parts[:-1])] and parts[-1][2] == tokens.shape[1]
    for words, start, end in parts[1:4]:
        assert TOKENIZER.pieces(tokens[0, start:end].tolist())[0] == "-", words


def test_the_heads_of_the_last_layer_that_copy_are_the_ones_that_matter(model):
    few = held_out(8, seed=5)
    copying = [(3, 0), (3, 1), (3, 2)]
    assert pieces_right(model, few) > 0.98 and pieces_right(without(model, [(3, 3), (3, 4), (3, 5)]), few) > 0.98
    assert pieces_right(without(model, copying), few) < 0.2
    assert pieces_right(without(model, copying[:1]), few) > 0.95


def test_the_head_panel_says_and_shows_what_the_head_reads(model, task):
    panel = head_panel(model, task)
    assert panel.set(layer=3, head=0).sentence.startswith("Layer 3, head 0: reads 11 of 11 pieces at their source")
    frames = re.findall(r'<rect x="(\d+)" y="(\d+)"[^>]* fill="none"', panel.area.value)
    filled = re.findall(r'<rect x="(\d+)" y="(\d+)"[^>]* fill-opacity="(?:1.0|0.9\d*)"', panel.area.value)
    assert len(frames) == 11 and filled == frames  # it reads where the pieces stand, and nothing else
    assert "reads 0 of 11" in panel.set(layer=2, head=1).sentence
    assert panel.still().startswith(b"\x89PNG")


def test_what_a_head_reads_is_named_in_words(model, task):
    rows = HeadView(model, task).rows(3, 0)
    assert [write for write, *_ in rows] == [read for _, read, *_ in rows]
    tokens, queries, sources = note_places(task)
    weights = torch.zeros(80, 80)
    weights[queries, 1] = 1.0  # token 1 of the prompt is a line break
    assert read_by(weights, tokens, queries, sources)[0][1] == "(line break)"


@pytest.mark.parametrize("kind", MISTAKES)
def test_the_attention_panel_counts_and_draws_the_leaks(kind):
    view = render_attention(kind, 5)
    found = len(LEAKING[kind])
    assert count_leaks(kind, 5) == found and f"{found or 'none'} of 10 pairs leak" in view.sentence
    assert view.html.count(">F<") == found + 1  # and one in the legend


def test_the_attention_panel_turns_and_has_a_still_picture():
    panel = attention_panel()
    assert "none of 1 pairs leak" in panel.set(kind="scale by d_model", T=2).sentence
    assert "nothing can leak" in panel.set(T=1).sentence and panel.still().startswith(b"\x89PNG")


def test_dependences_count_the_leaks_in_title_and_table():
    plot = dependences(("correct", "merge without transpose"))
    assert plot.title.startswith("1 of 2 attentions") and plot.rows == [
        ["correct", "0"],
        ["merge without transpose", "7"],
    ]
    assert [axis.get_xlabel() for axis in plot.figure.axes] == ["token changed"] * 2


def test_shares_and_looks_have_their_numbers():
    plot = plots_heads.shares(torch.tensor([[0.02, 0.9], [0.5, 0.1]]), "share", "title", "alt")
    assert plot.rows == [[0, "2 %", "90 %"], [1, "50 %", "10 %"]] and len(plot.figure.axes[0].patches) == 2
    weights, sources = torch.eye(3)[:2], torch.tensor([0, 2])
    parts = [("a", 0, 2), ("b", 2, 3)]
    looks = plots_heads.looks({"head": weights}, ["x", "y"], parts, sources, "title", "alt")
    assert looks.rows == [["head", "1 of 2", "≈ 0.50"]] and looks.png().startswith(b"\x89PNG")
