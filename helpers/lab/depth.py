"""What depth does to pre-norm and post-norm stacks: gradients before training, and the first steps of training.

Sources: Xiong et al. 2020 (gradients at the start by depth); Vaswani et al. 2017 (post-norm); Radford et al. 2019
(pre-norm with a last norm after all blocks).
"""

from functools import cache

import torch
from torch import nn
from torch.nn import functional as F

from ..config import Config
from ..figures import approx
from ..model import Block, MiniGPT
from ..modules import with_modules
from ..plots.curves import lines

KINDS = ("pre-norm", "post-norm")
SEEDS = (0, 1, 2)
VOCABULARY, WIDTH, LENGTH = 50, 32, 16


class PostNorm(Block):
    """The order of 2017: each half adds first and normalises the sum."""

    def forward(self, x, cache, positions):
        x = self.norm1(x + self.attention(x, cache, positions))
        return self.norm2(x + self.ffn(x))


def stack(kind, depth, seed, std=None):
    """A MiniGPT of `depth` blocks; weights from N(0, 1 / inputs), which keep a signal's size, or from N(0, std²).

    A pre-norm stack ends in a norm, since nothing has normalised its sum; a post-norm stack has done so in its last block.
    """
    torch.manual_seed(seed)
    config = Config(VOCABULARY, LENGTH, n_layers=depth, n_heads=2, d_model=WIDTH, d_ff=4 * WIDTH)
    model = MiniGPT(config)
    for p in model.parameters():
        if p.dim() == 2:
            nn.init.normal_(p, std=std or p.shape[1] ** -0.5)
    if kind == "post-norm":
        model = with_modules(model, [], [PostNorm])
        model.norm = nn.Identity()
    return model


def loss_of(model, tokens):
    """Mean cross-entropy of predicting `tokens[:, 1:]` from `tokens[:, :-1]`; tokens `[B, T + 1]`."""
    return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


@cache
def gradient_norms(kind, depth):
    """Norm of the loss's gradient for all weights of each block, before training: `depth` floats, mean of 3 seeds."""
    norms = torch.zeros(depth)
    for seed in SEEDS:
        generator = torch.Generator().manual_seed(seed)
        with torch.enable_grad():
            model = stack(kind, depth, seed)
            loss_of(model, torch.randint(VOCABULARY, (8, LENGTH + 1), generator=generator)).backward()
        for i, block in enumerate(model.blocks):
            norms[i] += torch.cat([p.grad.flatten() for p in block.parameters()]).norm() / len(SEEDS)
    return norms.tolist()


def by_block(depth):
    """Plot of the gradient's norm in each block of stacks of one depth, pre-norm and post-norm."""
    norms = {kind: gradient_norms(kind, depth) for kind in KINDS}
    pre, post = (norms[kind][-1] for kind in KINDS)
    title = f"{depth} blocks: the last one gets {approx(post / pre, '×')} the gradient with post-norm"
    alt = "Pre-norm falls from the first block to the last; post-norm falls less, or not at all."
    plot = lines({kind: (range(depth), v) for kind, v in norms.items()}, title, "block", "gradient norm", alt)
    plot.header = ["block", *KINDS]
    plot.rows = [[i, *(approx(norms[kind][i]) for kind in KINDS)] for i in sorted({0, depth // 2, depth - 1})]
    return plot


def by_depth(depths=(2, 4, 8, 16, 32)):
    """Plot of the last block's gradient norm against depth, and all blocks' together in the table."""
    last = {kind: [gradient_norms(kind, depth)[-1] for depth in depths] for kind in KINDS}
    title = "Pre-norm: the deeper the stack, the smaller the last block's gradient"
    alt = "Pre-norm falls steadily from 2 to 32 blocks; post-norm does not fall."
    plot = lines(
        {kind: (depths, v) for kind, v in last.items()}, title, "blocks in the stack", "gradient norm, last block", alt
    )
    plot.header = ["blocks", *(f"last block, {kind}" for kind in KINDS), *(f"all blocks, {kind}" for kind in KINDS)]
    for i, depth in enumerate(depths):
        whole = [torch.tensor(gradient_norms(kind, depth)).norm() for kind in KINDS]
        plot.rows.append([depth, *(approx(last[kind][i]) for kind in KINDS), *map(approx, whole)])
    return plot


def first_steps(kind, depth, steps=40, warm_up=1, std=None, rate=3e-3):
    """Loss after `steps` of Adam on the easiest text: counting, each token the one before plus 1, round and round from 0 to 11.

    The rate rises to `rate` over the first `warm_up` steps; 1 is no warm-up.
    """
    generator = torch.Generator().manual_seed(1)
    with torch.enable_grad():
        model = stack(kind, depth, 0, std)
        optimizer = torch.optim.Adam(model.parameters(), fused=True)
        for step in range(steps):
            optimizer.param_groups[0]["lr"] = rate * min(1, (step + 1) / warm_up)
            tokens = (torch.randint(12, (16, 1), generator=generator) + torch.arange(9)) % 12  # [B, T + 1]
            loss = loss_of(model, tokens)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()
