"""The loops around a decoder against what they must amount to: brute force, plain greedy decoding, separate requests."""

from itertools import product

import pytest
import torch

from helpers.decoding import CachedDecoder, Oracle, generate
from helpers.loops import PrefixStore, beam_search, speculative
from tests.wide import wide

MODEL = wide()
PROMPT = torch.randint(61, (4, 7), generator=torch.Generator().manual_seed(2))


def test_a_beam_that_drops_nothing_finds_the_likeliest_text():
    model, prompt = wide(vocab_size=5), PROMPT[:1] % 5
    texts = torch.tensor(list(product(range(5), repeat=3)))  # [125, 3], all there are
    logprobs = model(torch.cat([prompt.expand(125, -1), texts], dim=1)).log_softmax(-1)[:, 6:-1]  # [125, 3, V]
    scores = logprobs.gather(2, texts[:, :, None])[:, :, 0].sum(1)  # [125]
    found = beam_search(CachedDecoder(model), prompt, 25, 3)
    assert torch.equal(found.tokens, texts[scores.topk(25).indices])
    torch.testing.assert_close(found.scores, scores.topk(25).values)


@pytest.mark.parametrize("width", [1, 3, 5])
def test_cached_beams_are_the_oracle_s_beams(width):
    ours, truth = (beam_search(d, PROMPT[:1], width, 6) for d in (CachedDecoder(MODEL), Oracle(MODEL)))
    assert torch.equal(ours.tokens, truth.tokens) and torch.equal(ours.parents, truth.parents)
    torch.testing.assert_close(ours.scores, truth.scores)


def test_one_beam_is_greedy():
    assert torch.equal(
        beam_search(CachedDecoder(MODEL), PROMPT[:1], 1, 6).tokens, generate(Oracle(MODEL), PROMPT[:1], 6).tokens
    )


class Counted(CachedDecoder):
    """Counts how many tokens each call feeds."""

    def extend_all(self, tokens):
        self.calls.append(tokens.shape[1])
        return super().extend_all(tokens)


def guesses(right):
    """Proposes two tokens, of which the first `right` are what greedy decoding writes."""
    truth = generate(Oracle(MODEL), PROMPT, 12).tokens

    def propose(tokens):
        ahead = truth[:, tokens.shape[1] - 7 :][:, :2].clone()
        ahead[:, right:] = (ahead[:, right:] == 0).long()
        return ahead

    return propose


@pytest.mark.parametrize(("right", "calls"), [(0, [3] * 6 + [2, 1]), (1, [3, 3, 3, 2]), (2, [3, 3, 2])])
def test_drafts_change_the_number_of_calls_and_nothing_else(right, calls):
    decoder = Counted(MODEL)
    decoder.calls = []
    ours, plain = speculative(decoder, PROMPT, 9, guesses(right)), generate(Oracle(MODEL), PROMPT, 9)
    assert torch.equal(ours.tokens, plain.tokens)
    torch.testing.assert_close(ours.logits, plain.logits)
    assert decoder.calls == calls
    assert decoder.cache.length == 7 + 9 - 1


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_tokens_need_no_draft(n):
    ours, plain = (
        loop(CachedDecoder(MODEL), PROMPT, n, *more) for loop, more in ((speculative, [guesses(1)]), (generate, []))
    )
    assert torch.equal(ours.tokens, plain.tokens) and ours.logits.shape[:2] == (4, n)


def test_a_guess_counts_only_where_every_row_agrees():
    propose = guesses(2)

    def one_row_off(tokens):
        ahead = propose(tokens)
        ahead[2, 0] = (ahead[2, 0] + 1) % 61
        return ahead

    assert torch.equal(
        speculative(CachedDecoder(MODEL), PROMPT, 6, one_row_off).tokens, generate(Oracle(MODEL), PROMPT, 6).tokens
    )


def test_what_follows_a_wrong_guess_does_not_count_even_where_it_would_be_chosen():
    def propose(tokens):
        wrong = guesses(0)(tokens)[:, :1]  # [B, 1]
        return torch.cat([wrong, Oracle(MODEL).prefill(torch.cat([tokens, wrong], 1)).argmax(-1, keepdim=True)], 1)

    assert torch.equal(
        speculative(CachedDecoder(MODEL), PROMPT, 6, propose).tokens, generate(Oracle(MODEL), PROMPT, 6).tokens
    )


def test_requests_on_a_stored_prefix_do_not_meet():
    store = PrefixStore(CachedDecoder(MODEL), PROMPT[:, :5])
    rests = [PROMPT[:, 5:], PROMPT[:, 5:].roll(1, 0), PROMPT[:, 5:6]]
    started = [store.request(rest) for rest in rests]
    token = PROMPT[:, 0]
    for rest, (decoder, logits) in zip(rests, started):  # only now, after all of them have begun
        oracle = Oracle(MODEL)
        torch.testing.assert_close(logits, oracle.prefill(torch.cat([PROMPT[:, :5], rest], dim=1)))
        torch.testing.assert_close(decoder.decode(token), oracle.decode(token))
    assert store.stored.cache.length == 5
