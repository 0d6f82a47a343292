"""What lessons take of the decoder, in one place: the model, its caches, and the loops around them.

The parts stand in `config`, `positions`, `model`, `cache`, `caches/`, `sampling`, `decoding`, `loops`; they import nothing
of the rest of the course. `plain` is an oracle that shares no line with them.
"""

from .cache import ConcatCache, causal_mask
from .caches import WindowCache
from .config import Config
from .decoding import CachedDecoder, Oracle, generate, teacher_forced
from .model import CausalAttention, MiniGPT, NoCache
from .positions import sinusoids

__all__ = [
    "CachedDecoder",
    "CausalAttention",
    "ConcatCache",
    "Config",
    "MiniGPT",
    "NoCache",
    "Oracle",
    "WindowCache",
    "causal_mask",
    "generate",
    "sinusoids",
    "teacher_forced",
]
