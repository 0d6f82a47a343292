"""What lesson 03 looks at: gradients by depth, the first steps of training, and wrong blocks on the trained model."""

import pytest
import torch

from helpers.lab import depth
from helpers.lab.blocks import MISTAKES, block_panel, mistaken, run_block
from helpers.lab.depth_panel import depth_panel, render_depth
from helpers.ledger import example, load
from helpers.model import NoCache

torch.set_num_threads(1)
TOLERANCE = 1e-4


@pytest.fixture(scope="module")
def model():
    return load("learned")


@pytest.fixture(scope="module")
def panel(model):
    return block_panel(model, {"three": example(3, 1, 4)}, TOLERANCE)


def test_the_last_blocks_gradient_falls_with_depth_only_with_pre_norm():
    pre, post = ([depth.gradient_norms(kind, n)[-1] for n in (2, 8, 24)] for kind in depth.KINDS)
    assert pre[0] > 1.5 * pre[1] > 1.5 * 1.5 * pre[2]
    assert min(post[1:]) > post[0]


@pytest.mark.parametrize("n", [2, 5, 12])
def test_within_a_stack_pre_norm_falls_more(n):
    """As the panel's sentence says, whatever the depth."""
    pre, post = (depth.gradient_norms(kind, n) for kind in depth.KINDS)
    assert pre[-1] / pre[0] < min(0.75, post[-1] / post[0])


def test_a_gradient_norm_is_that_of_all_weights_of_its_block(monkeypatch):
    monkeypatch.setattr(depth, "SEEDS", (0,))
    tokens = torch.randint(depth.VOCABULARY, (8, depth.LENGTH + 1), generator=torch.Generator().manual_seed(0))
    model = depth.stack("post-norm", 2, seed=0)
    depth.loss_of(model, tokens).backward()
    norms = [sum(float(p.grad.square().sum()) for p in block.parameters()) ** 0.5 for block in model.blocks]
    assert depth.gradient_norms.__wrapped__("post-norm", 2) == pytest.approx(norms, rel=1e-5)


@torch.no_grad()
def test_post_norm_is_the_norm_of_the_sum_and_ends_without_another_norm():
    pre, post = (depth.stack(kind, 1, seed=0) for kind in depth.KINDS)
    tokens, positions = torch.arange(5)[None], torch.arange(5)
    assert float((pre(tokens) - post(tokens)).abs().max()) > 0.1
    x = post.blocks[0](post.embed(tokens, positions), NoCache(), positions)
    assert x.mean(-1).abs().max() < 1e-5 and (x.var(-1, correction=0) - 1).abs().max() < 1e-3
    assert isinstance(post.norm, torch.nn.Identity) and isinstance(pre.norm, torch.nn.LayerNorm)


def test_the_same_seed_gives_both_stacks_the_same_weights():
    pre, post = (depth.stack(kind, 2, seed=3).blocks.state_dict() for kind in depth.KINDS)
    assert pre.keys() == post.keys() and all(torch.equal(pre[name], post[name]) for name in pre)


def test_twelve_post_norm_blocks_do_not_start_without_a_warm_up_and_pre_norm_blocks_do():
    assert depth.first_steps("pre-norm", 12) < 1 < 2 < depth.first_steps("post-norm", 12)


def test_the_depth_panel_says_its_finding_and_has_the_numbers():
    panel = depth_panel(deepest=4).set(depth=4)
    pre, post = (depth.gradient_norms(kind, 4) for kind in depth.KINDS)
    assert "4 blocks" in panel.sentence and depth.approx(post[-1] / pre[-1], "×") in panel.sentence
    page = panel.area.value
    assert page.count("<circle") == 4 and page.count('width="7"') == 4 and "aria-label" in page
    assert depth.approx(pre[-1]) in page and "pre-norm" in page
    assert render_depth(2).sentence.startswith("2 blocks")
    three = depth_panel(deepest=4).set(depth=3)
    assert panel.still() == depth.by_block(4).png() != three.still()  # a reader without a kernel sees what is set


@pytest.mark.parametrize(("mistake", "in_one_pass", "cached"), [("none", None, None), ("offset ignored", None, 1), ("post-norm", 0, 0), ("residual dropped", 0, 0)])  # fmt: skip
def test_where_each_mistake_shows(panel, mistake, in_one_pass, cached):
    reports = [panel.report("three", mistake, on) for on in (False, True)]
    assert [report.first_wrong for report in reports] == [in_one_pass, cached]


def test_an_ignored_offset_is_exactly_right_in_one_pass_and_writes_another_year_with_a_cache(panel):
    one, cached = (panel.report("three", "offset ignored", on) for on in (False, True))
    assert max(one.table.differences) == 0 and not one.fields.wrong
    assert cached.fields.fits_template and [f.name for f in cached.fields.wrong] == ["date"]


@pytest.mark.parametrize("mistake", ["post-norm", "residual dropped"])
def test_a_wrong_block_writes_no_sentence(panel, mistake):
    assert not panel.report("three", mistake, True).fields.fits_template


def test_the_model_itself_is_untouched(model):
    before = {name: p.clone() for name, p in model.named_parameters()}
    tokens = torch.arange(1, 9)[None]
    logits = model(tokens)
    for mistake in MISTAKES:
        mistaken(model, mistake, cached=True).prefill(tokens)
    assert torch.equal(model(tokens), logits) and all(torch.equal(before[n], p) for n, p in model.named_parameters())


def test_an_unknown_mistake_is_a_key_error(model):
    with pytest.raises(KeyError, match="sideways"):
        run_block(model, example(2, 1, 1), "sideways", True, TOLERANCE)


def test_the_block_panel_turns_and_has_a_still_picture(panel):
    panel.set(mistake="offset ignored", cached=True)
    assert panel.sentence.startswith("Mistake: offset ignored, with a cache: differs first at step 1")
    assert "2023-Nov-08" in panel.area.value and panel.still()[:4] == b"\x89PNG"
    panel.set(mistake="none", cached=False)
    assert "no step differs" in panel.sentence
