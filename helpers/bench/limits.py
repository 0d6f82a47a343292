"""The roofline of a decode step: it cannot be faster than its bytes through the memory, or its operations through the cores."""

from .memory import product_numbers, read_bytes

BLOG = {64: (15.2, 8.7, 1.75), 256: (62.4, 12.1, 5.16), 1024: (982.3, 28.6, 34.3)}  # ms/token without, with; speed-up
BLOG_DEVICE = "GeForce RTX 3090, as the blog says"


def limit_ms(config, length, bandwidth, batch=1, itemsize=4):
    """Milliseconds below which no decode step at `length` keys can be: bytes to read / bandwidth in bytes a second."""
    return 1e3 * read_bytes(config, length, batch, itemsize) / bandwidth


def step_flops(config, new, length, batch=1):
    """Operations (a product and a sum count two) of `new` tokens that end at `length`, logits of the last only.

    Products with the weights, `2 · new · weights` a block; scores and weighted values, `4 · H · D` a visible pair;
    the head, `2 · C · V`.
    """
    c = config
    pairs = new * length - new * (new - 1) // 2  # query i of the new sees the keys up to its own
    block = 2 * new * product_numbers(c) + 4 * c.d_model * pairs
    return batch * (c.n_layers * block + 2 * c.d_model * c.vocab_size)


def predict_ms(config, new, length, bandwidth, flops, batch=1, itemsize=4):
    """The roofline's milliseconds of `new` tokens that end at `length`: the slower of bytes and operations.

    bandwidth in bytes a second, flops in operations a second (see bandwidth.py for measuring both).
    """
    return max(
        limit_ms(config, length, bandwidth, batch, itemsize), 1e3 * step_flops(config, new, length, batch) / flops
    )
