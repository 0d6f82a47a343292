"""The sizes of a MiniGPT, and which of them fit each other."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Sizes of a MiniGPT. `head_dim` is `d_model / n_heads`; `n_kv_heads=None` means one per query head."""

    vocab_size: int
    block_size: int = 512  # number of positions: a sequence may feed at most this many tokens
    n_layers: int = 4
    n_heads: int = 6
    d_model: int = 96
    d_ff: int = 384
    n_kv_heads: int | None = None
    positions: str = "learned"  # "learned", "sinusoidal" or "rope"
    gelu: str = "none"  # torch's name of the approximation: "none" is the exact one, "tanh" is GPT-2's
    dropout: float = 0.0
    norm_eps: float = 1e-5
    rope_base: float = 10_000.0

    def __post_init__(self):
        sizes = ("vocab_size", "block_size", "n_layers", "n_heads", "kv_heads", "d_model", "d_ff")
        for name, size in ((name, getattr(self, name)) for name in sizes):
            if size < 1:
                raise ValueError(f"{name} must be at least 1, not {size}")
        if self.positions not in ("learned", "sinusoidal", "rope"):
            raise ValueError(f"positions must be 'learned', 'sinusoidal' or 'rope', not {self.positions!r}")
        if self.gelu not in ("none", "tanh"):
            raise ValueError(f"gelu must be 'none' (exact) or 'tanh', not {self.gelu!r}")
        if self.d_model % self.n_heads:
            raise ValueError(f"d_model {self.d_model} is not a multiple of n_heads {self.n_heads}")
        if self.n_heads % self.kv_heads:
            raise ValueError(f"n_heads {self.n_heads} is not a multiple of n_kv_heads {self.kv_heads}")
        if self.positions == "rope" and self.head_dim % 2:
            raise ValueError(f"rotary positions need an even head_dim, not {self.head_dim}")

    @property
    def head_dim(self):
        return self.d_model // self.n_heads

    @property
    def kv_heads(self):
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads
