"""What the heads of a trained model look at, and what the model is without some of them."""

import torch

from ..faults.mistakes import InSteps
from ..ledger import TOKENIZER
from ..ledger.samples import NONE, sample
from ..model import CausalAttention
from ..modules import with_modules


class Watched(InSteps):
    """Attention that keeps the weights `[B, H, T, S]` of its last call in `seen`."""

    def weights(self, scores, mask):
        self.seen = super().weights(scores, mask)
        return self.seen


class Cut(CausalAttention):
    """Attention in which the heads `silent` write nothing into the residual stream."""

    silent = ()

    def merge(self, y):  # [B, H, T, D]
        y = y.clone()
        y[:, list(self.silent)] = 0
        return super().merge(y)


@torch.no_grad()
def attention_weights(model, tokens):
    """The weights of every head, `[L, B, H, T, T]`, in one pass over `tokens` `[B, T]` without a cache."""
    watched = with_modules(model, [Watched], [])
    watched(tokens)
    return torch.stack([block.attention.seen for block in watched.blocks])


def without(model, heads):
    """`model` without the given heads, pairs (layer, head), over the same weights; the model itself stays as it is."""
    twin = with_modules(model, [Cut], [])
    for layer, block in enumerate(twin.blocks):
        block.attention.silent = [head for at, head in heads if at == layer]
    return twin


def note_places(example):
    """(tokens `[1, T]` of the prompt and its right note, queries `[n]`, sources `[n]`).

    At each of the `queries` the next token to write is a piece of a value (an id, amount, wallet or date); the piece
    stands in the prompt's record at the place in `sources`.
    """
    s = sample(example)
    sources = torch.tensor(s.sources)
    queries = (sources != NONE).nonzero()[:, 0]
    return torch.tensor([s.ids]), queries, sources[queries]


@torch.no_grad()
def pieces_right(model, examples):
    """Share of the value pieces of the right notes that the model would write next, each after the right text before it."""
    right = asked = 0
    for one in examples:
        tokens, queries, _ = note_places(one)
        chosen = model(tokens)[0, queries].argmax(-1)
        right, asked = right + int((chosen == tokens[0, queries + 1]).sum()), asked + len(queries)
    return right / asked


def segments(example):
    """The parts of the prompt and its note in tokens: `[(words, first, one past the last)]`."""
    ids, parts = sample(example).ids, []
    for number, text in enumerate(example.prompt.splitlines()):
        words = f"record {number - 1}" if text.startswith("-") else text.partition(":")[0].lower()
        start = parts[-1][2] if parts else 0
        parts.append((words, start, start + len(TOKENIZER.encode(text + "\n"))))
    return [*parts[:-1], ("note", parts[-1][1], len(ids))]


def read_by(weights, tokens, queries, sources):
    """What one head `[T, S]` reads at each query: rows [piece to write, token read most, its weight, weight on the source]."""
    texts = TOKENIZER.pieces(tokens[0].tolist())
    rows = []
    for query, source in zip(queries.tolist(), sources.tolist()):
        most = int(weights[query].argmax())
        rows.append(
            [texts[query + 1], texts[most].replace("\n", "(line break)"), weights[query, most], weights[query, source]]
        )
    return rows
