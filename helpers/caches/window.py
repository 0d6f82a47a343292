"""A sliding window: a token attends to itself and to the `window - 1` tokens before it (Mistral's rule)."""

from ..cache import ConcatCache, causal_mask
from ..model import NoCache


def window_mask(t_query, t_key, window, device=None):
    """Boolean `[t_query, t_key]`: the causal mask without the keys that are `window` or more positions back."""
    return causal_mask(t_query, t_key, device).triu(t_key - t_query - window + 1)


class WindowCache(ConcatCache):
    """Keeps the last `window` rows of each layer. Positions go on counting all tokens, also the evicted ones."""

    def __init__(self, n_layers, window):
        super().__init__(n_layers)
        self.window = window

    def reach(self, T):
        """Rows that T new queries may attend over: their own, and `window - 1` before the first."""
        return self.window - 1 + T

    def update(self, k, v, layer):
        T = k.shape[2]
        k, v = (x[:, :, -self.reach(T) :] for x in super().update(k, v, layer))
        keep = self.reach(1)
        self.keys[layer], self.values[layer] = k[:, :, -keep:], v[:, :, -keep:]
        return k, v

    def mask(self, T, S):
        return None if T == 1 else window_mask(T, S, self.window, self.keys[0].device)

    def crop(self, length):
        if self.length > self.window and length < self.length:
            raise ValueError(
                f"cannot roll back from {self.length} to {length} tokens: a window of {self.window} has evicted the "
                "rows that would be in sight again; prefill the kept tokens anew"
            )
        super().crop(length)


class NoCacheWindow(NoCache):
    """The oracle's side of the same rule: nothing is kept, the whole triangle is cut to a band."""

    def __init__(self, window):
        self.window = window

    def update(self, k, v, layer):
        self.device = k.device
        return k, v

    def mask(self, T, S):
        return None if T == 1 else window_mask(T, S, self.window, self.device)
