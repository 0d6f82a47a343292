"""The graders of lesson 02 are code under test: wrong answers with the message each must get, right ones that must pass."""

from pathlib import Path

import nbformat

from helpers.checks.lesson02.repair import FILL_LINE

from ..graders import LessonGraders, graded
from .alternatives import ALTERNATIVES
from .answers import RIGHT

NOTEBOOKS = Path(__file__).parents[3] / "notebooks"

SPLIT = "x.unflatten(-1, (n_heads, C // n_heads)).transpose(1, 2)"
MERGE = "y.transpose(1, 2).flatten(2)"
FORWARD = "y = merge_heads(attend(q, k, v, mask))"
CHANGED = "changed[:, j] = torch.randn(d_model)"
FOUND = "found |= {(i, j) for i in range(j) if moved[i]}"
MASKED = "scores.masked_fill(mask == 0, -torch.inf)"
MERGED = "transpose(1, 2).reshape(B, T, C)"

# exercise -> [(what stands in the right answer, what stands there instead, what the learner must be told)]
WRONG = {
    "split_heads": [
        (SPLIT, "x.view(B, n_heads, T, C // n_heads)", "FAIL  head h holds channels h D to (h + 1) D - 1 of each token\n        What was seen: 96 of 120 numbers of the split x "
         "differ; the first at B=0, H=0, T=1, D=0: got 4, expected 12.\n        It looks like: a view straight to [B, H, T, D]: it cuts the tokens, not the channels"),
        (SPLIT, "x.view(B, T, C // n_heads, n_heads).permute(0, 3, 1, 2)", "It looks like: channels dealt out in turn (h, h + H, h + 2H, ...)"),
        (SPLIT, "x.view(B, n_heads, C // n_heads, T).mT", "It looks like: a view to [B, H, D, T]"),
        (".transpose(1, 2)", "", "has shape [2, 5, 3, 4]; expected [B, H, T, D] = [2, 3, 5, 4].\n        It looks like: [B, T, H, D]: cut, but the axis of the heads is not moved"),
        (".transpose(1, 2)", ".transpose(1, 3)", "has shape [2, 4, 3, 5]; expected of shape [B, H, T, D] = [2, 3, 5, 4].\n        It looks like: the right axes in another order"),
        (".transpose(1, 2)", ".permute(2, 0, 1, 3)", "the right axes in another order"),
        ("(n_heads, C // n_heads)", "(n_heads, C)", "RuntimeError, in split_heads, line 5"),
        ("(n_heads, C // n_heads)", "(n_heads, C / n_heads)", "TypeError, in split_heads, line 5"),
        ("return x.unf", "x.unf", "None (is a `return` missing?)"),
        (SPLIT, SPLIT + ", n_heads", "the split x is a tuple; expected a tensor of shape [B, H, T, D]"),
        (SPLIT, "list(x.chunk(n_heads, dim=-1))", "the split x is a list; expected a tensor"),
        (SPLIT, SPLIT + ".numpy()", "the split x is a ndarray; expected a tensor"),
        (SPLIT, "(yield " + SPLIT + ")", "a generator (the function contains `yield`)"),
        (SPLIT, SPLIT + ".float()", "the split x is torch.float32; expected torch.float64"),
        ("B, T, C = x.shape", "B, T, C = x.shape; n_heads = 3", "FAIL  as many tokens as heads: no shape tells them apart\n        What was seen: the split x has shape [2, 3, 3, 4]"),
        ("B, T, C = x.shape", "B, T, C = x.shape; n_heads = min(n_heads, 3)", "FAIL  one token, one head, heads of one channel\n        What was seen: the split x has shape [2, 3, 1, 2]"),
        (SPLIT, "x.view(-1).view(B, T, n_heads, -1).transpose(1, 2)", "FAIL  a third of one wide projection, float32: a view of another tensor\n        What was seen: RuntimeError"),
    ],
    "merge_heads": [
        (MERGE, "y.reshape(y.shape[0], y.shape[2], -1)", "FAIL  row t holds the heads of token t, side by side\n        What was seen: 96 of 120 numbers of the merged y differ; "
         "the first at B=0, T=0, C=4: got 4, expected 20.\n        It looks like: a reshape without exchanging the head and the token axis: each row mixes tokens"),
        (MERGE, "y.permute(0, 2, 3, 1).flatten(2)", "It looks like: channels interleaved: D and H are joined in the wrong order"),
        (MERGE, "y.mT.reshape(y.shape[0], y.shape[2], -1)", "It looks like: the wrong two axes exchanged"),
        (MERGE, "y.transpose(1, 2)", "has shape [2, 5, 3, 4]; expected [B, T, C] = [2, 5, 12].\n        It looks like: heads that are moved but not merged"),
        (MERGE, "y.transpose(1, 2).contiguous()", "heads that are moved but not merged"),
        (MERGE, "y.transpose(1, 2).view(y.shape[0], y.shape[2], -1)", "RuntimeError, in merge_heads, line 4 `return y.transpose(1, 2).view"),
        (MERGE, "y.flatten(1, 2)", "the merged y has shape [2, 15, 4]; expected of shape [B, T, C] = [2, 5, 12]"),
        (MERGE, "y.transpose(1, 2).flatten(1)", "the merged y has shape [2, 60]"),
        (MERGE, "y.mean(1)", "the merged y has shape [2, 5, 4]"),
        (MERGE, "y.transpose(1, 2).sum(2)", "the merged y has shape [2, 5, 4]"),
        (MERGE, MERGE + ".mT", "has shape [2, 12, 5]; expected of shape [B, T, C] = [2, 5, 12].\n        It looks like: the right axes in another order"),
        ("return y", "y", "None (is a `return` missing?)"),
        (MERGE, MERGE + ", y", "the merged y is a tuple"),
        (MERGE, "torch.cat(list(y.unbind(1))[::-1], dim=-1)", "FAIL  row t holds the heads of token t"),
        (MERGE, MERGE + ".double()", "FAIL  it undoes the split of another x\n        What was seen: the merged y is torch.float64; expected torch.float32"),
        (MERGE, "y.transpose(1, 2).reshape(y.shape[0], y.shape[2], 4 * y.shape[1] if y.shape[1] != 5 else 10) if y.shape[1] != y.shape[2] else y.flatten(2)",
         "FAIL  as many tokens as heads; one token; one head"),
        (MERGE, "y.mul_(1).neg_().transpose(1, 2).flatten(2).neg()", "the call changed its argument y in place"),
    ],
    "attend": [
        (" / q.shape[-1] ** 0.5", "", "FAIL  no mask, 5 queries and 5 keys: equals scaled_dot_product_attention\n        What was seen: 120 of 120 numbers of y differ"),
        (" / q.shape[-1] ** 0.5", "", "It looks like: scores that are not scaled: divide by the square root of the head's size"),
        ("q.shape[-1] ** 0.5", "(q.shape[1] * q.shape[-1]) ** 0.5", "scores divided by the square root of d_model; a head has D channels"),
        ("q.shape[-1] ** 0.5", "q.shape[-1]", "scores divided by D, not by its square root"),
        ("/ q.shape[-1] ** 0.5", "* q.shape[-1] ** 0.5", "scores multiplied by the square root of D"),
        ("q.shape[-1] ** 0.5", "2", "FAIL  3 queries and 7 keys, mask [3, 7], heads of 6 channels"),
        ("q.shape[-1] ** 0.5", "k.shape[2] ** 0.5", "FAIL  no mask, 5 queries and 5 keys"),
        ("softmax(-1)", "softmax(-2)", "a softmax over the queries; it must run over the keys, the last axis"),
        ("softmax(-1)", "softmax(1)", "a softmax over the heads"),
        ("masked_fill(~mask,", "masked_fill(mask,", "are not finite; the first at B=0, H=0, T=4, D=0: nan.\n        It looks like: a mask turned round: what may be seen is filled"),
        ("~mask, -torch.inf", "mask, -1e9", "It looks like: a mask turned round: what may be seen is filled"),
        ("scores.masked_fill(~mask, -torch.inf)", "scores.masked_fill(torch.zeros_like(scores).masked_fill(~mask, -torch.inf) == 0, -1e9)",
         "FAIL  a causal mask [5, 5]\n        What was seen: 120 of 120 numbers of y differ by more than 1e-12"),
        ("scores.masked_fill(~mask, -torch.inf)", "scores.masked_fill(torch.zeros_like(scores).masked_fill(~mask, -torch.inf) == 0, -1e9)",
         "It looks like: a mask turned round: what may be seen is filled"),
        ("-torch.inf", "0", "hidden scores set to 0: the exponential of 0 is 1"),
        ("scores.masked_fill(~mask, -torch.inf)", "scores + mask", "True and False added to the scores"),
        ("scores = scores.masked_fill(~mask, -torch.inf)", "pass", "It looks like: the mask is not used"),
        ("scores = scores.masked_fill(~mask, -torch.inf)\n    return scores.softmax(-1) @ v", "return scores.softmax(-1) * mask @ v\n    return scores.softmax(-1) @ v",
         "a mask applied after the softmax: the rows no longer sum to 1"),
        ("softmax(-1) @ v", "softmax(-1) @ k", "keys in the place of the values"),
        ("scores.softmax(-1)", "scores.masked_fill(scores == -torch.inf, 0)", "no softmax: the scores themselves weigh the values"),
        ("k.mT", "k", "RuntimeError, in attend, line 4 `scores = q @ k / q.shape[-1] ** 0.5`"),
        ("k.mT", "k.transpose(1, 2)", "FAIL  no mask"),
        ("q.shape[-1] ** 0.5", "torch.sqrt(q.shape[-1])", "TypeError, in attend, line 4"),
        (" @ v", " @ v, scores", "y is a tuple; expected a tensor of shape [B, H, T, D]"),
        ("    return scores", "    scores", "None (is a `return` missing?)"),
        ("softmax(-1) @ v", "softmax(-1).matmul(v).transpose(1, 2)", "has shape [2, 5, 3, 4]; expected of shape [B, H, T, D] = [2, 3, 5, 4]"),
        ("    if mask", "    mask = mask[0, 0] if mask is not None and mask.dim() == 4 else mask\n    if mask", "FAIL  a mask for each row of the batch, [B, 1, T, S]"),
        ("mask is not None", "mask is not None and q.shape[2] == k.shape[2]", "FAIL  3 queries and 7 keys"),
        (" @ v", " @ v.double()", "FAIL  float32 stays float32"),
        ("    scores = q @", "    q *= 1; q += 0 * q + 1; q -= 1; mask is not None and mask[0].fill_(True)\n    scores = q @", "differ"),
        ("    return scores", "    v_was = v.clone(); v.zero_()\n    v = v_was\n    return scores", "the call changed its argument v in place"),
    ],
    "MultiHeadAttention": [
        (FORWARD, "y = attend(q, k, v, mask).transpose(1, 2).contiguous()", "RuntimeError, in forward, line"),
        (FORWARD, "y = attend(q, k, v, mask).reshape(x.shape)", "FAIL  no mask: equals nn.MultiheadAttention with the same weights\n        What was seen: 168 of 168 numbers of y differ"),
        (FORWARD, "y = attend(q, k, v, mask).reshape(x.shape)", "It looks like: merge without transpose"),
        (FORWARD, "y = merge_heads(attend(q, k, v))", "FAIL  a causal mask: equals nn.MultiheadAttention, whose mask means the opposite"),
        (FORWARD, "y = merge_heads(attend(q, k, v))", "It looks like: no mask"),
        (FORWARD, "y = merge_heads(attend(q, k, v, None if mask is None else ~mask))", "It looks like: a mask turned round: what may be seen is filled; True must mean *may attend*"),
        (FORWARD, "y = merge_heads(attend(k, q, v, mask))", "It looks like: W_Q and W_K exchanged"),
        (FORWARD, "y = merge_heads(attend(q, v, k, mask))", "differ"),
        (FORWARD, "y = merge_heads(attend(q, k, k, mask))", "It looks like: W_K used for the values"),
        (FORWARD, "y = merge_heads(attend(q, q, v, mask))", "It looks like: one map used for queries and keys"),
        ("return self.W_O(y)", "return y", "It looks like: the output projection W_O is left out"),
        ("return self.W_O(y)", "self.W_O(y)", "None (is a `return` missing?)"),
        ("return self.W_O(y)", "return self.W_O(y), (k, v)", "y is a tuple; expected a tensor of shape [B, T, C]"),
        ("return self.W_O(y)", "return x + self.W_O(y)", "It looks like: x is added: the residual belongs to the block"),
        (FORWARD, "y = attend(self.W_Q(x)[:, None], self.W_K(x)[:, None], self.W_V(x)[:, None], mask)[:, 0]", "It looks like: the channels are not split into heads"),
        ("(self.W_K(x), self.n_heads)", "(self.W_K(x), 1)", "FAIL"),
        ("self.n_heads = n_heads", "self.n_heads = d_model // n_heads", "FAIL  no mask: equals nn.MultiheadAttention"),
        ("nn.Linear(d_model, d_model) for", "nn.Linear(d_model, d_model, bias=False) for", "W_Q is a Linear(in_features=12, out_features=12, bias=False); expected nn.Linear(12, 12) with a bias"),
        ("self.W_O = (nn", "self.out = (nn", "the module has no nn.Linear named W_O; expected W_Q, W_K, W_V and W_O"),
        ("    def forward", "    def wrong_name", "FAIL  x [2, 7, 12] in 3 heads gives y of the same shape"),
        ("nn.Linear(d_model, d_model)", "nn.Linear(d_model, n_heads)", "W_Q is a Linear(in_features=12, out_features=3, bias=True); expected nn.Linear(12, 12)"),
        ("return x.unflatten(-1, (n_heads, C // n_heads)).transpose(1, 2)", "return x.reshape(B, n_heads, T, C // n_heads)", "It looks like: split without transpose"),
        ("/ q.shape[-1] ** 0.5", "/ (q.shape[1] * q.shape[-1]) ** 0.5", "It looks like: scale by d_model"),
        (".softmax(-1)", ".softmax(-2)", "It looks like: softmax over the queries"),
        (FORWARD, "y = merge_heads(attend(q, k, v, mask if mask is None or mask.dim() == 2 else mask[0]))", "FAIL  a mask for each text of the batch: equals scaled_dot_product_attention"),
        ("    def forward(self, x, mask=None):", "    def forward(self, x, mask=None):\n        if x.shape[1] == 5: mask = None", "FAIL  with the causal mask no row moves when a later token changes\n"
         "        What was seen: 10 of 10 pairs leak; row 0 of y moves when token 1 changes"),
        ("    def forward(self, x, mask=None):", "    def forward(self, x, mask=None):\n        if x.shape[1] == self.n_heads: x = x.flip(1)", "FAIL  one token; three tokens in three heads"),
        ("    def forward(self, x, mask=None):", "    def forward(self, x, mask=None):\n        x += 0; x[0, 0, 0] += (x.dtype == torch.float32)", "the call changed its argument x in place"),
    ],
    "leaks": [
        (FOUND, "found |= {(j, i) for i in range(j) if moved[i]}", "It looks like: pairs the wrong way round: (row that moves, token that was changed)"),
        (FOUND, "found |= {(i, j) for i in range(j + 1) if moved[i]}", "FAIL  a causal attention has no leaks\n        What was seen: 5 pairs; expected 0: 5 too many, the first (0, 0).\n"
         "        It looks like: a row may move with its own token"),
        (FOUND, "found |= {(i, j) for i in range(T) if moved[i]}", "a row may move with its own token and with earlier ones: only i < j is a leak"),
        (FOUND, "found |= {(i, j) for i in range(j, T) if moved[i]}", "FAIL  a causal attention has no leaks"),
        (FOUND, "found |= {(i, j) for i in range(j - 1) if moved[i]}", "FAIL  without a mask every later token leaks\n        What was seen: 3 pairs; expected 6: 3 missing, the first (0, 1)"),
        (FOUND, "return {(i, j) for i in range(j) if moved[i]}", "FAIL  without a mask every later token leaks"),
        (CHANGED, "changed[:, j] += 1", "FAIL  an attention that normalises its input first\n        What was seen: 0 pairs; expected 6: 6 missing, the first (0, 1).\n"
         "        It looks like: too small a change, a change in few channels, one that a normalisation undoes"),
        (CHANGED, "changed[:, j, 0] += 1", "FAIL  a leak from one far token, through a single channel"),
        (CHANGED, "changed[:, j] = float('nan')", "attn was called with an x that holds nan.\n        It looks like: a change that is no finite number: 0 times NaN is NaN"),
        (CHANGED, "changed[:, j] = float('inf')", "attn was called with an x that holds inf"),
        (CHANGED, "changed[:, j:] = torch.randn(T - j, d_model)", "FAIL  a leak from one far token, through a single channel\n        What was seen: 4 pairs; expected 1: 3 too many, the first (0, 1)"),
        (FOUND, "found |= {(i, j) for i in range(j) if moved[:j].any()}", "FAIL  heads merged without a transpose: 5 pairs of 6"),
        ("> 1e-9", "> 1e-3", "FAIL  a leak of one part in a million"),
        ("> 1e-9", "> 1e-4", "It looks like: too small a change, a change in few channels, one that a normalisation undoes, or too wide a tolerance"),
        ("(attn(changed) - before).abs().amax(dim=(0, 2)) > 1e-9", "[not torch.allclose(a, b) for a, b in zip(attn(changed)[0], before[0])]", "FAIL  a leak of one part in a million"),
        ("torch.randn(1, T, d_model, dtype=torch.float64)", "torch.randn(T, d_model)", "attn was called with a tensor of shape [5, 12]; expected x of shape [B, T, C] with C = 12"),
        ("torch.randn(1, T, d_model, dtype=torch.float64)", "torch.randn(1, T, 12, dtype=torch.float64)", "FAIL  another d_model, 6 tokens"),
        ("for j in range(T)", "for j in range(1, max(T, 2))", "FAIL  one token: nothing can leak"),
        ("changed = x.clone()", "changed = x", "It looks like: changes that pile up: each token is changed in a copy of x of its own"),
        (CHANGED, "changed[j] = torch.randn(d_model)", "IndexError, in leaks, line"),
        ("    return found", "    return sorted(found)", "the result is a list; expected a set of pairs (i, j)"),
        ("    return found", "    found", "the result is None (is a `return` missing?)"),
        (FOUND, "found |= {(torch.tensor(i), j) for i in range(j) if moved[i]}", "the pairs hold tensors; expected whole numbers"),
        (FOUND, "found |= {i for i in range(j) if moved[i]}", "expected pairs (i, j) of two whole numbers"),
        ("amax(dim=(0, 2))", "amax(dim=(0, 1))", "FAIL"),
        ("    for j", "    exit()\n    for j", "the code asked the kernel to end"),
    ],
    "lets_through": [
        ("'line': 7", "'line': 8", "FAIL  the line that turns the mask round\n        What was seen: line 8 may stay with a mask of 0 and -inf; one other line may not"),
        ("0: [1, 2, 3]", "0: [0]", "FAIL  the keys that get weight in row 0\n        What was seen: row 0: [0] is not where the weight goes.\n        It looks like: a mask that works"),
        ("1: [2, 3]", "1: [0, 1]", "a mask that works: these are the places where the mask is 0, and those are filled with -1e9"),
        ("1: [2, 3]", "1: 2", "the entry for 1 is an int; expected a list of keys, as in [0, 2]"),
        ("2: [3]", "2: []", "row 2: [] is not where the weight goes"),
        ("2: [3]", "2: [2, 3]", "row 2: [2, 3] is not where the weight goes.\n        It looks like: which tokens move the row: its own token"),
        ("0: [1, 2, 3]", "0: [0, 1, 2, 3]", "It looks like: which tokens move the row: its own token"),
        ("3: [0, 1, 2, 3]", "3: [3]", "row 3: [3] is not where the weight goes"),
        ("3: [0, 1, 2, 3]", "3: []", "a softmax always gives weights that sum to 1, and equal scores share them"),
        ("3: [0, 1, 2, 3]", "3: None", "there is no entry for 3 yet"),
        (", 3: [0, 1, 2, 3]", "", "there is no entry for 3 yet"),
        ("{'line': 7, 0: [1, 2, 3], 1: [2, 3], 2: [3], 3: [0, 1, 2, 3]}", "[[1, 2, 3], [2, 3], [3], []]", "lets_through is a list; expected a dict"),
        ("{'line': 7, 0: [1, 2, 3], 1: [2, 3], 2: [3], 3: [0, 1, 2, 3]}", "{4: [0]}", "lets_through has the entries ['4']"),
        ("1: [2, 3]", "1: ['2', 3]", "FAIL  the keys that get weight in row 1"),
    ],
    "RepairedLayer": [
        ("nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))", "FeedForward(d_model)",
         "FAIL  it can be built: RepairedLayer(24, 6)\n        What was seen: NameError, in __init__, line"),
        ("def __init__(self, d_model, heads):\n        super().__init__()\n        self.attention", "def __init__(self, d_model):\n        super().__init__()\n        heads = 6\n        self.attention",
         "takes 2 positional arguments but 3 were given; the check calls RepairedLayer(d_model, heads)"),
        ("self.attention = Attention", "self.attn = Attention", "the layer has no module named attention; keep the printed names"),
        ("        q = self.W_Q(x).view(B,", "        q = self.W_Q(x).view(n_batch,", "FAIL  it runs: x [3, 7, 24] gives y [3, 7, 24]\n        What was seen: NameError, in forward, line"),
        (MERGED, "transpose(1, 2).contiguous()", "RuntimeError, in forward, line 19 `return self.W_O(y)`: mat1 and mat2 shapes cannot be multiplied (126x4 and 24x24)"),
        ("self.attention(self.norm1(x))", "self.attention(self.norm1(x), past_kv=None)", "got an unexpected keyword argument 'past_kv'"),
        ("        x = x + self.attention(self.norm1(x))", "        y, new_kv = self.attention(self.norm1(x))\n        x = x + y", "too many values to unpack"),
        ("        x = x + self.attention(self.norm1(x))", "        y = self.attention(self.norm1(x))\n        if len(y) == 2: y, new_kv = y\n        x = x + y",
         "FAIL  a batch of 2 gives what its texts give alone"),
        ("        x = x + self.attention(self.norm1(x))", "        y = self.attention(self.norm1(x))\n        if len(y) == 2: y, new_kv = y\n        x = x + y",
         "It looks like: `y, new_kv = tensor`: a batch of exactly 2 is taken apart into its two texts"),
        ("return x + self.ffn(self.norm2(x))", "return x + self.ffn(self.norm2(x)), None", "the layer returns a tuple of 2; expected one tensor, y.\n        It looks like: the printed pair"),
        (MASKED, "scores", "FAIL  no row moves when a later token changes\n        What was seen: 10 of 10 pairs leak; row 0 of y moves when token 1 changes.\n        It looks like: no mask"),
        (MASKED, "scores.masked_fill(torch.zeros(T, T).masked_fill(~mask, -torch.inf) == 0, -1e9)", "It looks like: a mask turned round: what may be seen is filled"),
        (MASKED, "scores.masked_fill(mask == 1, -1e9)", "It looks like: a mask turned round: what may be seen is filled"),
        (MERGED, "reshape(B, T, C)", "It looks like: merge without transpose"),
        ("softmax(-1)", "softmax(-2)", "FAIL  no row moves when a later token changes"),
        ("math.sqrt(self.head_dim)", "math.sqrt(C)", "FAIL  y equals a right pre-norm layer with the same weights\n        What was seen: "),
        ("math.sqrt(self.head_dim)", "math.sqrt(C)", "It looks like: scale by d_model"),
        ("x = x + self.attention(self.norm1(x))", "x = self.attention(self.norm1(x))", "a residual that is left out"),
        ("return x + self.ffn(self.norm2(x))", "return self.ffn(self.norm2(x))", "the second residual is left out"),
        ("self.attention(self.norm1(x))", "self.attention(x)", "It looks like: norm1 is left out: x + attention(x)"),
        ("self.ffn(self.norm2(x))", "self.ffn(x)", "It looks like: norm2 is left out: x + ffn(x)"),
        ("        x = x + self.attention(self.norm1(x))\n        return x + self.ffn(self.norm2(x))", "        x = self.norm1(x + self.attention(x))\n        return self.norm2(x + self.ffn(x))", "It looks like: post-norm: each norm stands after its residual"),
        ("self.heads, self.head_dim = heads, d_model // heads", "self.heads, self.head_dim = d_model // heads, heads", "FAIL  y equals a right pre-norm layer"),
        (".tril()", ".tril(-1)", "FAIL"),
    ],
}  # fmt: skip


class TestLesson02(LessonGraders):
    lesson, right, wrong, alternatives = "02", RIGHT, WRONG, ALTERNATIVES


def test_the_line_that_is_asked_for_is_the_one_that_fills():
    """The lesson prints the lines of `forward` with their numbers; one of them compares the mask with 0."""
    (path,) = NOTEBOOKS.glob("02_*.ipynb")
    cells = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
    lines = cells["printed-lines"].outputs[0].text.splitlines()
    assert [line.split()[0] for line in lines if "mask == 0" in line] == [str(FILL_LINE)]


def test_the_printed_layer_fails_as_printed_and_the_check_says_where():
    """The code that the lesson shows is not a right answer, whichever of its errors is met first."""
    (path,) = NOTEBOOKS.glob("02_*.ipynb")
    cells = {cell.id: cell.source for cell in nbformat.read(path, as_version=4).cells}
    code = "import math, torch\nfrom torch import nn\n" + cells["printed-attention"] + "\n" + cells["printed-layer"]
    result = graded("RepairedLayer", code + "\nRepairedLayer = PrintedLayer")
    assert float(result) == 0 and "name 'FeedForward' is not defined" in str(result)
    mended = code.replace("FeedForward(d_model)", "nn.Linear(d_model, d_model)").replace(", past_kv=past_kv", "")
    for name, size in (("n_batch", "len(x)"), ("n_heads", "6"), ("d_head", "4")):
        mended = mended.replace(name, size)
    result = graded("RepairedLayer", mended + "\nRepairedLayer = PrintedLayer")
    assert "mat1 and mat2 shapes cannot be multiplied (126x4 and 24x24)" in str(result)
