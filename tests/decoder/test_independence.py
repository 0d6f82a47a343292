"""MiniGPT against code that others wrote: torch's own modules and `transformers`, the same weights on both sides.

Three families of `transformers` are a MiniGPT with other names: GPT-2 (learned positions, tanh GELU, one key/value head
a query head), GPT-NeoX without its parallel residual (rotary positions, exact GELU) and StarCoder2 (rotary, tanh, shared
key/value heads). All in float64, equal to 1e-9.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import pytest
import torch
import transformers
from torch import nn
from torch.nn import functional as F
from transformers.generation.logits_process import TopKLogitsWarper, TopPLogitsWarper

from helpers.decoding import CachedDecoder, Oracle, generate
from helpers.model import CAUSAL, Config, MiniGPT, NoCache
from helpers.sampling import keep_top_k, keep_top_p
from kvaudit.hf.library import cache_argument
from tests.scrambled import scramble, scrambled, tokens

L, H, C, D_FF, V, BLOCK = 3, 6, 48, 96, 61, 64  # D = 8; B = 4 and T = 7 or 11 in the prompts


def assert_same(ours, theirs):
    torch.testing.assert_close(ours, theirs, atol=1e-9, rtol=0)


# -- torch's own modules -----------------------------------------------------------------------------------------------


def head_rows(attention, part):
    """Rows of the fused projection's weight or bias for q, k and v, with shared heads written out for every query head."""
    c = attention.config
    q, k, v = getattr(attention.qkv, part).split([c.n_heads * c.head_dim, *[c.kv_heads * c.head_dim] * 2])
    group = c.n_heads // c.kv_heads
    wide = (x.unflatten(0, (c.kv_heads, c.head_dim)).repeat_interleave(group, 0).flatten(0, 1) for x in (k, v))
    return torch.cat([q, *wide])


def torch_attention(attention):
    """The same weights in `nn.MultiheadAttention`."""
    c = attention.config
    theirs = nn.MultiheadAttention(c.d_model, c.n_heads, batch_first=True, dtype=torch.float64)
    named = {f"in_proj_{part}": head_rows(attention, part) for part in ("weight", "bias")}
    theirs.load_state_dict(named | {f"out_proj.{k}": v for k, v in attention.project.state_dict().items()})
    return theirs.eval()


def torch_layer(block):
    """The same weights in `nn.TransformerEncoderLayer`."""
    c = block.attention.config
    theirs = nn.TransformerEncoderLayer(
        c.d_model, c.n_heads, c.d_ff, 0.0, nn.GELU(c.gelu), batch_first=True, norm_first=True, dtype=torch.float64
    )
    theirs.self_attn = torch_attention(block.attention)
    pairs = (theirs.norm1, block.norm1), (theirs.norm2, block.norm2)
    for module, ours in (*pairs, (theirs.linear1, block.ffn[0]), (theirs.linear2, block.ffn[2])):
        module.load_state_dict(ours.state_dict())
    return theirs.eval()


def hidden(T):
    """torch's convention for a boolean mask: True = may not attend."""
    return torch.ones(T, T, dtype=torch.bool).triu(1)


@pytest.mark.parametrize("n_kv_heads", [None, 3, 1])
def test_attention_equals_multihead_attention(n_kv_heads):
    attention = scrambled(n_kv_heads=n_kv_heads).blocks[1].attention
    x = torch.randn(4, 7, C, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    theirs, _ = torch_attention(attention)(x, x, x, attn_mask=hidden(7))
    assert_same(attention(x, NoCache(), torch.arange(7)), theirs)


@pytest.mark.parametrize("gelu", ["none", "tanh"])
@pytest.mark.parametrize("n_kv_heads", [None, 2])
@pytest.mark.parametrize("positions", ["learned", "sinusoidal"])
def test_the_model_equals_a_stack_of_transformer_encoder_layers(positions, n_kv_heads, gelu):
    model = scrambled(positions, n_kv_heads=n_kv_heads, gelu=gelu)
    x = model.embed(tokens(), torch.arange(7))
    for block in model.blocks:
        x = torch_layer(block)(x, src_mask=hidden(7))
    expected = F.linear(model.norm(x), model.token.weight)
    assert_same(model(tokens()), expected)
    decoder = CachedDecoder(model)
    assert_same(decoder.prefill(tokens()[:, :4]), expected[:, 3])
    for t in (4, 5, 6):
        assert_same(decoder.decode(tokens()[:, t]), expected[:, t])


def test_the_causal_shortcut_equals_a_written_out_mask():
    attention = scrambled().blocks[0].attention
    q, k, v = torch.randn(3, 4, H, 7, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    assert_same(attention.attend(q, k, v, CAUSAL), attention.attend(q, k, v, ~hidden(7)))


# -- transformers ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    """A `transformers` model that is a MiniGPT: how to make it, and where its weights go. `{}` is the layer."""

    make: Callable
    qkv: Callable  # (their weights, layer, "weight" or "bias") -> rows of our fused projection
    whole: dict[str, str]  # our module -> theirs
    layer: dict[str, str]
    ours: dict = field(default_factory=dict)  # config
    transposed: bool = False  # their matrices are [in, out]

    def fit(self, x):
        return x.t() if self.transposed else x  # a bias stays as it is

    def weights(self, theirs):
        named = {"token.weight": theirs[self.whole["token"] + ".weight"]}
        if "position" in self.whole:
            named["position.weight"] = theirs[self.whole["position"] + ".weight"]
        for part in ("weight", "bias"):
            named[f"norm.{part}"] = theirs[f"{self.whole['norm']}.{part}"]
            for layer in range(L):
                named[f"blocks.{layer}.attention.qkv.{part}"] = self.qkv(theirs, layer, part)
                for ours, name in self.layer.items():
                    named[f"blocks.{layer}.{ours}.{part}"] = self.fit(theirs[f"{name.format(layer)}.{part}"])
        return named


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=V, n_positions=BLOCK, n_embd=C, n_layer=L, n_head=H, n_inner=D_FF, bos_token_id=0, eos_token_id=None
    )
    return transformers.GPT2LMHeadModel(config)


SIZES = {
    "vocab_size": V,
    "hidden_size": C,
    "num_hidden_layers": L,
    "num_attention_heads": H,
    "intermediate_size": D_FF,
    "max_position_embeddings": BLOCK,
    "tie_word_embeddings": True,
    "bos_token_id": 0,
    "eos_token_id": None,
}


def neox():
    rotary = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 1.0}
    config = transformers.GPTNeoXConfig(**SIZES, rope_parameters=rotary, use_parallel_residual=False, hidden_act="gelu")
    model = transformers.GPTNeoXForCausalLM(config)
    return exact_angles(model, model.gpt_neox.rotary_emb)


def starcoder2():
    config = transformers.Starcoder2Config(**SIZES, num_key_value_heads=2, sliding_window=None)
    model = transformers.Starcoder2ForCausalLM(config)
    return exact_angles(model, model.model.rotary_emb)


def exact_angles(model, rotary):
    """The library multiplies position and frequency in float32 whatever the model's dtype; here in float64."""
    frequency = 10_000.0 ** (-torch.arange(0, 8, 2, dtype=torch.float64) / 8)

    def forward(x, position_ids):
        angle = (position_ids[..., None].double() * frequency).repeat(1, 1, 2)  # [B, T, D]
        return angle.cos(), angle.sin()

    rotary.forward = forward
    return model


def neox_qkv(theirs, layer, part):
    fused = theirs[f"gpt_neox.layers.{layer}.attention.query_key_value.{part}"]
    return fused.unflatten(0, (H, 3, 8)).transpose(0, 1).flatten(0, 2)  # theirs: head by head, q, k and v of each


FAMILIES = {
    "gpt2": Family(
        gpt2,
        lambda w, layer, part: w[f"transformer.h.{layer}.attn.c_attn.{part}"].t(),
        {"token": "transformer.wte", "position": "transformer.wpe", "norm": "transformer.ln_f"},
        {
            "norm1": "transformer.h.{}.ln_1",
            "attention.project": "transformer.h.{}.attn.c_proj",
            "norm2": "transformer.h.{}.ln_2",
            "ffn.0": "transformer.h.{}.mlp.c_fc",
            "ffn.2": "transformer.h.{}.mlp.c_proj",
        },
        {"positions": "learned", "gelu": "tanh"},
        transposed=True,
    ),
    "neox": Family(
        neox,
        neox_qkv,
        {"token": "gpt_neox.embed_in", "norm": "gpt_neox.final_layer_norm"},
        {
            "norm1": "gpt_neox.layers.{}.input_layernorm",
            "attention.project": "gpt_neox.layers.{}.attention.dense",
            "norm2": "gpt_neox.layers.{}.post_attention_layernorm",
            "ffn.0": "gpt_neox.layers.{}.mlp.dense_h_to_4h",
            "ffn.2": "gpt_neox.layers.{}.mlp.dense_4h_to_h",
        },
        {"positions": "rope", "gelu": "none"},
    ),
    "starcoder2": Family(
        starcoder2,
        lambda w, layer, part: torch.cat([w[f"model.layers.{layer}.self_attn.{x}_proj.{part}"] for x in "qkv"]),
        {"token": "model.embed_tokens", "norm": "model.norm"},
        {
            "norm1": "model.layers.{}.input_layernorm",
            "attention.project": "model.layers.{}.self_attn.o_proj",
            "norm2": "model.layers.{}.post_attention_layernorm",
            "ffn.0": "model.layers.{}.mlp.c_fc",
            "ffn.2": "model.layers.{}.mlp.c_proj",
        },
        {"positions": "rope", "gelu": "tanh", "n_kv_heads": 2},
    ),
}


@cache
def pair(name):
    """(MiniGPT, their model) with the same random weights."""
    family = FAMILIES[name]
    theirs = scramble(family.make().double().eval())
    config = Config(V, block_size=BLOCK, n_layers=L, n_heads=H, d_model=C, d_ff=D_FF, **family.ours)
    ours = MiniGPT(config).double().eval()
    ours.load_state_dict(family.weights(theirs.state_dict()))
    return ours, theirs


@pytest.mark.parametrize("name", FAMILIES)
class TestTransformers:
    @torch.no_grad()
    def test_logits_at_every_position(self, name):
        ours, theirs = pair(name)
        expected = theirs(tokens(T=11)).logits
        assert expected.shape == (4, 11, V) and expected.std() > 1
        assert_same(ours(tokens(T=11)), expected)

    @torch.no_grad()
    def test_cached_decoding_step_by_step_logits_and_rows(self, name):
        ours, theirs = pair(name)
        decoder, kept = CachedDecoder(ours), transformers.DynamicCache()
        for step, piece in enumerate(tokens(T=11).split([5, 1, 1, 1, 3], dim=1)):  # a chunk at the end
            expected = theirs(piece, **{cache_argument(theirs): kept}, use_cache=True).logits[:, -1]
            assert_same(decoder.extend(piece) if step else decoder.prefill(piece), expected)
            for (k, v), layer in zip(decoder.layers(), kept.layers, strict=True):
                assert_same(k, layer.keys)
                assert_same(v, layer.values)
        assert kept.get_seq_length() == decoder.cache.length == 11

    def test_greedy_text(self, name):
        ours, theirs = pair(name)
        everything = torch.ones_like(tokens())  # or a prompt that holds the pad's id would be masked there
        written = theirs.generate(
            tokens(), attention_mask=everything, max_new_tokens=9, do_sample=False, pad_token_id=0
        )
        expected = written[:, 7:]
        for decoder in (CachedDecoder(ours), Oracle(ours)):
            assert torch.equal(generate(decoder, tokens(), 9).tokens, expected)


@pytest.mark.parametrize("value", [1, 2, 7, 61])
def test_top_k_keeps_what_transformers_keeps(value):
    logits = torch.randn(4, V, generator=torch.Generator().manual_seed(7))
    assert torch.equal(keep_top_k(logits, value), TopKLogitsWarper(value)(None, logits))


@pytest.mark.parametrize("value", [0.01, 0.5, 0.9, 0.999])
def test_top_p_keeps_what_transformers_keeps(value):
    logits = 3 * torch.randn(4, V, generator=torch.Generator().manual_seed(8))
    assert torch.equal(keep_top_p(logits, value), TopPLogitsWarper(value)(None, logits))
