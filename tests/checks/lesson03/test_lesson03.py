"""The graders of lesson 03 are code under test: wrong answers with the message each must get, right ones that must pass."""

from helpers.checks import EXERCISES

from ..graders import LessonGraders, graded
from .alternatives import ALTERNATIVES
from .answers import RIGHT

ATTENTION_HALF = "x = x + self.attention(self.norm1(x), cache, positions)"
FFN_HALF = "return x + self.ffn(self.norm2(x))"
EMBEDDED = "x = self.token(tokens) + self.position(positions)"
HEAD = "return F.linear(self.norm(x), self.token.weight)"

# exercise -> [(what stands in the right answer, what stands there instead, what the learner must be told)]
WRONG = {
    "FFN": [
        ("up, nn.GELU(approximate=config.gelu), down", "up, down", "lacks 2.bias, 2.weight and has 1.bias, 1.weight, by the names in the weights file.\n"
         "        It looks like: other places in the Sequential"),
        ("up, nn.GELU(approximate=config.gelu), down", "up, nn.Identity(), down", "FAIL  W2 · GELU(W1 · x), the exact GELU\n        What was seen: 180 of 180 numbers"),
        ("up, nn.GELU(approximate=config.gelu), down", "up, nn.Identity(), down", "no activation: two linear layers in a row are one"),
        ("nn.GELU(approximate=config.gelu), down", "nn.GELU(approximate=config.gelu), nn.Dropout(0.1), down", "has 3.bias, 3.weight, by the names in the weights file.\n        It looks like: other places in the Sequential"),
        ("nn.GELU(approximate=config.gelu)", "nn.ReLU()", "ReLU in the place of GELU"),
        ("nn.GELU(approximate=config.gelu)", "nn.SiLU()", "SiLU in the place of GELU"),
        ("nn.GELU(approximate=config.gelu)", "nn.GELU(approximate='tanh')", "GELU's other form, 'tanh': config.gelu is 'none'"),
        ("nn.GELU(approximate=config.gelu)", "nn.GELU()", "FAIL  GELU's tanh form where the config asks for it"),
        ("up, nn.GELU(approximate=config.gelu), down", "up, nn.Identity(), down, nn.GELU(approximate=config.gelu)", "the activation behind the second layer"),
        ("up, nn.GELU(approximate=config.gelu), down", "nn.GELU(approximate=config.gelu), up, down", "lacks 0.bias, 0.weight"),
        ("nn.Linear(config.d_model, config.d_ff), nn", "nn.Linear(config.d_model, config.d_ff, bias=False), nn", "lacks 0.bias, by the names in the weights file.\n        It looks like: linear layers without a bias"),
        ("nn.Linear(config.d_model, config.d_ff), nn.Linear(config.d_ff, config.d_model)",
         "nn.Linear(config.d_model, 4 * config.d_model), nn.Linear(4 * config.d_model, config.d_model)",
         "FAIL  another width: d_ff = 20 for d_model = 12\n        What was seen: 0.weight has shape [48, 12]; expected [20, 12], [outputs, inputs]"),
        ("nn.Linear(config.d_model, config.d_ff), nn.Linear(config.d_ff, config.d_model)", "nn.Linear(config.d_ff, config.d_model), nn.Linear(config.d_model, config.d_ff)",
         "0.weight has shape [12, 48]; expected [48, 12]"),
        ("class FFN(nn.Sequential):", "class FFN(nn.Sequential):\n    def forward(self, x):\n        return x + super().forward(x)\n", "a residual inside: adding x is the block's work"),
        ("class FFN(nn.Sequential):", "class FFN(nn.Sequential):\n    def forward(self, x):\n        return super().forward(F.layer_norm(x, x.shape[-1:]))\n", "a norm inside: that is the block's work"),
        ("class FFN(nn.Sequential):", "class FFN(nn.Sequential):\n    def forward(self, x):\n        super().forward(x)\n", "None (is a `return` missing?)"),
        ("class FFN(nn.Sequential):", "class FFN(nn.Sequential):\n    def forward(self, x):\n        return super().forward(x).float()\n", "is torch.float32; expected torch.float64"),
        ("        super().__init__(up, nn.GELU(approximate=config.gelu), down)", "        super().__init__()\n        self.fc1, self.fc2, self.act = up, down, nn.GELU()",
         "has fc1.bias, fc1.weight, fc2.bias, fc2.weight, by the names in the weights file.\n        It looks like: layers under names of their own"),
        ("class FFN(nn.Sequential):\n    def __init__(self, config):",
         "def FFN(config):\n    up, down = nn.Linear(config.d_model, config.d_ff), nn.Linear(config.d_ff, config.d_model)\n    return lambda x: down(F.gelu(up(x)))\n\n"
         "class Other(nn.Sequential):\n    def __init__(self, config):", "FFN(config) gave a function; expected an nn.Module"),
    ],
    "Block": [
        (f"{ATTENTION_HALF}\n        {FFN_HALF}", "x = self.norm1(x + self.attention(x, cache, positions))\n        return self.norm2(x + self.ffn(x))",
         "FAIL  a whole sequence of 5 tokens\n        What was seen: 180 of 180 numbers of the block's output differ"),
        (f"{ATTENTION_HALF}\n        {FFN_HALF}", "x = self.norm1(x + self.attention(x, cache, positions))\n        return self.norm2(x + self.ffn(x))",
         "It looks like: post-norm: the sum is normalised, not the branch's input"),
        ("x = x + self.attention(", "x = self.attention(", "the residual around the attention is missing"),
        (FFN_HALF, "return self.ffn(self.norm2(x))", "the residual around the FFN is missing"),
        (f"{ATTENTION_HALF}\n        {FFN_HALF}", "return self.ffn(self.norm2(self.attention(self.norm1(x), cache, positions)))", "both residuals are missing"),
        (f"{ATTENTION_HALF}\n        {FFN_HALF}", "x = self.norm1(x)\n        x = x + self.attention(x, cache, positions)\n        x = self.norm2(x)\n        return x + self.ffn(x)",
         "the normalised x is added: the stream must pass untouched"),
        (ATTENTION_HALF, "x = self.norm1(x)\n        x = x + self.attention(x, cache, positions)", "the normalised x is added in the first half"),
        (FFN_HALF, "x = self.norm2(x)\n        return x + self.ffn(x)", "the normalised x is added in the second half"),
        ("self.norm2(x)", "self.norm1(x)", "norm1 in both halves"),
        (f"self.norm1(x), cache, positions)\n        {FFN_HALF}", "self.norm2(x), cache, positions)\n        return x + self.ffn(self.norm1(x))", "the two norms exchanged"),
        ("self.ffn(self.norm2(x))", "self.ffn(x)", "no norm before the FFN"),
        ("self.attention(self.norm1(x)", "self.attention(x", "no norm before the attention"),
        (f"(self.norm1(x), cache, positions)\n        {FFN_HALF}", "(x, cache, positions)\n        return x + self.ffn(x)", "no norm at all"),
        (f"{ATTENTION_HALF}\n        {FFN_HALF}", "x = x + self.norm1(self.attention(x, cache, positions))\n        return x + self.norm2(self.ffn(x))", "norms behind the branches"),
        (f"{ATTENTION_HALF}\n        {FFN_HALF}", "return x + self.attention(self.norm1(x), cache, positions) + self.ffn(self.norm2(x))", "a parallel block"),
        (f"{ATTENTION_HALF}\n        {FFN_HALF}", "h = x + self.attention(self.norm1(x), cache, positions)\n        return x + self.ffn(self.norm2(h))", "the second half added to the first x"),
        (f"{ATTENTION_HALF}\n        {FFN_HALF}", "x = x + self.ffn(self.norm2(x))\n        return x + self.attention(self.norm1(x), cache, positions)", "the FFN before the attention"),
        (FFN_HALF, "return x", "It looks like: no FFN"),
        (ATTENTION_HALF, "", "It looks like: no attention"),
        ("self.norm1(x), cache, positions", "self.norm1(x), NoCache(), positions",
         "FAIL  a chunk of 2 tokens after 4 cached ones: cache and positions are handed on\n        What was seen: "),
        ("self.norm1(x), cache, positions", "self.norm1(x), NoCache(), positions", "the cache is not handed to the attention"),
        ("self.norm1(x), cache, positions", "self.norm1(x), cache, torch.arange(x.shape[1])", "positions that begin at 0 in every call"),
        (ATTENTION_HALF, f"self.attention(self.norm1(x), cache, positions)\n        {ATTENTION_HALF}", "the cache holds 10 rows after the call; expected 5.\n        It looks like: the attention called twice"),
        (FFN_HALF, f"{FFN_HALF}, cache", "the block gave a tuple of 2; expected x alone.\n        It looks like: a cache handed back"),
        (ATTENTION_HALF, "y, new = self.attention(self.norm1(x), cache, positions)\n        x = x + y", "ValueError, in forward, line"),
        (FFN_HALF, "x + self.ffn(self.norm2(x))", "the block's output is None (is a `return` missing?)"),
        (f"{ATTENTION_HALF}\n        {FFN_HALF}", "x += self.attention(self.norm1(x), cache, positions)\n        x += self.ffn(self.norm2(x))\n        return x",
         "FAIL  x is unchanged\n        What was seen: the call changed its argument x in place"),
        ("self.ffn = FFN(config)", "self.ffn = FFN(config)\n        self.norm3 = nn.LayerNorm(config.d_model)", "has norm3.bias, norm3.weight"),
        ("self.ffn = FFN(config)", "self.feed = FFN(config)", "lacks ffn.0.bias, ffn.0.weight, ffn.2.bias, ffn.2.weight and has feed.0.bias"),
        ("eps=config.norm_eps)\n        self.ffn", "eps=1e-8)\n        self.ffn", "FAIL  a whole sequence of 5 tokens"),
    ],
    "sinusoids_at": [
        ("positions[..., None] * rate", "torch.arange(positions.shape[-1])[..., None] * rate", "FAIL  positions 7, 8, 9: a chunk after 7 tokens\n        What was seen: "),
        ("positions[..., None] * rate", "torch.arange(positions.shape[-1])[..., None] * rate", "rows 0 to T - 1, whatever positions were asked for: the offset is lost"),
        ("positions[..., None]", "(positions[..., None] + 1)", "one position too far"),
        ("angle.sin(), angle.cos()", "angle.cos(), angle.sin()", "sine and cosine exchanged"),
        ("out[..., 0::2], out[..., 1::2] =", "out[..., : d_model // 2], out[..., d_model // 2 :] =", "all sines first, then all cosines: the two alternate"),
        ("torch.arange(0, d_model, 2)", "torch.arange(d_model // 2)", "an exponent of i / d_model; it is 2i / d_model"),
        ("torch.arange(0, d_model, 2)", "2 * torch.arange(0, d_model, 2)", "an exponent of 4i / d_model"),
        ("torch.arange(0, d_model, 2) / d_model", "torch.arange(0, d_model, 2) / (d_model - 2)", "an exponent that reaches 1 in the last pair"),
        ("(-torch.arange", "(torch.arange", "rates that grow with i"),
        ("10_000.0", "torch.e", "e in the place of 10,000"),
        ("10_000.0 ** (-torch.arange(0, d_model, 2) / d_model)", "torch.ones(d_model // 2)", "one rate for all channels"),
        ("positions[..., None] * rate", "positions[:, None] * rate", "FAIL  a batch of rows, each with positions of its own"),
        ("positions[..., None] * rate", "positions[..., None] * rate / (1 + (positions[..., None] > 99))", "FAIL  one position, 5,000: a formula has no end"),
        ("    return out", "    return torch.stack([out[i] for i in range(len(out))]) if positions.max() < 512 else out[positions]", "IndexError"),
        ("    return out", "    out", "None (is a `return` missing?)"),
        ("    return out", "    return out.numpy()", "is a ndarray; expected a tensor of shape [T, C] = [5, 6]"),
        ("    return out", "    return out, rate", "is a tuple; expected a tensor"),
        ("    return out", "    return out.mT", "has shape [6, 5]; expected of shape [T, C] = [5, 6].\n        It looks like: the right axes in another order"),
        ("    return out", "    return out.long()", "is torch.int64; expected torch.float64"),
        ("out[..., 1::2] = angle.sin(), angle.cos()", "_ = angle.sin(), angle.cos()", "FAIL  positions 0 to 4, 6 channels"),
    ],
    "position_ids": [
        ("before = mask.cumsum(-1) - 1", "before = torch.arange(mask.shape[1]).expand(mask.shape)", "FAIL  a padded prompt: on the left, in its last row on the right\n        What was seen: "),
        ("before = mask.cumsum(-1) - 1", "before = torch.arange(mask.shape[1]).expand(mask.shape)", "padding that is counted, but itself at 0"),
        ("before.masked_fill(~mask, 0)[:, n_past:]", "torch.arange(n_past, mask.shape[1]).expand(len(mask), -1)",
         "row 1 has the mask [0, 0, 1, 1, 1, 1], 0 columns cached: got [0, 1, 2, 3, 4, 5], expected [0, 0, 0, 1, 2, 3].\n        It looks like: padding that is counted: columns"),
        ("    before = mask.cumsum(-1) - 1\n    return before.masked_fill(~mask, 0)[:, n_past:]", "    mask = mask[:, n_past:]\n    return (mask.cumsum(-1) - 1).masked_fill(~mask, 0)",
         "FAIL  one new token after 4, no padding\n        What was seen: 2 of 2 numbers of the positions differ; the first at B=0, T=0: got 0, expected 4"),
        ("    before = mask.cumsum(-1) - 1\n    return before.masked_fill(~mask, 0)[:, n_past:]", "    mask = mask[:, n_past:]\n    return (mask.cumsum(-1) - 1).masked_fill(~mask, 0)",
         "a restart: the count begins at the first new column"),
        ("cumsum(-1) - 1", "cumsum(-1)", "one too far: a token's own column is counted"),
        (".masked_fill(~mask, 0)", "", "FAIL  a padded prompt: on the left, in its last row on the right\n        What was seen: 5 of 24 numbers"),
        (".masked_fill(~mask, 0)", "", "only the padding is wrong: put it at 0"),
        (".masked_fill(~mask, 0)", ".clamp(min=0)", "row 3 has the mask [1, 1, 1, 1, 0, 0], 0 columns cached: got [0, 1, 2, 3, 3, 3], expected [0, 1, 2, 3, 0, 0].\n        It looks like: only the padding is wrong"),
        (" - 1\n    return before.masked_fill(~mask, 0)", " - mask.long()\n    return before", "got [0, 1, 2, 3, 4, 4], expected [0, 1, 2, 3, 0, 0].\n        It looks like: only the padding is wrong"),
        ("masked_fill(~mask, 0)", "masked_fill(~mask, 1)", "only the padding is wrong: put it at 0"),
        ("[:, n_past:]", "", "positions of all 5 columns; expected those of the 1 new ones, [B, T] = [2, 1].\n        It looks like: the columns of the cached tokens are not cut off"),
        ("[:, n_past:]", "[:, -1:]", "has shape [2, 1]; expected of shape [B, T] = [2, 5]"),
        ("before.masked_fill(~mask, 0)[:, n_past:]", "(mask.sum(-1, keepdim=True) - 1).expand(-1, mask.shape[1] - n_past)", "the length of the row: every new token gets the same position"),
        ("before.masked_fill(~mask, 0)", "before.masked_fill(~mask, 0).clamp(max=511)", "FAIL  600 tokens: counting does not stop at some table's end"),
        ("before.masked_fill(~mask, 0)", "before.masked_fill(~mask, 0).clamp(max=511)", "clamped to the last row of a table"),
        ("    before = mask.cumsum(-1) - 1", "    mask = ~mask\n    before = mask.cumsum(-1) - 1", "the wrong way round"),
        ("cumsum(-1)", "cumsum(0)", "FAIL  a prompt without padding"),
        ("[:, n_past:]", "[:, n_past:].float()", "is torch.float32; expected torch.int64"),
        ("[:, n_past:]", "[:, n_past:].int()", "is torch.int32; expected torch.int64"),
        ("[:, n_past:]", "[0, n_past:]", "has shape [5]; expected of shape [B, T] = [2, 5]"),
        ("    return before", "    before", "None (is a `return` missing?)"),
        ("    return before.masked_fill(~mask, 0)[:, n_past:]", "    yield before", "a generator (the function contains `yield`)"),
        ("    before =", "    mask[:, n_past:] = True\n    before =", "FAIL  a padded prompt"),
        ("    return before.masked_fill(~mask, 0)[:, n_past:]", "    out = before.masked_fill(~mask, 0)[:, n_past:]\n    mask.fill_(True)\n    return out",
         "FAIL  the mask is unchanged\n        What was seen: the call changed its argument mask in place"),
        ("[:, n_past:]", "[:, n_past:] if n_past != 4 or mask.shape[1] != 6 else (mask.cumsum(-1) - 1)[:, n_past:] - (mask.shape[0] == 3)", "FAIL  a chunk of 2 new tokens after a left-padded prompt"),
        ("mask.cumsum(-1) - 1", "torch.arange(mask.shape[1]) - (mask.cumsum(-1) == 0).sum(-1, keepdim=True)", "FAIL  a gap: a prompt padded on the right, then 2 new tokens"),
        ("mask.cumsum(-1) - 1", "torch.arange(mask.shape[1]) - (mask.cumsum(-1) == 0).sum(-1, keepdim=True)", "only the padding in front taken off: a gap further on is counted"),
        ("before.masked_fill(~mask, 0)[:, n_past:]", "before.masked_fill(~mask, 0)[:, n_past:] if n_past < 5 or mask.shape[1] > 6 else before[:1, n_past:].expand(len(mask), -1)",
         "FAIL  one new token after a left-padded prompt: each row has its own position"),
    ],
    "MiniGPT": [
        ("torch.arange(offset, offset + tokens.shape[1])", "torch.arange(tokens.shape[1])", "FAIL  the same at offset 6\n        What was seen: "),
        ("torch.arange(offset, offset + tokens.shape[1])", "torch.arange(tokens.shape[1])", "the offset is ignored: every call begins at position 0"),
        ("torch.arange(offset, offset + tokens.shape[1])", "torch.full((tokens.shape[1],), offset)", "position 0 for all tokens of the call"),
        ("torch.arange(offset, offset + tokens.shape[1])", "torch.arange(tokens.shape[1]) if not offset else torch.tensor([offset])", "all tokens of the call at the position of its first one"),
        ("torch.arange(offset, offset + tokens.shape[1])", "torch.arange(tokens.shape[1]) + offset + (offset > 0)", "an offset that is one too large"),
        ("torch.arange(offset, offset + tokens.shape[1])", "torch.arange(tokens.shape[1]) + offset - int(offset > 0)", "an offset that is one too small"),
        ("block(x, cache, positions)", "block(x, NoCache(), positions)", "FAIL  one token at offset 6, on a cache of 6\n        What was seen: "),
        ("block(x, cache, positions)", "block(x, NoCache(), positions)", "the cache is not handed to the blocks"),
        ("block(x, cache, positions)", "block(x, cache if tokens.shape[1] == 1 else NoCache(), positions)", "FAIL  a chunk of 3 at offset 6, on a cache of 6"),
        ("block(x, cache, positions)", "block(x, cache, torch.arange(tokens.shape[1]))", "FAIL  a chunk of 3 at offset 6, on a cache of 6\n        What was seen: "),
        ("block(x, cache, positions)", "block(x, cache, torch.arange(tokens.shape[1]))", "the blocks get positions from 0 in every call"),
        ("Block(config, layer)", "Block(config, 0)", "FAIL  one token at offset 6, on a cache of 6\n        What was seen: "),
        ("Block(config, layer)", "Block(config, 0)", "blocks that share their cached rows: they are made as layers [0, 0, 0]; expected [0, 1, 2]"),
        (" + self.position(positions)", "", "no positions are added"),
        ("F.linear(self.norm(x), self.token.weight)", "F.linear(x, self.token.weight)", "the last norm is missing"),
        (EMBEDDED, "x = self.norm(self.token(tokens) + self.position(positions))", "differ"),
        ("self.token(tokens) + self", "self.token(tokens) * self.token.weight.shape[1] ** 0.5 + self", "the embedding is multiplied by √C"),
        (HEAD, "return F.linear(self.norm(x), self.token.weight).softmax(-1)", "probabilities: the logits are what comes before the softmax"),
        (HEAD, "return self.norm(x)", "the result has shape [4, 7, 20], C channels; expected V = 23.\n        It looks like: no head"),
        (HEAD, "return F.linear(self.norm(x[:, -1]), self.token.weight)", "the logits has shape [4, 23]; expected of shape [B, T, V] = [4, 7, 23]"),
        (HEAD, "return F.linear(self.norm(x), self.token.weight), cache", "the logits is a tuple"),
        (HEAD, "F.linear(self.norm(x), self.token.weight)", "None (is a `return` missing?)"),
        ("x = block(x, cache, positions)", "block(x, cache, positions)", "no block is run"),
        ("        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)\n\n    def forward(self, tokens",
         "        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)\n        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)\n\n    def forward(self, tokens",
         "has head.weight, by the names in the weights file.\n        It looks like: a head with weights of its own"),
        ("nn.ModuleList(Block(config, layer) for layer in range(config.n_layers))", "[Block(config, layer) for layer in range(config.n_layers)]", "blocks that torch cannot find: a plain list hides them"),
        ("nn.Embedding(config.block_size, config.d_model)", "nn.Embedding(512, config.d_model)", "position.weight has shape [512, 20]; expected [17, 20]"),
        ("range(config.n_layers)", "range(3)", "FAIL  the trained ledger model: the logits of the reference\n        What was seen: the module lacks blocks.3."),
        ("self.position(positions)", "self.position(positions.clamp(max=self.position.num_embeddings - 1))", "FAIL  past the last of 17 positions it refuses\n        What was seen: 3 tokens at offset 15 gave a result of "
         "shape [4, 3, 23]; expected a ValueError or IndexError.\n        It looks like: positions that are clamped"),
        ("self.position(positions)", "self.position(positions % self.position.num_embeddings)", "or taken modulo the block"),
        ("self.position(positions)", "self.position.weight[offset : offset + tokens.shape[1]]", "3 tokens at offset 15 raised RuntimeError; expected a ValueError or IndexError.\n        It looks like: a slice of the table that came out too short"),
        (EMBEDDED, f"assert int(positions[-1]) < self.position.num_embeddings\n        {EMBEDDED}", "3 tokens at offset 15 raised AssertionError; expected a ValueError or IndexError.\n        It looks like: an assert"),
        (", cache=None):", "):\n        cache = None", "TypeError, outside the notebook's code, with what it returned: MiniGPT.forward() got an unexpected keyword argument 'cache'"),
        (", offset=0, cache=None):", ", cache=None):\n        offset = 0", "FAIL  the same at offset 6"),
        ("        cache = NoCache() if cache is None else cache\n", "", "'NoneType' object has no attribute 'update'"),
        ("        x = x + self.attention(", "        x = self.attention(", "a wrong block in a right model: see check('Block')"),
    ],
}  # fmt: skip


class TestLesson03(LessonGraders):
    lesson, right, wrong, alternatives = "03", RIGHT, WRONG, ALTERNATIVES


def test_a_slice_past_the_table_is_an_empty_result_and_is_told_so():
    """With one token nothing raises: the first of the two cases must be caught for the second one to be seen."""
    sliced = RIGHT["MiniGPT"].replace(
        "self.position(positions)",
        "(self.position(positions) if tokens.shape[1] > 1 else self.position.weight[offset : offset + 1])",
    )
    result = str(graded("MiniGPT", sliced))
    assert "1 token at offset 17 gave a result of shape [4, 0, 23]" in result and "it is empty" in result


def test_an_unwritten_part_is_named_and_nothing_counts_as_attempted():
    """A block on an unwritten FFN is no wrong block."""
    code = RIGHT["Block"].replace(
        "        up, down =", '        raise NotImplementedError("your code here")\n        up, down ='
    )
    result = graded("Block", code)
    assert not result.attempted and "FFN, which it uses, is not written yet" in str(result)


def test_points():
    assert {n: EXERCISES[n].points for n in RIGHT} == {
        "FFN": 4,
        "Block": 4,
        "sinusoids_at": 4,
        "position_ids": 8,
        "MiniGPT": 9,
    }
