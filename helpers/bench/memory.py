"""Bytes, predicted from the sizes and counted in the tensors; the peak of a process.

Weights of one block: QKV `(H + 2 H_kv) D · C`, output `C · H D`, feed-forward `2 · C · F`, with their biases, and two
norms of `2 C`. K/V: `2 · L · B · H_kv · S · D`. All times the bytes per number.
"""

import sys


def kv_bytes(config, length, batch=1, itemsize=4):
    """Bytes of the keys and values of `length` tokens in all layers: 2 · L · B · H_kv · S · D · bytes per number."""
    return 2 * config.n_layers * batch * config.kv_heads * length * config.head_dim * itemsize


def product_shapes(config):
    """[out, in] of the four matrices that one block multiplies with: QKV, output, and the feed-forward's two."""
    c, f = config.d_model, config.d_ff
    return [((config.n_heads + 2 * config.kv_heads) * config.head_dim, c), (c, c), (f, c), (c, f)]


def product_numbers(config):
    """Weights of one block that a token is multiplied with."""
    return sum(n * k for n, k in product_shapes(config))


def block_numbers(config):
    """Weights of one block."""
    biases = sum(n for n, _ in product_shapes(config))
    return product_numbers(config) + biases + 4 * config.d_model  # two norms, each with weight and bias


def weight_bytes(config, itemsize=4):
    """Bytes of a MiniGPT's weights, predicted: the head is tied, so the embedding counts once."""
    table = config.block_size * config.d_model if config.positions == "learned" else 0
    numbers = config.vocab_size * config.d_model + table + config.n_layers * block_numbers(config) + 2 * config.d_model
    return numbers * itemsize


def read_bytes(config, length, batch=1, itemsize=4):
    """Bytes that one decode step has to read at `length` keys: all weights but the unused positions, and all K/V rows."""
    unused = (config.block_size - 1) * config.d_model * itemsize if config.positions == "learned" else 0
    return weight_bytes(config, itemsize) - unused + kv_bytes(config, length, batch, itemsize)


def counted_bytes(tensors):
    """Bytes that tensors hold; a memory that two of them share counts once."""
    held = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        held[storage.data_ptr()] = storage.nbytes()
    return sum(held.values())


def row_bytes(layers):
    """Bytes of the rows `[(K, V), …]` that a decoder's `layers()` shows, as opposed to the room that it has made."""
    return sum(x.numel() * x.element_size() for pair in layers for x in pair)


def peak_bytes():
    """The largest memory that this process has had so far; None where the system does not say.

    On Linux from /proc: `ru_maxrss` there also counts what the parent had when it started this process.
    """
    try:
        import resource
    except ImportError:  # Windows
        return windows_peak()
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, kB elsewhere
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as lines:
            found = next((line.split()[1] for line in lines if line.startswith("VmHWM:")), None)
    except OSError:
        found = None
    return 1024 * int(found or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def windows_peak():
    try:
        import psutil  # comes with Jupyter's kernel
    except ImportError:
        return None
    return getattr(psutil.Process().memory_info(), "peak_wset", None)
