"""Changes to a correct cache or decoder, as a reviewer sees them: a numbered diff in which one added line is wrong.

Each is real code: with its wrong line it is a decoder with a bug, with `right` in that line's place a correct one.
"""

from dataclasses import dataclass

import torch

from ..cache import ConcatCache, causal_mask
from ..decoding import CachedDecoder


@dataclass(frozen=True)
class Review:
    """`lines` of the diff, `wrong` the number (from 1) of the wrong one, `right` what should stand there."""

    title: str
    lines: tuple[str, ...]
    wrong: int
    right: str
    why: str

    def __repr__(self):
        numbered = (f"{number:>3} {line}" for number, line in enumerate(self.lines, 1))
        return "\n".join([self.title, *numbered])

    def decoder(self, model, mended=False):
        """A decoder over `model` with this change, or with the change as it should have been."""
        lines = [self.right if mended and n == self.wrong else line for n, line in enumerate(self.lines, 1)]
        source = "\n".join(line[2:] for line in lines if not line.startswith("-"))
        names = {"torch": torch, "ConcatCache": ConcatCache, "CachedDecoder": CachedDecoder, "causal_mask": causal_mask}
        exec(source, names)
        if "Decoder" in names:
            return names["Decoder"](model)
        return CachedDecoder(model, lambda: names["Cache"](model.config.n_layers))


def review(title, diff, wrong, right, why):
    return Review(title, tuple(diff.strip("\n").splitlines()), wrong, right, why)


REVIEWS = [
    review(
        "Count tokens in one place",
        """
  class Cache(ConcatCache):
      def positions(self, T):
-         n = 0 if self.keys[0] is None else self.keys[0].shape[2]
-         return torch.arange(n, n + T)
+         return torch.arange(self.length, self.length + T)

      def advance(self, T):
-         self.length = self.keys[0].shape[2]
+         self.length += 1
""",
        9,
        "+         self.length += T",
        "a prefill feeds T tokens: counted as one, all later positions are T0 - 1 too small",
    ),
    review(
        "No mask for a single token",
        """
  class Cache(ConcatCache):
      def mask(self, T, S):
-         return causal_mask(T, S)
+         if T == 1:
+             return None
+         visible = torch.ones(T, S, dtype=torch.bool)
+         return visible.tril()
""",
        7,
        "+         return visible.tril(S - T)",
        "the diagonal of a chunk is shifted by the S - T rows cached before it",
    ),
    review(
        "Name the old rows",
        """
  class Cache(ConcatCache):
      def update(self, k, v, layer):
          if self.keys[layer] is not None:
-             k = torch.cat([self.keys[layer], k], dim=2)
-             v = torch.cat([self.values[layer], v], dim=2)
+             old_k, old_v = self.keys[0], self.values[0]
+             k = torch.cat([old_k, k], dim=2)
+             v = torch.cat([old_v, v], dim=2)
          self.keys[layer], self.values[layer] = k, v
          return k, v
""",
        6,
        "+             old_k, old_v = self.keys[layer], self.values[layer]",
        "each layer has rows of its own; here all of them read those of layer 0",
    ),
    review(
        "Join keys and values in one line",
        """
  class Cache(ConcatCache):
      def update(self, k, v, layer):
          if self.keys[layer] is not None:
              old_k, old_v = self.keys[layer], self.values[layer]
-             k = torch.cat([old_k, k], dim=2)
-             v = torch.cat([old_v, v], dim=2)
+             pairs = (old_k, k), (old_v, k)
+             k, v = (torch.cat(pair, dim=2) for pair in pairs)
          self.keys[layer], self.values[layer] = k, v
          return k, v
""",
        7,
        "+             pairs = (old_k, k), (old_v, v)",
        "the new row of the values is a key: it has the right shape",
    ),
    review(
        "A step reads the past",
        """
  class Cache(ConcatCache):
      def update(self, k, v, layer):
+         step = k.shape[2] == 1 and self.length > 0
+         past = self.keys[layer], self.values[layer]
          rows = super().update(k, v, layer)
-         return rows
+         return past if step else rows
""",
        7,
        "+         return rows",
        "the token's own row is stored but not returned: it cannot see itself",
    ),
    review(
        "Keep the cache between calls",
        """
  class Decoder(CachedDecoder):
      def prefill(self, tokens):
-         self.start()
+         if self.cache is None:
+             self.start()
          return self.extend(tokens)
""",
        4,
        "+         if True:",
        "the second request begins on the rows of the first: a prefill is a new sequence, whatever is there",
    ),
    review(
        "Prefill all but the last token, then step",
        """
  class Decoder(CachedDecoder):
      def prefill(self, tokens):
          self.start()
-         return self.extend(tokens)
+         if tokens.shape[1] > 1:
+             self.extend(tokens)
+         return self.extend(tokens[:, -1:])
""",
        6,
        "+             self.extend(tokens[:, :-1])",
        "the last prompt token is fed twice: once with the others, once more as a step",
    ),
    review(
        "The next free position",
        """
  class Cache(ConcatCache):
      def positions(self, T):
-         return torch.arange(self.length, self.length + T)
+         step = T == 1 and self.length > 0
+         first = self.length + 1 if step else self.length
+         return torch.arange(first, first + T)
""",
        5,
        "+         first = self.length",
        "n rows take the positions 0 to n - 1: the next free one is n, not n + 1",
    ),
]
