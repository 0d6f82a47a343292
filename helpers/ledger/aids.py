"""The model in training: MiniGPT with aids that are dropped afterwards.

They teach *which* record to copy from; without them a model of this size learns to copy fluently from a random one.
  joining   a head of block 0 looks from the second piece of an evidence id to the first
  matching  a head of block 1 looks from an id in the task line to the same id in its record
  naming    a linear layer on block 2's output names the record that each token is about
  counting  rotary positions only: a linear layer on block 0's output names the record that each line's tokens are in
            (learned positions tell that without counting)
  pointing  heads of block 3 look at the prompt token that holds the value which the note needs next
"""

import torch
from torch import nn
from torch.nn import functional as F

from ..model import CausalAttention, MiniGPT, NoCache
from ..positions import sinusoids
from .forms import ORDINALS
from .samples import KIND_TABLE, NONE

JOINING, MATCHING, NAMING, POINTING = range(4)  # the blocks, counted from 0, that the aids teach
HEADS = {JOINING: 1, MATCHING: 1, POINTING: 3}  # how many of their heads are told where to look


class TaughtAttention(CausalAttention):
    """Keeps the scores of its first heads, for the loss that tells them where to look."""

    def attend(self, q, k, v, mask):
        heads = HEADS[self.layer]
        self.scores = self.scale() * q[:, :heads] @ k[:, :heads].transpose(2, 3)  # [B, h, T, T]
        return super().attend(q, k, v, mask)


class Trainee(nn.Module):
    """The model with its training aids."""

    def __init__(self, config):
        super().__init__()
        self.model = MiniGPT(config)
        nn.init.normal_(self.model.token.weight, std=0.1)
        if config.positions == "learned":  # start as sinusoids of the same size as the token vectors
            self.model.position.weight.data = 0.14 * sinusoids(config.block_size, config.d_model).float()
        self.names_record = nn.Linear(config.d_model, len(ORDINALS))
        self.counts_records = nn.Linear(config.d_model, len(ORDINALS)) if config.positions == "rope" else None
        self.attention_class(TaughtAttention)
        self.start_taught_heads()

    def attention_class(self, cls):
        for layer in HEADS:
            self.model.blocks[layer].attention.__class__ = cls

    @torch.no_grad()
    def start_taught_heads(self, std=0.1):
        """Begin with heads that find like by like (query = key weights) and copy what they find (output = value.T).

        In the spirit of Trockman and Kolter 2023, "Mimetic initialization of self-attention layers".
        """
        for layer in (MATCHING, POINTING):
            attention, n = self.model.blocks[layer].attention, HEADS[layer] * self.model.config.head_dim
            query, key, value = attention.qkv.weight.chunk(3)  # [C, C] each, heads one below the other
            nn.init.normal_(query[:n], std=std)
            nn.init.normal_(value[:n], std=std)
            key[:n] = query[:n]
            attention.project.weight[:, :n] = value[:n].T

    def forward(self, tokens, positions, wanted):
        """Logits `[N, V]` at the N places `wanted [B, T]`, and what the aids judge.

        That is: the outputs `[B, T, C]` of the blocks, and the taught heads' scores `[B, h, T, T]` of the taught blocks.
        """
        x, outputs = self.model.embed(tokens, positions), []  # [B, T, C]
        for block in self.model.blocks:
            x = block(x, NoCache(), positions)
            outputs.append(x)
        logits = F.linear(self.model.norm(x[wanted]), self.model.token.weight)
        return logits, outputs, [self.model.blocks[layer].attention.scores for layer in HEADS]


def losses(trainee, batch):
    """The losses `{"note", "naming", …}` of a batch, and the copy accuracy (values, right positions)."""
    wanted = batch["weights"] > 0  # [B, T], N places
    logits, outputs, scores = trainee(batch["tokens"], batch["positions"], wanted)
    note, copied = note_loss(logits, {name: tensor[wanted] for name, tensor in batch.items()})
    records = trainee.names_record(outputs[NAMING])  # [B, T, 5]
    # Note and prompt apart: in the prompt, where most tokens are, naming the record is easy.
    naming = sum(cross_entropy(records[part], batch["records"][part]) for part in (wanted, ~wanted))
    joining, matching, pointing = map(looking, scores, (batch["joins"], batch["matches"], batch["sources"]))
    parts = {"note": note, "naming": naming, "joining": joining, "matching": matching, "pointing": pointing}
    if trainee.counts_records:
        lines = ~wanted & (batch["matches"] == NONE)  # the prompt without the task line
        parts["counting"] = cross_entropy(trainee.counts_records(outputs[0][lines]), batch["records"][lines])
    return parts, copied


def note_loss(logits, at):
    """Weighted cross-entropy of `logits` `[N, V]`, and the share of values that they copy rightly.

    A value in a row at wrong positions has no right token, only a right kind: there the probability of the kind counts.
    """
    logp = logits.log_softmax(-1)
    value = at["kinds"] != NONE
    loose, judged = value & at["noisy"], value & ~at["noisy"]
    right = logp.gather(1, at["targets"][:, None])[:, 0]  # [N]
    of_kind = logp[loose].masked_fill(~KIND_TABLE[at["kinds"][loose]], float("-inf")).logsumexp(-1)
    copied = (logits[judged].argmax(-1) == at["targets"][judged]).float().mean().item()
    return -(at["weights"] * right.masked_scatter(loose, of_kind)).sum() / at["weights"].sum(), copied


def cross_entropy(logits, labels):
    """Mean over the labelled places; 0 where nothing is labelled."""
    return F.cross_entropy(logits, labels, ignore_index=NONE, reduction="sum") / (labels != NONE).sum().clamp(min=1)


def looking(scores, sources):
    """Cross-entropy of taught heads' attention `[B, h, T, T]` on the token that they are to look at, `sources [B, T]`."""
    row, t = (sources != NONE).nonzero(as_tuple=True)
    not_past = (
        torch.arange(scores.shape[-1]) >= t[:, None]
    )  # [N, S]: in a search for its like, a token is no find itself
    scores = scores[row, :, t].masked_fill(not_past[:, None], float("-inf"))  # [N, h, S]
    return cross_entropy(scores.flatten(0, 1), sources[row, t].repeat_interleave(scores.shape[1]))
