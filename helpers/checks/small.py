"""What the decoding checks share: a small random model in float64, its oracle, and how a wrong step is put into words.

B, T, H, D and L are pairwise different, so that exchanged axes cannot pass; the weights are wide, so that a fault moves
the logits far. In float64 a right cached path agrees with the oracle to a few 1e-15.
"""

import torch

from ..cache import ConcatCache
from ..config import Config
from ..faults import CATALOGUE, faulty
from ..model import MiniGPT
from .compare import parts, tensor_like, within
from .registry import Wrong, kind

B, H, D, L, V, BLOCK = 4, 2, 10, 3, 23, 17
TOLERANCE = 1e-9
ROW_AXES = "B H S D"

# Factors that make greedy text depend on every token that was fed: rows differ, no row repeats one token for ever.
WIDER = {"position.weight": 1.5, "qkv.weight": 3, "project.weight": 6, "ffn.2.weight": 6}


def small_model():
    """A MiniGPT with learned positions: 17 of them, 3 layers, 2 heads of 10 channels, 23 tokens."""
    torch.manual_seed(9)
    config = Config(V, BLOCK, n_layers=L, n_heads=H, d_model=H * D, d_ff=28)
    model = MiniGPT(config).double().eval().requires_grad_(False)
    model.reset_parameters(std=0.2)
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(parameter, std=0.1)  # zero biases would hide one that is left out
        parameter.mul_(next((factor for end, factor in WIDER.items() if name.endswith(end)), 1))
    return model


def some_tokens(length, seed=1):
    """Token ids `[B, length]`; a longer one begins with the shorter one."""
    return torch.randint(V, (B, 2 * BLOCK), generator=torch.Generator().manual_seed(seed))[:, :length]


def fed_in(loop, length, n):
    """Tokens in each pass through layer 0 while `loop(model, prompt [B, length], n)` runs; [] if it calls no layer."""
    model, fed = small_model(), []
    model.blocks[0].norm1.register_forward_hook(lambda _, x, y: fed.append(x[0].shape[1]))
    loop(model, some_tokens(length), n)
    return fed


class Case:
    """A sequence that is fed in `pieces` `[B, T]`, the first of which is the prompt; what must come out of the last."""

    def __init__(self, *lengths, seed=1, batch=B):
        self.model = small_model()
        self.tokens = some_tokens(sum(lengths), seed)[:batch]
        self.pieces = self.tokens.split(lengths, dim=1)
        self.T, self.S = lengths[-1], sum(lengths)  # new tokens, rows after them
        self.logits = self.model(self.tokens)[:, -self.T :]  # the oracle's, [B, T, V]
        self.rows = self.fill(self.pieces)

    def past(self):
        """`[(K, V), ...]` before the last piece: what the learner's function is given. None before the prompt."""
        return self.fill(self.pieces[:-1]) if len(self.pieces) > 1 else None

    def fill(self, pieces):
        cache = ConcatCache(L)
        for piece in pieces:
            self.model(piece, cache)
        return [(k.clone(), v.clone()) for k, v in cache.layers()]

    def structure(self, out, last_only):
        """(logits, past), both of the right shape and length; raises `Wrong`."""
        logits, past = parts(out, ("logits", "past"))
        expected, axes = (self.logits[:, -1], "B V") if last_only else (self.logits, "B T V")
        tensor_like(logits, expected, axes, "logits")
        if not isinstance(past, (list, tuple)) or len(past) != L:
            many = f"{kind(past)} of {len(past)}" if isinstance(past, (list, tuple)) else kind(past)
            raise Wrong(f"past is {many}; expected a list of {L} pairs (K, V), one for each layer")
        pairs = [parts(pair, ("K", "V"), f"past[{layer}]") for layer, pair in enumerate(past)]
        for name, tensors in zip("KV", zip(*pairs)):
            self.lengths(name, tensors)
        for layer, (pair, right) in enumerate(zip(past, self.rows)):
            for name, got, expected in zip("KV", pair, right):
                tensor_like(got, expected, ROW_AXES, f"{name} of layer {layer}")

    def lengths(self, name, tensors):
        got = [x.shape[2] if isinstance(x, torch.Tensor) and x.dim() == 4 else None for x in tensors]
        if None in got or got == [self.S] * L:
            return  # no rows to count: the comparison of shapes says what it is instead
        meaning = {self.S - self.T: "the new rows are not stored", self.S + self.T: "the new rows are stored twice"}
        if self.S > self.T:
            meaning[self.T] = "the past is dropped, only the new rows are returned"
        unequal = None if len(set(got)) == 1 else "layers that do not each have a cache of their own"
        fed = f"{self.S - self.T} cached + {self.T} fed"
        raise Wrong(
            f"the layers hold {got} rows of {name}; expected {self.S} in each ({fed})", unequal or meaning.get(got[0])
        )

    def check_rows(self, out):
        """Every K and V row of every layer; raises `Wrong` with the first layer that differs."""
        for layer, (got, right) in enumerate(zip(out[1], self.rows)):
            wrong = [far(g, r).amax(dim=(0, 1, 3)) for g, r in zip(got, right)]  # [S] each, for K and V
            if max(float(w.max()) for w in wrong) > TOLERANCE:
                names = " and ".join(n for n, w in zip("KV", wrong) if float(w.max()) > TOLERANCE)
                old = any(float(w[: self.S - self.T].max()) > TOLERANCE for w in wrong if self.S > self.T)
                which = "rows that were cached before" if old else f"the new row{'s' if self.T > 1 else ''}"
                earlier = f"; layers before it are right (it is fed by layer {layer - 1})" if layer else ""
                raise Wrong(f"layer {layer} differs in {names}, in {which}{earlier}", self.explain(out, layer))
        return f"{self.S} rows in each of {L} layers"

    def explain(self, out, layer):
        """The known mistake that gives the very same numbers, or None."""
        (k, v), (right_k, right_v) = out[1][layer], self.rows[layer]
        new_first = [torch.cat([x[:, :, -self.T :], x[:, :, : -self.T]], dim=2) for x in (right_k, right_v)]
        if all(equal(k, other[0]) for other in out[1]):
            return "one cache shared by all layers"
        if equal(v, right_k):
            return "keys stored in the place of the values"
        if equal(k, new_first[0]) and self.S > self.T:
            return "the new rows put in front of the old ones, or the axis order of the concatenation"
        if layer == 0 and (place := self.position_of(k[:, :, -1])) not in (None, self.S - 1):
            return (
                f"a token at position {place}; its layer-0 key equals the key of that position, expected {self.S - 1}"
            )
        return self.fault_like(out[0])

    def position_of(self, key):
        """The position at which the last token's layer-0 key would be `key` `[B, H, D]`; None if there is none."""
        block = self.model.blocks[0]
        for place in range(BLOCK):
            x = self.model.embed(self.tokens[:, -1:], torch.tensor([place]))
            if equal(key, block.attention.split(block.attention.qkv(block.norm1(x)))[1][:, :, 0]):
                return place

    def fault_like(self, logits):
        """What the fault does that reproduces the last logits, with where to look; None if none of the catalogue does."""
        last = logits[:, -1] if logits.dim() == 3 else logits
        if equal(last, self.logits[:, -1]):
            return None
        for fault in CATALOGUE.values():
            if fault.needs is None and equal(last, self.with_fault(fault.id)):
                return f"{fault.does} Look at {fault.look}".rstrip(".")

    def with_fault(self, name):
        decoder = faulty(self.model, name)
        try:
            logits = decoder.prefill(self.pieces[0])
            for piece in self.pieces[1:]:
                logits = decoder.extend(piece) if piece.shape[1] > 1 else decoder.decode(piece[:, 0])
        except ValueError:
            return None  # it ran out of positions
        return logits

    def check_logits(self, out, step=None):
        """The logits against the oracle's; returns the detail of a pass."""
        got = out[0].detach()
        right = self.logits if got.dim() == 3 else self.logits[:, -1]
        difference = far(got, right)
        worst = float(difference.max())
        if worst <= TOLERANCE:
            return within(worst, TOLERANCE)
        place = [int(i) for i in (difference > TOLERANCE).nonzero()[0][:-1]]  # row, and position in the piece
        where = f"row {place[0]}" + (f", position {self.S - self.T + place[1]}" if len(place) > 1 else "")
        yours, theirs = int(got[tuple(place)].argmax()), int(right[tuple(place)].argmax())
        write = (
            f"it would write token {yours} where the oracle writes {theirs}"
            if yours != theirs
            else (f"the next token ({yours}) happens to be the same")
        )
        at = f"step {step} differs" if step is not None else "the logits differ"
        seen = f"{at} from the oracle by up to {worst:.3g} ({where}; tolerance {TOLERANCE:g}); {write}"
        raise Wrong(seen, self.fault_like(got))


def far(a, b):
    return (a.detach().double() - b.double()).abs()


def equal(a, b):
    """Equal within the tolerance; False for another shape, and for None."""
    return a is not None and b is not None and a.shape == b.shape and bool((far(a, b) <= TOLERANCE).all())


def follow(exercise, when, case, call, last_only=True):
    """Append three checks of one call: shapes and lengths, rows, logits. `call(answer, case)` gives (logits, past)."""

    @exercise.check(f"{when}: shapes and lengths")
    def _(answer):
        made = case()
        made.structure(call(answer, made), last_only)

    @exercise.check(f"{when}: rows of every layer")
    def _(answer):
        made = case()
        return made.check_rows(call(answer, made))

    @exercise.check(f"{when}: logits equal the oracle's")
    def _(answer):
        made = case()
        return made.check_logits(call(answer, made))
