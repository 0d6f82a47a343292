"""What an engineer writes so that the audit knows this network: a reference, and nothing else."""

import torch

from .network import turn, whole


class Reference:
    """The uncached network in the audit's terms; heads stand before time there, after it here."""

    def __init__(self, w, spec):
        self.w, self.spec, self.window = w, spec, spec.span
        self.n_layers, self.vocab_size = spec.depth, spec.vocab
        self.block_size = self.last_position = spec.context
        self.rotary = spec.positions != "learned"
        self.dtype, self.device = w["embed"].dtype, w["embed"].device

    @torch.inference_mode()
    def logits(self, tokens):
        return whole(self.w, self.spec, tokens)

    @torch.inference_mode()
    def forward(self, tokens, positions, attend):
        def attention(layer, *qkv):
            return attend(layer, *(x.transpose(1, 2) for x in qkv), self.spec.dim**-0.5).transpose(1, 2)

        return whole(self.w, self.spec, tokens, positions, attention)

    def rotate(self, x, by):
        return turn(x.transpose(1, 2), by, self.spec).transpose(1, 2)

    def double(self):
        return Reference({name: t.double() for name, t in self.w.items()}, self.spec)
