"""Peak memory of one variant in a process of its own, because a process's maximum never falls.

python -m helpers.bench.peak VARIANT SHAPE LENGTH      prints one line of JSON
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from itertools import chain

from torch import Tensor

from .memory import counted_bytes, kv_bytes, peak_bytes, row_bytes, weight_bytes

STEPS = 4  # decoded after the prompt


@dataclass(frozen=True)
class Peak:
    """Bytes of one variant. `libraries`: the process before there was a model; `peak` minus it is the variant's own.

    `weights`, `rows` (K/V in use) and `room` (K/V allocated) are counted in the tensors; None where not measured.
    """

    peak: int | None
    libraries: int | None
    weights: int
    rows: int | None
    room: int | None

    @property
    def own(self):
        return None if self.peak is None else self.peak - self.libraries


def measure(name, shape, length):
    """A `Peak` of this process after it has built the variant and fed `length` tokens, the last few one by one."""
    from .shapes import SHAPES, random_tokens
    from .variants import LIBRARY, VARIANTS

    variant, config = VARIANTS[name], SHAPES[shape]
    if variant.network == LIBRARY:
        from transformers import GPT2LMHeadModel  # noqa: F401 - its memory belongs to the libraries
    libraries = peak_bytes()
    decoder, tokens = variant.new(network(variant.network, config), length), random_tokens(config, length)
    decoder.prefill(tokens[:, :-STEPS])
    for step in range(length - STEPS, length):
        decoder.decode(tokens[:, step])
    layers = decoder.layers() if variant.cached else []
    held = (row_bytes(layers), counted_bytes(chain(*layers))) if variant.cached else (0, 0)
    return Peak(peak_bytes(), libraries, counted_bytes(tensors(decoder.model)), *held)


def network(name, config):
    """One of the `NETWORKS` alone, with random weights: no twin beside it whose memory would count."""
    from .gpt2 import new_gpt2
    from .shapes import SHAPES, new_model
    from .variants import LIBRARY, NETWORKS

    if name == LIBRARY:
        return new_gpt2(config)
    NETWORKS[name](new_model(SHAPES["tiny"]))  # chooses the kernel for the products, whose trials are not the model's
    return NETWORKS[name](new_model(config))


def tensors(model):
    """Every tensor that a module and its parts hold: parameters, buffers, and codes that are neither."""
    yield from chain(model.parameters(), model.buffers())
    for module in model.modules():
        yield from (value for value in vars(module).values() if isinstance(value, Tensor))


def in_own_process(name, shape, length, timeout=300):
    """As `measure`, in a new process. Raises RuntimeError with its last words where it fails."""
    command = [sys.executable, "-m", "helpers.bench.peak", name, shape, str(length)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise RuntimeError(f"measuring the memory of {name!r} failed: {done.stderr.strip().splitlines()[-1:]}")
    return Peak(**json.loads(done.stdout.splitlines()[-1]))


def predicted(config, length):
    """(weights, K/V) bytes by the formulas."""
    return weight_bytes(config), kv_bytes(config, length)


if __name__ == "__main__":
    print(json.dumps(vars(measure(sys.argv[1], sys.argv[2], int(sys.argv[3])))))
