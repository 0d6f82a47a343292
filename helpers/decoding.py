"""Decoding: the no-cache oracle, the cached decoder, and one plain loop over either.

A *decoder* is anything with `prefill(tokens [B, T]) -> logits [B, V]`, which starts a new sequence, and
`decode(token [B]) -> logits [B, V]`, one step. There is no base class: a learner's functions, a faulty decoder and a
Hugging Face model all fit. Further calls (`extend`, `extend_all`, `layers`, `crop`, `reorder`, `fork`) unlock further
checks.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch

from .cache import ConcatCache, check_batch
from .model import NoCache
from .sampling import check_sampling, choose
from .tokens import check_shape, check_tokens


class CachedDecoder:
    """Prefill, then one token a step: every token's keys and values are computed once."""

    def __init__(self, model, new_cache: Callable | None = None):
        self.model = model
        self.block_size = model.config.block_size
        self.new_cache = new_cache or (lambda: ConcatCache(model.config.n_layers))
        self.cache = None

    def start(self):
        """A new sequence gets a new cache."""
        self.cache = self.new_cache()

    def prefill(self, tokens):
        self.start()
        return self.extend(tokens)

    def decode(self, token):
        return self.extend(one_each(token))

    @torch.inference_mode()
    def extend(self, tokens):
        """Feed a chunk `[B, T]` on top of what is cached; logits `[B, V]` after its last token."""
        return self.model(tokens, self.started(), last_only=True)[:, -1]

    @torch.inference_mode()
    def extend_all(self, tokens):
        """As `extend`, but logits `[B, T, V]` after each of the chunk's tokens: what the verifier of a draft needs."""
        return self.model(tokens, self.started())

    def started(self):
        if self.cache is None:
            raise ValueError("nothing is cached yet: call prefill before decode or extend")
        return self.cache

    def layers(self):
        return self.started().layers()

    def crop(self, length):
        self.started().crop(length)

    def reorder(self, parents):
        self.started().reorder(parents)

    def fork(self):
        """A decoder that goes on from here by itself, on a copy of the cache."""
        twin = copy.copy(self)
        twin.cache = self.started().fork()
        return twin


class Oracle:
    """The same calls without a cache: keeps only the token ids and computes the whole sequence again each time.

    `no_cache` builds what stands in for the cache in one call: another one than `NoCache` changes the specification,
    for example to a sliding window.
    """

    def __init__(self, model, no_cache: Callable = NoCache):
        self.model, self.no_cache = model, no_cache
        self.block_size = model.config.block_size
        self.tokens = None  # [B, T so far]

    def prefill(self, tokens):
        self.tokens = None
        return self.extend(tokens)

    def decode(self, token):
        return self.extend(one_each(token))

    def extend(self, tokens):
        return self.whole(tokens, last_only=True)[:, -1]

    def extend_all(self, tokens):
        return self.whole(tokens)[:, -tokens.shape[1] :]

    @torch.inference_mode()
    def whole(self, tokens, last_only=False):
        """Logits of the sequence so far and `tokens` after it, which are remembered only where the model took them."""
        check_tokens(tokens, self.model.token.weight)
        seen = tokens
        if self.tokens is not None:
            check_batch(self.tokens, tokens)
            seen = torch.cat([self.tokens, tokens], dim=1)  # [B, T so far + T]
        logits = self.model(seen, self.no_cache(), last_only)
        self.tokens = seen
        return logits

    def crop(self, length):
        self.tokens = self.tokens[:, :length]

    def reorder(self, parents):
        self.tokens = self.tokens[parents]

    def fork(self):
        return copy.copy(self)


def one_each(token):
    """One id a row, `[B]`, as a chunk `[B, 1]`. Raises ValueError for another shape."""
    check_shape(token, "[B], one id a row (a chunk goes to extend)")
    return token[:, None]


@dataclass
class Generation:
    """What a loop produced: `prompt [B, T0]`, new `tokens [B, n]` and the `logits [B, n, V]` each was chosen from."""

    prompt: torch.Tensor
    tokens: torch.Tensor
    logits: torch.Tensor


def check_room(decoder, prompt, new):
    """Raise ValueError where prompt + new - 1 tokens do not fit the block (the last new token is never fed)."""
    check_shape(prompt)
    if not isinstance(new, int) or new < 0:
        raise ValueError(f"max_new_tokens must be a whole number, 0 or more, not {new!r}")
    block, T0 = getattr(decoder, "block_size", None), prompt.shape[1]
    need = T0 + max(new - 1, 0)
    if block is not None and need > block:
        fits = max(block - T0 + 1, 0)
        raise ValueError(
            f"a prompt of {T0} tokens and {new} new ones need {need} positions, the block has {block}; "
            + (f"at most {fits} new tokens fit" if T0 <= block else f"shorten the prompt by {T0 - block}")
        )


def generate(decoder, prompt, max_new_tokens, *, temperature=0.0, top_k=None, top_p=None, stop=None, generator=None):
    """Feed `prompt` `[B, T0]`, then `max_new_tokens` times: choose a token from the logits, feed it.

    temperature 0 is greedy. `stop` (a token id) ends a row; the rest of that row is filled with the stop token, and the
    loop ends when all rows have stopped. The last token is chosen but not fed, so T0 + n - 1 tokens are cached at the
    end. Returns a `Generation`. Raises ValueError for a prompt or sampling values out of range.
    """
    check_room(decoder, prompt, max_new_tokens)
    check_sampling(temperature, top_k, top_p)
    logits, tokens = [decoder.prefill(prompt)], []  # [B, V] each; [B] each
    done = torch.zeros(prompt.shape[0], dtype=torch.bool, device=prompt.device)
    for step in range(max_new_tokens):
        if step:
            logits.append(decoder.decode(tokens[-1]))
        token = choose(logits[-1], temperature, top_k, top_p, generator)
        if stop is not None:
            token = token.masked_fill(done, stop)
            done = done | (token == stop)
        tokens.append(token)
        if stop is not None and bool(done.all()):
            break
    new = torch.stack(tokens, dim=1) if tokens else prompt[:, :0]
    return Generation(prompt, new, torch.stack(logits, dim=1)[:, : new.shape[1]])


def teacher_forced(decoder, prompt, tokens):
    """Logits `[B, n, V]` when the given `tokens` `[B, n]` are fed whatever the decoder would choose itself.

    Entry 0 is the prefill's logits, entry k those after feeding token k - 1: the same steps as `generate` makes.
    """
    logits = [decoder.prefill(prompt)]
    logits += [decoder.decode(tokens[:, step]) for step in range(tokens.shape[1] - 1)]
    return torch.stack(logits, dim=1)[:, : tokens.shape[1]]
