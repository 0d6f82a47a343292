"""Hugging Face: the uncached reference and a cached decoder over any `transformers` causal language model.

    report = audit(HFDecoder(model))                    # DynamicCache, sliding where the config slides
    report = audit(HFDecoder(model, cache="static"))    # StaticCache
    report = audit(MyDecoder(model))                    # your own loop; it needs prefill, decode and .model

The witness attends through an attention function that is registered with `transformers`, so that projections, rotations,
norms and everything else are the model's own. What cannot be witnessed in that way (found by trying, not by name) is
judged by its logits alone: a verdict, and no name for the bug.
"""

import copy
import inspect
from contextvars import ContextVar
from itertools import chain

import torch

from .reference import attend, band

VERSIONS = ((5, 0), (6, 0))  # from the first up to, but not, the second
LONGEST = 512  # positions that an audit uses at most, however many the model has
CACHES = ("dynamic", "full", "static")
FLOAT32 = torch.finfo(torch.float32).eps
TAP = "kv_cache_audit"  # the name of our attention function
tapped = ContextVar("tapped")  # attend(layer, q, k, v, scale) of the forward pass that runs now


def check_version(version):
    """Raise ImportError in words for a `transformers` version outside the range that this file was written for."""
    numbers = tuple(int(part) for part in version.split(".")[:2])
    low, high = (".".join(map(str, v)) for v in VERSIONS)
    if not VERSIONS[0] <= numbers < VERSIONS[1]:
        raise ImportError(
            f"transformers {version} is installed; this adapter knows versions from {low} up to (not including) {high}. "
            f'Install one: pip install "transformers>={low},<{high}", or pass audit() a decoder and reference of your own'
        )


def check_model(model):
    """Raise ValueError in words unless `model` is a causal language model in evaluation mode."""
    import transformers

    check_version(transformers.__version__)
    name = type(model).__name__
    if getattr(model, "get_output_embeddings", lambda: None)() is None:
        raise ValueError(
            f"{name} has no language model head: load it as a causal language model (AutoModelForCausalLM)"
        )
    if getattr(model.config, "is_encoder_decoder", False):
        raise ValueError(f"{name} is an encoder-decoder; the audit knows decoder-only models")
    if model.training:
        raise ValueError(f"{name} is in training mode, where dropout makes every call another one: call model.eval()")


def text_config(model):
    return model.config.get_text_config(decoder=True)


def rotary_module(model):
    return next((m for m in model.modules() if isinstance(getattr(m, "inv_freq", None), torch.Tensor)), None)


def last_position(model):
    """Tokens that fit where positions are learned; None where they are computed (rotary) and none is the last."""
    computed = any("rotary" in type(m).__name__.lower() for m in model.modules())
    return None if computed else getattr(text_config(model), "max_position_embeddings", None)


def tap(module, query, key, value, attention_mask, scaling=None, **options):
    """The registered attention function: q `[B, H, T, D]`, k and v `[B, H_kv, T, D]` in, `[B, T, H, D]` out."""
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    return tapped.get()(module.layer_idx, query, key, value, scale).transpose(1, 2), None


class HFReference:
    """The reference (see reference.py) for a `transformers` model. `block_size`: positions that the audit may use."""

    def __init__(self, model, block_size=None):
        check_model(model)
        self.model, config = model, text_config(model)
        positions = getattr(config, "max_position_embeddings", None) or LONGEST
        trained = getattr(config, "original_max_position_embeddings", None) or positions
        self.block_size = block_size or min(positions, trained, LONGEST)
        self.vocab_size, self.n_layers = config.vocab_size, config.num_hidden_layers
        self.dtype, self.device = model.dtype, model.device
        self.eps = max(torch.finfo(self.dtype).eps, FLOAT32)  # norms and rotations are float32 whatever the weights are
        if last_position(model) == self.block_size:
            self.last_position = self.block_size  # one token more must be refused
        self.windows = [w if w and w < self.block_size else None for w in windows(config)]  # one a layer
        self.window = min((w for w in self.windows if w), default=None)
        self.softcap = getattr(config, "attn_logit_softcapping", None)
        self.rotary_module, self.rotary = rotary_module(model), False
        self.note_dynamic(config, min(positions, trained))
        self.twin = with_tap(model)
        if self.agrees():
            self.forward = self.tapped_forward  # a reference without `forward` gets a verdict, but no name for the bug
            self.rotary = self.rotary_module is not None and self.turns()

    def note_dynamic(self, config, trained):
        kind = (getattr(config, "rope_parameters", None) or {}).get("rope_type")
        if kind in ("dynamic", "longrope") and self.block_size > trained:
            self.specification = (
                f"{kind} rotary frequencies change beyond {trained} tokens: keys that were cached before keep the old "
                "angles, an uncached pass gives all of them new ones. The two are meant to differ."
            )

    @torch.inference_mode()
    def logits(self, tokens):
        return self.model(input_ids=tokens, use_cache=False).logits

    @torch.inference_mode()
    def tapped_forward(self, tokens, positions, attend):
        token = tapped.set(attend)
        try:
            positions = positions.to(tokens.device).expand(tokens.shape)  # [B, T]
            return self.twin(input_ids=tokens, position_ids=positions, use_cache=False).logits
        finally:
            tapped.reset(token)

    def rotate(self, x, by):
        """Turn rows of x `[B, H, T, D]` by `by` `[T]` positions: the model's frequencies, its first and second half paired."""
        turns = self.rotary_module.inv_freq.double()  # [R / 2], of the R <= D rotated numbers
        angle = by[:, None].to(turns) * turns
        cos, sin = angle.cos().to(x), angle.sin().to(x)
        a, b, rest = x.split([len(turns), len(turns), x.shape[-1] - 2 * len(turns)], dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin, rest], dim=-1)

    def double(self):
        return type(self)(copy.deepcopy(self.model).double(), self.block_size)

    independence = "a second attention and mask over the model's own projections"

    def independent_difference(self, tokens):
        if not hasattr(self, "forward"):
            return None
        return float((self.plain(tokens, []) - self.logits(tokens)).abs().max())

    def plain(self, tokens, met):
        """Logits by our own attention; each layer's number and keys are added to the list `met`."""
        T = tokens.shape[1]

        def attention(layer, q, k, v, scale):
            met.append((layer, k))
            return attend(q, k, v, scale, band(T, self.windows[layer] or T).to(q.device), softcap=self.softcap)

        return self.tapped_forward(tokens, torch.arange(T), attention)

    def agrees(self):
        """Whether our attention in the model's layers gives the model's logits, so that a witness can stand in for it."""
        tokens, met = self.some_tokens(max(8, (self.window or 0) + 3)), []
        try:
            mine = self.plain(tokens, met)
        except Exception:  # noqa: BLE001 - a model's own code, called in a way that it need not allow
            return False
        right = self.logits(tokens)
        close = self.eps**0.5 * float(right.abs().max())
        return [layer for layer, _ in met] == list(range(self.n_layers)) and float((mine - right).abs().max()) <= close

    def turns(self):
        """Whether `rotate` moves this model's keys along: only then can rotary bugs be replayed."""
        keys, tokens = [], self.some_tokens(4)
        for start in (0, 3):
            self.tapped_forward(
                tokens, torch.arange(4) + start, lambda layer, q, k, v, scale: keys.append(k) or torch.zeros_like(q)
            )
        before, after = keys[0], keys[self.n_layers]  # layer 0 at positions 0 … 3 and 3 … 6
        moved = self.rotate(before, torch.full((4,), 3, device=before.device))
        return torch.allclose(moved, after, atol=0.02 * float(after.abs().max()))

    def some_tokens(self, T):
        ids = torch.arange(2 * min(T, self.block_size)) * 7 % self.vocab_size
        return ids.view(2, -1).to(self.device)


def windows(config):
    """The sliding window of each layer in tokens, None where a layer sees everything."""
    W, L = getattr(config, "sliding_window", None), config.num_hidden_layers
    kinds = getattr(config, "layer_types", None) or ["sliding_attention"] * L
    return [W if kind == "sliding_attention" else None for kind in kinds]


def with_tap(model):
    """A twin of the model over the very same weights, whose layers attend through `tap`; it asks for no mask."""
    from transformers import AttentionInterface

    AttentionInterface.register(TAP, tap)
    twin = copy.deepcopy(model, {id(t): t for t in chain(model.parameters(), model.buffers())})
    twin.set_attn_implementation(TAP)
    return twin


class HFDecoder:
    """A cached decoder (see decoding.py) over a `transformers` causal language model.

    cache: "dynamic" (keeps a window's rows only, where layers slide), "full" (a DynamicCache that keeps all rows) or
    "static" (a StaticCache of `capacity` rows). Position ids and attention mask are given in every call, from one
    record of which tokens are real. Raises ValueError in words for a model or a cache that it does not know.
    """

    def __init__(self, model, cache="dynamic", capacity=48):
        check_model(model)
        if cache not in CACHES:
            raise ValueError(f"cache must be one of {', '.join(CACHES)}, not {cache!r}")
        self.model, self.kind, self.rows = model, cache, capacity
        self.cache_argument = cache_argument(model)
        fits = [last_position(model), capacity if cache == "static" and None in windows(text_config(model)) else None]
        self.capacity = min((n for n in fits if n), default=None)  # tokens that fit; None: no limit
        self.cache = None

    def new_cache(self):
        from transformers import DynamicCache, StaticCache

        if self.kind == "static":
            return StaticCache(config=self.model.config, max_cache_len=self.rows)
        return DynamicCache(config=self.model.config) if self.kind == "dynamic" else DynamicCache()

    def start(self, tokens):
        """A new sequence: a new cache, and no token seen. `real` `[B, S]` is 1 for tokens and 0 for padding."""
        self.cache, self.real = self.new_cache(), tokens.new_zeros(tokens.shape[0], 0)

    def prefill(self, tokens, lengths=None):
        self.start(tokens)
        T = tokens.shape[1]
        pads = 0 if lengths is None else T - lengths.to(tokens.device)[:, None]  # padding is on the left
        return self.feed(tokens, (torch.arange(T, device=tokens.device) >= pads).expand(tokens.shape).long())

    def decode(self, token):
        return self.extend(token[:, None])  # [B] -> [B, 1]

    def extend(self, tokens):
        return self.feed(tokens, torch.ones_like(tokens))

    @torch.inference_mode()
    def feed(self, tokens, real):
        """One call of the model: `tokens` `[B, T]` on top of what is cached; logits `[B, V]` after the last of them."""
        if self.cache is None:
            raise ValueError("nothing is cached yet: call prefill before decode or extend")
        self.real = torch.cat([self.real, real], dim=1)  # [B, S]
        if self.capacity and self.real.shape[1] > self.capacity:
            raise ValueError(f"{self.real.shape[1]} tokens do not fit: there is room for {self.capacity}")
        return self.model(input_ids=tokens, use_cache=True, **self.arguments(tokens.shape[1])).logits[:, -1]

    def arguments(self, T):
        """What the model is told beside the T new tokens."""
        return {
            self.cache_argument: self.cache,
            "attention_mask": self.attention_mask(T),
            "position_ids": self.position_ids(T),
        }

    def attention_mask(self, T):
        return self.real  # [B, S]: of the cached tokens as well

    def position_ids(self, T):
        return (self.real.cumsum(dim=1) - 1).clamp(min=0)[:, -T:]  # [B, T]: padding does not count

    def layers(self):
        """The live rows `[(K, V), …]`, each `[B, H_kv, S, D]`, without what a static cache has not written yet."""
        filled = [(c, min(int(c.get_seq_length()), c.keys.shape[2])) for c in self.cache.layers]
        return [(c.keys[:, :, :n], c.values[:, :, :n]) for c, n in filled]

    @torch.inference_mode()
    def crop(self, length):
        gone = self.real.shape[1] - length
        if not getattr(self.cache, "is_croppable", True):
            raise NotImplementedError("a cache that has overwritten its oldest rows cannot be rolled back")
        if gone:
            self.cache.crop(-gone)  # the library's sign: minus the number of tokens to forget
        self.real = self.real[:, :length]

    @torch.inference_mode()
    def reorder(self, parents):
        self.cache.reorder_cache(parents)
        self.real = self.real[parents]

    @torch.inference_mode()
    def fork(self):
        return copy.deepcopy(self)

    def __deepcopy__(self, memo):
        """A copy with caches of its own; the model is shared."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if name != "model":
                setattr(twin, name, copy.deepcopy(value, memo))
        return twin


def cache_argument(model):
    """What this version calls the cache in `model.forward`: "cache", or "past_key_values" in older ones."""
    names = inspect.signature(model.forward).parameters
    found = next((name for name in ("cache", "past_key_values") if name in names), None)
    if found is None:
        raise ValueError(f"{type(model).__name__}.forward takes neither cache nor past_key_values: it has no K/V cache")
    return found
