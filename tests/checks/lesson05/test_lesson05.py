"""The graders of lesson 05 are code under test: wrong answers with the message each must get, right ones that must pass."""

import pytest

from helpers.checks import EXERCISES

from ..graders import LessonGraders, graded
from .alternatives import ALTERNATIVES
from .answers import RIGHT

# exercise -> [(what stands in the right answer, what stands there instead, what the learner must be told)]
WRONG = {
    "attention_with_past": [
        ("tril(S - T)", "tril()", "It looks like: a mask that starts at the top left"),
        ("tril(S - T)", "tril(S)", "no causal mask"),
        ("tril(S - T)", "tril(S - T - 1)", "not finite; the first at B=0, T=0, C=0: nan"),
        ("tril(S - T)", "tril(S - T + 1)", "diagonal one too high"),
        ("~mask", "mask", "not finite"),
        ("tril(S - T)", "triu(S - T)", "differ by more than"),
        ("if past_kv is not None:", "if False:", "the past is dropped: only the new rows are returned"),
        ("[past_kv[0], k]", "[k, past_kv[0]]", "the new rows put in front of the old ones"),
        ("[past_kv[0], k], dim=2)\n        v = torch.cat([past_kv[1], v]", "[past_kv[0], k, k], dim=2)\n        v = torch.cat([past_kv[1], v, v]",
         "K has 8 rows; expected 6 cached + 1 new = 7.\n        It looks like: the new rows are appended twice"),
        ("flatten(2) @ out_weight.T + out_bias, (k, v)", "flatten(2) @ out_weight.T + out_bias, past_kv or (k, v)",
         "the new row is used but not stored"),
        ("/ D**0.5", "", "scores that are not divided"),
        ("/ D**0.5", "/ x.shape[-1]**0.5", "square root of d_model"),
        ("/ D**0.5", "/ D", "divided by head_dim, not by its square root"),
        ("y.transpose(1, 2).flatten(2)", "y.reshape(x.shape)", "heads merged without exchanging"),
        ("scores.softmax(-1)", "scores.softmax(-2)", "softmax over the queries"),
        (", (k, v)\n", ", (v, k)\n", "keys and values exchanged"),
        (", (k, v)\n", ", (k, k)\n", "keys and values exchanged, or one of them stored twice"),
        (", (k, v)\n", "\n", "the result is a Tensor; expected 2 things: (y, (K, V))"),
        (", (k, v)\n", ", (k.transpose(1, 2), v)\n", "the right axes in another order"),
        (" + out_bias", "", "It looks like: the output projection without its bias"),
        ("flatten(2) @ out_weight.T + out_bias", "flatten(2)", "It looks like: the merged heads without the output projection"),
        ("@ out_weight.T", "@ out_weight", "It looks like: out_weight used without its transpose"),
        ("    T, S =", "    v = v if past_kv is None else past_kv[1]\n    T, S =", "RuntimeError, in attention_with_past, line"),
        ("    D = x.shape", "    x *= 1.0 if past_kv is None else 2.0\n    D = x.shape", "differ"),
        ("    T, S =", "    if past_kv: past_kv[0].zero_()\n    T, S =", "changed its argument past_kv in place"),
        ("    mask = torch.ones(T, S, dtype=torch.bool).tril(S - T)",
         "    mask = torch.ones(T, S, dtype=torch.bool).tril() if T == S else torch.ones(T, S, dtype=torch.bool)",
         "6 rows cached, a chunk of 3: y\n        What was seen"),
        (" + out_bias, (k", " + out_bias.double(), (k", "y is torch.float64; expected torch.float32"),
        ("[past_kv[0], k]", "[past_kv[0], k.flip(2)]", "FAIL  6 rows cached, a chunk of 3: rows of K and V\n        What was seen"),
        (", (k, v)\n", ", (k[:, :, : S - T + 1], v[:, :, : S - T + 1]) if past_kv else (k, v)\n",
         "K has shape [4, 2, 7, 5]; expected of shape [B, H, S, D] = [4, 2, 9, 5]"),
    ],
    "forward_with_past": [
        ("embed(tokens, torch.arange(n, n + tokens.shape[1]))", "embed(tokens, torch.arange(tokens.shape[1]))",
         "a token at position 0; its layer-0 key equals the key of that position, expected 6"),
        ("embed(tokens, torch.arange(n, n + tokens.shape[1]))", "embed(tokens, torch.arange(n, n + tokens.shape[1]) + (n > 0))",
         "a token at position 7"),
        ("past[layer] if past else None", "past[0] if past else None", "layer 1 differs in K and V, in rows that were cached"),
        ("past[layer] if past else None", "None", "the layers hold [1, 1, 1] rows of K; expected 7 in each (6 cached + 1 fed)"),
        ("        new_past.append(kv)", "        new_past = kv", "past is a tuple of 2; expected a list of 3 pairs"),
        ("        new_past.append(kv)", "        new_past = [kv] * 3", "one cache shared by all layers"),
        ("        new_past.append(kv)", "        new_past.append(past[layer] if past else kv)", "the new rows are not stored"),
        ("new_past.append(kv)", "new_past.insert(0, kv)", "layer 0 differs in K and V, in the new rows"),
        ("block.norm1(x)", "x", "layer 0 differs in K and V, in the new rows"),
        ("        x = x + y\n", "        x = y\n", "layer 1 differs in K and V, in the new rows; layers before it are right"),
        ("block.norm2(x)", "x", "layer 1 differs in K and V, in the new rows"),
        ("model.norm(x) @", "x @", "the logits differ from the oracle by up to"),
        ("return model.norm(x)", "return model.norm(x)[:, -1:]", "logits has shape [4, 1, 23]; expected of shape [B, T, V] = [4, 6, 23]"),
        (".weight.T, new_past", ".weight.T", "the result is a Tensor; expected 2 things: (logits, past)"),
        ("    new_past = []\n", "    new_past = past if past is not None else []\n    if past: past = list(past); new_past.clear()\n",
         "changed its argument past in place"),
    ],
    "prefill": [
        ("logits[:, -1], past\n", "logits[:, 0], past\n", "the logits are those of position 0; expected position 5"),
        ("logits[:, -1], past\n", "logits[:, -2], past\n", "the logits are those of position 4"),
        ("logits[:, -1], past\n", "logits, past\n", "logits has shape [4, 6, 23]; expected of shape [B, V] = [4, 23]"),
        ("logits[:, -1], past\n", "logits[:, -1:], past\n", "logits has shape [4, 1, 23]"),
        ("logits[:, -1], past\n", "logits[:, -1]\n", "expected 2 things: (logits, past)"),
        ("logits[:, -1], past\n", "past, logits[:, -1]\n", "logits is a list"),
        ("logits[:, -1], past\n", "logits[:, -1].softmax(-1), past\n", "the logits differ from the oracle"),
        ("forward_with_past(model, tokens)\n", "forward_with_past(model, tokens[:, :-1])\n", "the logits are those of position 4"),
        ("forward_with_past(model, tokens)\n", "forward_with_past(model, tokens[:, -1:])\n", "the layers hold [1, 1, 1] rows"),
        ("forward_with_past(model, tokens)\n",
         "forward_with_past(model, tokens)\n    _, past = forward_with_past(model, tokens[:, -1:], past)\n", "the layers hold [7, 7, 7] rows"),
        ("forward_with_past(model, tokens)\n", "forward_with_past(model, tokens.flip(1))\n", "layer 0 differs in K and V"),
    ],
    "decode_step": [
        ("token[:, None], past)", "token[:, None])", "the past is dropped, only the new rows are returned"),
        ("token[:, None], past)\n    return logits[:, -1], past", "token[:, None], past)[0], past\n    return logits[:, -1], past",
         "the new rows are not stored"),
        ("token[:, None], past)", "token[None, :], past)", "RuntimeError, in attention_with_past"),
        ("token[:, None], past)", "token, past)", "IndexError"),
        ("token[:, None], past)", "torch.stack([token, token], 1), past)", "the layers hold [8, 8, 8] rows"),
        ("token[:, None], past)\n    return logits[:, -1]", "token[:, None], past)\n    return logits", "logits has shape [4, 1, 23]"),
        ("token[:, None], past)\n    return logits[:, -1]", "token[:, None], past)\n    return logits.squeeze()",
         "a batch of 1: shapes and lengths\n        What was seen: logits has shape [23]; expected of shape [B, V] = [1, 23]"),
        ("token[:, None], past)\n    return logits[:, -1]", "token[:, None], past)\n    return logits.argmax(-1)[:, 0]", "logits has shape [4]"),
        ("embed(tokens, torch.arange(n, n + tokens.shape[1]))", "embed(tokens, torch.arange(tokens.shape[1]))", "a token at position 0"),
        ("embed(tokens, torch.arange(n, n + tokens.shape[1]))",
         "embed(tokens, torch.arange(n, n + tokens.shape[1]) - int(tokens.shape[1] == 1))", "a token at position 5"),
        ("embed(tokens, torch.arange(n, n + tokens.shape[1]))", "embed(tokens, torch.full((1,), 6 if n else 0))",
         "step 1 after a prompt of 1, a batch of 1: rows of every layer\n        What was seen"),
        ("    y = scores.softmax(-1) @ v", "    y = scores[..., :-1].softmax(-1) @ v[:, :, :-1] if T == 1 and S > 1 else scores.softmax(-1) @ v",
         "Decode attends over the old rows only"),
        ("tril(S - T)", "tril()", "the new token sees key 0 only"),
        (", (k, v)\n", ", (k, k)\n", "layer 0 differs in V, in rows that were cached before.\n        It looks like: keys stored"),
        (", (k, v)\n", ", (k, v) if past_kv is None else (k, past_kv[1])\n", "the layers hold [6, 6, 6] rows of V"),
    ],
    "generate_cached": [
        ("logits.argmax(-1)", "logits.argmin(-1)", "numbers of the tokens differ; the first at B=0, n=0"),
        ("        if step:\n            logits, past = decode_step(model, tokens[-1], past)\n        tokens.append(logits.argmax(-1))\n",
         "        tokens.append(logits.argmax(-1))\n        logits, past = decode_step(model, tokens[-1], past)\n",
         "11 tokens went through layer 0, in calls of [6, 1, 1, 1, 1, 1]; expected 6 + 4 = 10.\n        It looks like: the last token is fed too"),
        ("        if step:\n            logits, past = decode_step(model, tokens[-1], past)\n",
         "        logits, past = decode_step(model, tokens[-1] if tokens else prompt[:, -1], past)\n",
         "It looks like: the prompt's last token is fed twice"),
        ("logits.argmax(-1)", "logits.argmax(-1).squeeze()", "FAIL  a prompt of 1 token, in a batch and alone"),
        ("torch.stack(tokens, 1) if tokens else prompt[:, :0]", "torch.stack(tokens, 1)", "stack expects a non-empty"),
        ("torch.stack(tokens, 1) if", "torch.stack(tokens, 0) if", "the right axes in another order"),
        ("torch.stack(tokens, 1) if", "tokens if", "the tokens is a list"),
        ("torch.stack(tokens, 1) if", "torch.cat([prompt, torch.stack(tokens, 1)], 1) if", "the 7 new tokens only, without the prompt"),
        ("        tokens.append(logits.argmax(-1))", "        tokens.append(logits.argmax(-1)[:1].expand(4))", "tokens differ; the first at B=1"),
        ("torch.stack(tokens, 1) if", "torch.stack(tokens, 1).float() if", "torch.float32; expected torch.int64"),
        ("            logits, past = decode_step(model, tokens[-1], past)\n",
         "            logits, past = prefill(model, torch.cat([prompt, torch.stack(tokens, 1)], 1))\n",
         "40 tokens went through layer 0, in calls of [6, 7, 8, 9, 10]; expected 6 + 4 = 10.\n        It looks like: the whole sequence"),
        ("    logits, past = prefill(model, prompt)\n",
         "    global kept\n    kept = logits, past = forward_with_past(model, prompt, globals().get('kept', (0, None))[1])\n    logits = logits[:, -1]\n",
         "It looks like: a cache that the request before has filled"),
        ("embed(tokens, torch.arange(n, n + tokens.shape[1]))\n    model.check_positions(torch.arange(n, n + tokens.shape[1]))",
         "embed(tokens, torch.arange(n, n + tokens.shape[1]).clamp(max=16))", "no error where 18 positions would be needed"),
        ("prefill(model, prompt)\n", "prefill(model, prompt if prompt.shape[1] > 1 else prompt.repeat(1, 2))\n", "FAIL  a prompt of 1 token"),
        ("    logits, past = prefill", "    if prompt.shape[1] + max_new_tokens > 17: raise ValueError('too long')\n    logits, past = prefill",
         "FAIL  fills the block: prompt + new - 1 = block\n        What was seen: ValueError, in generate_cached"),
    ],
    "Cache": [
        ("torch.arange(self.length, self.length + T)", "torch.arange(T)", "positions that restart at 0 in each call"),
        ("self.length += T", "pass", "positions(1) after advance(6) differ"),
        ("        return k, v\n", "        self.length += k.shape[2]\n        return k, v\n",
         "before advance (asked again, nothing has moved) differ; the first at T=0: got 6, expected 0.\n        It looks like: tokens counted in update"),
        ("self.length += T", "self.length += 1", "It looks like: an advance that does not add T"),
        ("        self.rows[layer] = k, v\n", "        self.rows[0] = k, v\n", "K of layer"),
        ("        self.rows[layer] = k, v\n", "        self.rows[layer] = self.rows[layer] or (k, v)\n", "after an update with 5 rows"),
        ("        self.rows[layer] = k, v\n", "", "only the new rows are returned"),
        ("        return k, v\n", "        return k\n", "update returned a Tensor; expected the pair (K, V)"),
        ("[self.rows[layer][0], k]", "[k, self.rows[layer][0]]", "numbers of K of layer 0 after an update with 1 rows differ"),
        ("        self.rows[layer] = k, v\n", "        self.rows[layer] = k, k\n", "numbers of V of layer 0 after an update with 1 rows"),
        ("tril(S - T)", "tril()", "a triangle that starts at the top left"),
        ("tril(S - T)", "tril(S - T).logical_not()", "the other convention"),
        ("tril(S - T)", "tril(S - T - 1)", "mask(6, 6) differ"),
        ("dtype=torch.bool).tril(S - T)", "dtype=torch.bool).tril(S - T).float()", "mask(6, 6) is torch.float32; expected torch.bool"),
        ("return None if T == 1 else", "return None if T != S else", "mask(5, 12) is None"),
        ("        self.length = 0\n        self.rows = [None] * n_layers\n    def pos",
         "        pass\n    length, rows = 0, [None] * 9\n    def pos", "kept in the class, where all caches share them"),
        ("def advance(self, T)", "def advance_by(self, T)", "AttributeError"),
        ("    def __init__(self, n_layers):", "    def __init__(self, n_layers, n_heads):", "TypeError"),
        ("        self.rows[layer] = k, v\n", "        k, v = k[:, :, -12:], v[:, :, -12:]\n        self.rows[layer] = k, v\n",
         "FAIL  in the model: prefill, single steps and a chunk equal the oracle"),
    ],
    "rows_expected": [
        ("max(emitted - 1, 0)", "emitted", "counting the tokens emitted; the last of them has not been fed"),
        ("max(emitted - 1, 0)", "emitted - 1",
         "a prompt of 6, 0 emitted: got 5, expected 6.\n        It looks like: one subtracted although no token is emitted yet"),
        ("max(emitted - 1, 0)", "0", "a prompt of 6, 2 emitted: got 6, expected 7"),
        ("max(emitted - 1, 0)", "emitted + 1", "got 7, expected 6"),
        ("min(rows, window)", "max(rows, window)", "got 8, expected 6.\n        It looks like: the window's size"),
        ("min(rows, window)", "min(rows, window - 1)", "window 8: got 7, expected 8"),
        ("min(rows, window)", "window", "window 8: got 8, expected 6"),
        ("min(rows, window)", "rows", "got 9, expected 8.\n        It looks like: a window that is left out"),
        ("window is None else", "window is None or not emitted else", "got 20, expected 8.\n        It looks like: a window that is left out"),
        ("    return rows if", "    rows if", "got None (is a `return` missing?), expected 6"),
        (", window=None", "", "NameError"),
    ],
    "continue_chat": [
        ("    chunk = torch.cat([last_token[:, None], new_ids], dim=1)\n", "    chunk = new_ids\n",
         "expected 7 cached + 1 + 5 new ids = 13.\n        It looks like: the last token is not fed"),
        ("[last_token[:, None], new_ids]", "[last_token[:, None], last_token[:, None], new_ids]", "the last token is fed twice"),
        ("[last_token[:, None], new_ids]", "[new_ids, last_token[:, None]]", "layer 0 differs in K and V, in the new rows"),
        ("[last_token[:, None], new_ids]", "[new_ids[:, :1], new_ids]", "layer 0 differs in K and V, in the new rows"),
        ("embed(tokens, torch.arange(n, n + tokens.shape[1]))", "embed(tokens, torch.arange(tokens.shape[1]))", "a token at position 5"),
        ("tril(S - T)", "tril()", "A later prefill chunk uses a triangle that is not shifted"),
        ("tril(S - T)", "tril(S)", "layer 1 differs in K and V, in the new rows"),
        ("chunk, past)\n", "chunk)\n", "the past is dropped, only the new rows are returned"),
        ("logits[:, -1], past\n", "logits[:, 0], past\n", "the logits differ from the oracle"),
        ("logits[:, -1], past\n", "logits, past\n", "logits has shape [4, 6, 23]"),
        ("logits[:, -1], past\n", "logits[:, -1]\n", "expected 2 things"),
        ("    return logits[:, -1], past\n", "    past.append(past[0]); return logits[:, -1], past\n", "past is a list of 4"),
    ],
    "Decoder": [
        ("forward_with_past(self.model, tokens)\n", "forward_with_past(self.model, tokens, self.past)\n",
         "the audit says: differs; second request: from step 3 on"),
        ("forward_with_past(self.model, tokens)\n", "forward_with_past(self.model, tokens, self.past)\n", "It looks like: a new request runs on the last one's cache"),
        ("token[:, None]", "torch.stack([token, token], 1)", "K of layer 0 has 10 rows; 6 + 2 + 1 = 9 tokens were fed"),
        ("tokens, self.past)", "tokens)", "It looks like: only the newest row is kept"),
        ("        logits, self.past = forward_with_past(self.model, tokens, self.past)", "        logits, _ = forward_with_past(self.model, tokens, self.past)",
         "It looks like: only prefill keeps its rows"),
        ("token[:, None]", "token", "IndexError, in forward_with_past, line"),
        ("        return self.extend(token[:, None])", "        self.extend(token[:, None])", "what decode returns is None (is a `return` missing?)"),
        ("    def extend", "    def chunk", "the decoder has no method extend"),
        ("tokens, self.past)\n        return logits[:, -1]", "tokens, self.past)\n        return logits", "what extend returns has shape [4, 2, 23]; expected of shape [B, V] = [4, 23]"),
        ("tokens, self.past)\n        return logits[:, -1]", "tokens, self.past)\n        return logits[:, 0]", "the audit says: unknown pattern; chunks: from step 1 on"),
        ("tokens, self.past)\n        return logits[:, -1]", "tokens, self.past)\n        return logits[:, -1].softmax(-1)", "FAIL  the audit"),
        ("        return self.past", "        return []", "layers() is a list of 0; expected a list of 3 pairs"),
        ("        return self.past", "        return [k for k, _ in self.past]", "layers()[0] is a Tensor; expected 2 things: (K, V)"),
        ("n = 0 if past is None else past[0][0].shape[2]", "n = 0 if past is None else past[0][0].shape[2] + 1", "It looks like: on a filled cache positions are 1 too large; look at"),
        ("tril(S - T)", "tril() if T > 1 else torch.ones(T, S, dtype=torch.bool)", "It looks like: a chunk's mask is not shifted by the cached rows; look at"),
        ("self.model, self.past = model, None", "self.past = model", "AttributeError"),
    ],
}  # fmt: skip


# Exercises whose checks are one scenario after the other, each call of which can be spoilt on its own.
STEPWISE = ("forward_with_past", "prefill", "decode_step", "continue_chat")


class TestLesson05(LessonGraders):
    lesson, right, wrong, alternatives, failed_elsewhere = "05", RIGHT, WRONG, ALTERNATIVES, STEPWISE


SPOILT = """
right, calls = {name}, 0
def {name}(model, *args):
    global calls
    calls += 1
    logits, past = right(model, *args)
    if calls == {call}:
        {how}
    return logits, past
"""
HOW = {
    "shapes": "past[-1] = past[-1][0], past[-1][1][:, :, :-1]",
    "rows": "past[-1] = past[-1][0], past[-1][1] + 1e-6",
    "logits": "logits = logits + 1e-6",
    "steps": "logits = logits + 1e-6",
    "the past": "next(a for a in args if isinstance(a, list))[-1][1].add_(1e-6)",
}


def each_check():
    for name in STEPWISE:
        for index, check in enumerate(EXERCISES[name].checks):
            how = next(words for start, words in HOW.items() if start in check.title.split(": ")[-1])
            last = len(EXERCISES[name].checks) - 1
            call = 13 if index == last and name == "decode_step" else index + 1  # six of them are one check's
            yield pytest.param(name, index, call, how, id=f"{name}-{check.title}")


@pytest.mark.parametrize(("name", "index", "call", "how"), list(each_check()))
def test_each_scenario_notices_what_is_wrong_in_it_alone(name, index, call, how):
    result = graded(name, RIGHT[name] + SPOILT.format(name=name, call=call, how=how))
    assert [row.mark for row in result.rows[: index + 1]] == ["pass"] * index + ["FAIL"], str(result)
