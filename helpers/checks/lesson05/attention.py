"""Lesson 05: attention with a past, as a function of tensors only. In float64, against explicit rows and masks."""

import torch

from ..compare import compare, inputs_kept, own, parts, tensor_like, within
from ..registry import Exercise, Wrong
from ..small import ROW_AXES, TOLERANCE, equal

B, H, D, PAST = 4, 2, 5, 6  # a batch of 4, 2 heads of 5 channels, 6 rows cached before

attention_with_past = Exercise(
    name="attention_with_past",
    lesson="05",
    call="attention_with_past(x, qkv_weight, qkv_bias, out_weight, out_bias, n_heads, past_kv=None) -> (y, (K, V))",
    minutes=20,
    difficulty="hard",
    hints=(
        "Queries come from the new tokens only. Which keys and values do they meet?",
        "Append to the sequence axis before attending, so that a token sees itself; return what you attended over.",
        "Query i of the T new ones stands at position n + i: of the n + T keys it may see the first n + i + 1.",
    ),
)


class Pieces:
    """Random weights and an x `[B, n + T, C]` of which the first n positions are the past."""

    def __init__(self, past, new, dtype=torch.float64):
        g = torch.Generator().manual_seed(past + 7 * new)
        C = H * D
        self.weights = [torch.randn(*shape, generator=g, dtype=torch.float64).to(dtype) * 0.5 for shape in
                        ((3 * C, C), (3 * C,), (C, C), (C,))]  # fmt: skip
        x = torch.randn(B, past + new, C, generator=g, dtype=torch.float64).to(dtype)
        qkv = (x @ self.weights[0].T + self.weights[1]).unflatten(-1, (3 * H, D)).transpose(1, 2)  # [B, 3H, S, D]
        q, self.k, self.v = qkv.chunk(3, dim=1)
        self.x, self.q, self.n, self.T, self.S = x[:, past:], q[:, :, past:], past, new, past + new
        self.past = (self.k[:, :, :past], self.v[:, :, :past]) if past else None

    def call(self, answer):
        return answer(self.x, *self.weights, H, *([self.past] if self.past else []))

    def attend(self, visible=None, scale=D**-0.5, k=None, v=None, axis=-1, merged=True, project=None, bias=None):
        """y `[B, T, C]` with one decision made differently."""
        k, v = self.k if k is None else k, self.v if v is None else v
        visible = self.triangle() if visible is None else visible
        weight = (self.q @ k.transpose(-2, -1) * scale).masked_fill(~visible, float("-inf")).softmax(axis)
        y = weight @ v  # [B, H, T, D]
        y = y.transpose(1, 2).flatten(2) if merged else y.reshape(B, self.T, H * D)
        return y @ (self.weights[2].T if project is None else project) + (self.weights[3] if bias is None else bias)

    def triangle(self):
        return torch.ones(self.T, self.S, dtype=torch.bool).tril(self.n)

    def mistakes(self):
        """Known mistakes -> the y that each of them gives."""
        identity = torch.eye(H * D, dtype=self.x.dtype)
        full, own = torch.ones(self.T, self.S, dtype=torch.bool), torch.arange(self.S) >= self.n
        ways = {
            "no causal mask: a token sees its own future": {"visible": full},
            "a mask that starts at the top left: it is not shifted by the rows cached before": {"visible": full.tril()},
            "attention over the old rows only: the new row is appended afterwards": {"visible": full & ~own},
            "attention over the new rows only: the past is not used": {"visible": self.triangle() & own},
            "a mask with its diagonal one too low: a token does not see itself": {"visible": full.tril(self.n - 1)},
            "a mask with its diagonal one too high: a token sees its successor": {"visible": full.tril(self.n + 1)},
            "scores that are not divided by the square root of the head's size": {"scale": 1.0},
            "scores divided by the square root of d_model; each head has head_dim channels": {"scale": (H * D) ** -0.5},
            "scores divided by head_dim, not by its square root": {"scale": 1 / D},
            "heads merged without exchanging the head and the sequence axis first": {"merged": False},
            "keys in the place of the values": {"v": self.k},
            "a softmax over the queries; it must run over the keys, the last axis": {"axis": -2},
            "the merged heads without the output projection": {"project": identity, "bias": 0},
            "out_weight used without its transpose": {"project": self.weights[2]},
            "the output projection without its bias": {"bias": 0},
        }
        return {words: self.attend(**way) for words, way in ways.items()}

    def structure(self, answer):
        y, pair = parts(self.call(answer), ("y", "(K, V)"))
        tensor_like(y, self.x, "B T C", "y")
        for name, got, right in zip("KV", parts(pair, ("K", "V"), "the second part"), (self.k, self.v)):
            if isinstance(got, torch.Tensor) and got.dim() == 4 and got.shape != right.shape:
                self.length(name, got.shape[2])
            tensor_like(got, right, ROW_AXES, name)
        return y, pair

    def length(self, name, rows):
        meaning = {self.n: "the new row is used but not stored", self.n + 2 * self.T: "the new rows are appended twice"}
        if self.n:
            meaning[self.T] = "the past is dropped: only the new rows are returned"
        if rows != self.S and rows in meaning:
            raise Wrong(f"{name} has {rows} rows; expected {self.n} cached + {self.T} new = {self.S}", meaning[rows])

    def rows(self, answer):
        _, (k, v) = self.structure(answer)
        looks = None
        if equal(k, self.v) or equal(v, self.k):
            looks = "keys and values exchanged, or one of them stored twice"
        elif self.n and equal(k, torch.cat([self.k[:, :, self.n :], self.k[:, :, : self.n]], dim=2)):
            looks = "the new rows put in front of the old ones"
        for name, got, right in (("K", k, self.k), ("V", v, self.v)):
            try:
                compare(got, right, TOLERANCE, ROW_AXES, name)
            except Wrong as wrong:
                raise Wrong(wrong.seen, looks) from None

    def output(self, answer, tolerance=TOLERANCE):
        y, _ = self.structure(answer)
        try:
            return within(compare(y, self.attend(), tolerance, "B T C", "y"), tolerance)
        except Wrong as wrong:
            looks = next((words for words, wrong_y in self.mistakes().items() if equal(y, wrong_y)), None)
            raise Wrong(wrong.seen, looks) from None


for when, past, new in (
    ("no past, 7 tokens", 0, 7),
    ("6 rows cached, 1 new token", PAST, 1),
    ("6 rows cached, a chunk of 3", PAST, 3),
):

    @attention_with_past.check(f"{when}: shapes of y, K and V")
    def _(answer, past=past, new=new):
        Pieces(past, new).structure(answer)

    @attention_with_past.check(f"{when}: rows of K and V")
    def _(answer, past=past, new=new):
        Pieces(past, new).rows(answer)

    @attention_with_past.check(f"{when}: y")
    def _(answer, past=past, new=new):
        return Pieces(past, new).output(answer)


@attention_with_past.check("float32 stays float32")
def _(answer):
    return Pieces(PAST, 3, torch.float32).output(answer, tolerance=1e-4)


@attention_with_past.check("x and the past are unchanged")
def _(answer):
    p = Pieces(PAST, 1)
    inputs_kept(lambda x, past: own(answer)(x, *p.weights, H, past), ("x", "past_kv"), p.x, p.past)
