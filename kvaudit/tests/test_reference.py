"""The reference is audited before it judges anybody, and what it does not say is found."""

import pytest
import torch

from kvaudit import audit
from kvaudit.judge.oracle import examine
from kvaudit.subject import BadReference, Uncached
from kvaudit.witness import attend, band
from toy import Toy, ToyDecoder, V


def toy(**changes):
    """A toy of which some methods are somebody else's: `name(toy, *given)`."""
    made = Toy()
    for name, change in changes.items():
        setattr(made, name, change.__get__(made) if callable(change) else change)
    return made


class Shared(Toy):
    """Four query heads over two key/value heads, grouped as the model likes."""

    shared_heads = True

    def __init__(self, expand):
        super().__init__()
        self.expand = expand

    def forward(self, tokens, positions, attention):
        x = self.table[tokens] + self.places[positions]
        for layer in range(self.n_layers):
            q, k, v = (x @ self.qkv[layer] / 3)[..., :16].unflatten(-1, (8, 2)).transpose(1, 2).split([4, 2, 2], dim=1)
            x = x + attention(layer, q, k, v, 2**-0.5).transpose(1, 2).flatten(2)
        return x @ self.out

    def logits(self, tokens):
        mask = band(tokens.shape[1], tokens.shape[1])

        def own(layer, q, k, v, scale):
            return attend(q, k, v, scale, mask, self.expand)

        return self.forward(tokens, torch.arange(tokens.shape[1]), own)


class Cached:
    """A right decoder over a reference's forward; `expand` groups its heads."""

    def __init__(self, reference, expand=None):
        self.reference, self.expand = reference, expand

    def prefill(self, tokens):
        self.rows = {}
        return self.feed(tokens)

    def decode(self, token):
        return self.feed(token[:, None])

    def extend(self, tokens):
        return self.feed(tokens)

    def feed(self, tokens):
        start = self.rows[0][0].shape[2] if self.rows else 0
        return self.reference.forward(tokens, torch.arange(tokens.shape[1]) + start, self.attention)[:, -1]

    def attention(self, layer, q, k, v, scale):
        if layer in self.rows:
            k, v = (torch.cat(pair, dim=2) for pair in zip(self.rows[layer], (k, v)))
        self.rows[layer] = k, v
        mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril(k.shape[2] - q.shape[2])
        return attend(q, k, v, scale, mask, self.expand)


def looks_ahead(self, tokens):
    return self.forward(tokens, torch.arange(tokens.shape[1]), everything_visible)


def everything_visible(layer, q, k, v, scale):
    return attend(q, k, v, scale, torch.ones(q.shape[2], k.shape[2], dtype=torch.bool))


def counts_its_tokens(self, tokens):
    return Toy.logits(self, tokens) * tokens.shape[1]


def off_by_a_constant(self, tokens, positions, attention):
    return Toy.forward(self, tokens, positions, attention) + torch.arange(V) * 0.01


def scaled_wrongly(self, tokens, positions, attention):
    return Toy.forward(self, tokens, positions, lambda layer, q, k, v, scale: attention(layer, q, k, v, scale / 2))


PROBLEMS = {  # what is wrong with it -> what the report says
    "looks ahead": ({"logits": looks_ahead}, "the model looks ahead"),
    "depends on length": ({"logits": counts_its_tokens}, "depend on how many tokens follow"),
    "forward off by a constant": ({"forward": off_by_a_constant, "logits": Toy.logits}, None),
    "a wrong scale": ({"forward": scaled_wrongly, "logits": None}, "With the scale 1 / sqrt(head_dim) it would be"),
}


def with_problem(name):
    changes, words = PROBLEMS[name]
    made = toy(**{k: v for k, v in changes.items() if v is not None})
    if "forward" in changes:  # `logits` stays the right network
        made.logits = Toy().logits
        words = words or "forward is not the network of its logits: they differ by 1.00e-01"
    return made, words


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_reference_that_contradicts_itself_judges_nobody(name):
    reference, words = with_problem(name)
    report = audit(ToyDecoder(Toy()), reference)
    assert report.verdict == "the oracles disagree" and report.exit_code == 2 and not report.suspects
    assert words in report.summary and "nothing can be judged" in report.summary


def tile(x):
    return x.repeat(1, 2, 1, 1)


@pytest.mark.parametrize(("right", "wrong"), [(None, tile), (tile, None)], ids=["in place", "tiled"])
def test_how_shared_heads_are_grouped_is_found_by_trial(right, wrong):
    reference = Shared(right)
    report = audit(Cached(reference, right), reference)
    assert report.verdict == "equal", report
    assert ("are tiled (0 1 0 1 …): found by trial" in str(report)) == (right is tile)
    report = audit(Cached(reference, wrong), reference)
    assert report.suspects[0].fault == "gqa_tile"
    assert report.suspects[0].words.endswith("in place, not tiled" if right is tile else "tiled, not interleaved")


def test_heads_that_are_not_shared_are_found_by_looking():
    plain = toy(shared_heads=True)
    examine(Uncached.of(plain))
    assert Uncached.of(plain).shared_heads is False


def test_a_rotation_that_is_not_the_models_is_not_used():
    plain = toy(rotary=True, rotate=lambda self, x, by: x)
    report = audit(ToyDecoder(Toy()), plain)
    assert report.verdict == "equal" and "rotate does not turn this model's keys" in str(report)
    assert not any(fault.startswith("rope") for fault in report.unseen)


def raises(self, *given):
    raise KeyError("layers.0.k")


def none(self, tokens):
    return None


def one_token_short(self, tokens):
    return Toy.logits(self, tokens)[..., :-1]


def not_a_number(self, tokens):
    return Toy.logits(self, tokens) / 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"logits": raises}, r"the reference's logits raised KeyError: 'layers.0.k' \(given \[\d, \d+\]\)"),
        ({"forward": raises, "logits": Toy().logits}, "the reference's forward raised KeyError"),
        ({"logits": none}, r"must be floating-point \[B, T, V\] = \[\d, \d+, 11\], not NoneType"),
        ({"logits": one_token_short}, r"not torch.float64 \[\d, \d+, 10\]"),
        ({"logits": not_a_number}, "hold NaN or infinity"),
    ],
)
def test_a_reference_that_cannot_be_used_is_said_in_words(changes, words):
    made = toy(**{k: v for k, v in changes.items() if getattr(v, "__self__", None) is None})
    for name, bound in changes.items():
        if getattr(bound, "__self__", None) is not None:
            setattr(made, name, bound)
    with pytest.raises(BadReference, match=words):
        audit(ToyDecoder(Toy()), made)
