"""Loops around a decoder: ragged batches, beam search, verified drafts and stored prefixes. Each is the smallest correct one.

They use the decoder's further calls (`prefill(lengths=)`, `reorder`, `extend_all` and `crop`, `fork`), which is where
each of them goes wrong when it does.
"""

from dataclasses import dataclass

import torch

from .caches import PaddedCache
from .decoding import CachedDecoder, Generation, Oracle, check_room


class RaggedDecoder(CachedDecoder):
    """Also takes prompts of different length: `[B, T]`, padded on the left, with the real `lengths` `[B]`."""

    def __init__(self, model, new_cache=None):
        super().__init__(model, new_cache or (lambda: PaddedCache(model.config.n_layers)))

    def prefill(self, tokens, lengths=None):
        """Logits `[B, V]` after each row's last token. What id the pads have does not matter, it must only be a valid one."""
        self.start()
        if lengths is not None:
            check_lengths(tokens, lengths)
            self.cache.pads = tokens.shape[1] - lengths.cpu()  # [B]
        return self.extend(tokens)


def check_lengths(tokens, lengths):
    """Raise ValueError unless there is one length a row, between 1 and the padded length."""
    B, T = tokens.shape
    if list(lengths.shape) != [B] or int(lengths.min()) < 1 or int(lengths.max()) > T:
        raise ValueError(f"lengths must be {B} whole numbers from 1 to {T}, one for each row, not {lengths.tolist()}")


class RaggedOracle:
    """Each row by itself, without padding and without a cache."""

    def __init__(self, model):
        self.model = model

    def prefill(self, tokens, lengths=None):
        lengths = [tokens.shape[1]] * len(tokens) if lengths is None else lengths.tolist()
        self.rows = [Oracle(self.model) for _ in lengths]
        return torch.cat([row.prefill(ids[None, -n:]) for row, ids, n in zip(self.rows, tokens, lengths)])

    def decode(self, token):
        return torch.cat([row.decode(t[None]) for row, t in zip(self.rows, token)])


@dataclass
class Beams:
    """`tokens [K, n]`, best first, their summed log-probabilities `scores [K]`, and `parents [n, K]` of every step."""

    tokens: torch.Tensor
    scores: torch.Tensor
    parents: torch.Tensor


def beam_search(decoder, prompt, width, max_new_tokens):
    """The `width` likeliest continuations kept at each step of one prompt `[1, T0]`. Returns `Beams`."""
    check_room(decoder, prompt, max_new_tokens)
    logits = decoder.prefill(prompt.expand(width, -1))  # [K, V]
    total = torch.full([width, 1], float("-inf"), dtype=logits.dtype, device=logits.device)
    total[0] = 0.0  # the beams are still one and the same: only the first may have children
    tokens, history = prompt.new_empty(width, 0), []
    for step in range(max_new_tokens):
        if step:
            logits = decoder.decode(tokens[:, -1])
        total, choice = (total + logits.log_softmax(dim=-1)).flatten().topk(width)
        total, parents, token = total[:, None], choice // logits.shape[1], choice % logits.shape[1]
        decoder.reorder(parents)
        tokens = torch.cat([tokens[parents], token[:, None]], dim=1)
        history.append(parents)
    return Beams(tokens, total[:, 0], torch.stack(history))


def speculative(decoder, prompt, max_new_tokens, propose):
    """Greedy decoding of `prompt` `[B, T0]` in which guesses are verified together, in one pass over all of them.

    `propose(tokens [B, t]) -> [B, k]` guesses what follows. What the decoder would have chosen itself stays (as far as
    that holds in every row), the rest is cropped from the cache: the text is the one of plain greedy decoding.
    Returns a `Generation`. Source: Leviathan et al. 2023, at temperature 0.
    """
    check_room(decoder, prompt, max_new_tokens)
    logits = [decoder.prefill(prompt)][:max_new_tokens]  # [B, V] each
    tokens = torch.cat([prompt, *[x.argmax(-1, keepdim=True) for x in logits]], dim=1)
    while len(logits) < max_new_tokens:
        guess = propose(tokens)[:, : max_new_tokens - len(logits) - 1]  # [B, k]
        answers = decoder.extend_all(torch.cat([tokens[:, -1:], guess], dim=1))  # [B, k + 1, V]
        choice = answers.argmax(dim=-1)
        right = int((choice[:, :-1] == guess).all(dim=0).long().cumprod(0).sum())
        decoder.crop(tokens.shape[1] + right)  # the last chosen token is not fed yet
        tokens = torch.cat([tokens, choice[:, : right + 1]], dim=1)
        logits += answers[:, : right + 1].unbind(dim=1)
    new = tokens[:, prompt.shape[1] :]
    return Generation(prompt, new, torch.stack(logits, dim=1) if logits else new.new_empty(*new.shape, 0))


class PrefixStore:
    """Keeps one decoder that has read a common beginning; each request continues on a fork of it."""

    def __init__(self, decoder, prefix):
        self.stored = decoder
        decoder.prefill(prefix)

    def request(self, tokens):
        """A decoder for this request alone, and its logits `[B, V]` after prefix and `tokens` `[B, T]`."""
        decoder = self.stored.fork()
        return decoder, decoder.extend(tokens)
