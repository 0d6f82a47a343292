"""Right answers to the exercises of lesson 04, from which the graders' tests make wrong ones."""

GENERATE = """
import torch
def generate_uncached(model, prompt, max_new_tokens):
    model.eval()
    tokens, kept = prompt, []
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = model(tokens)[:, -1]
            kept.append(logits)
            tokens = torch.cat([tokens, logits.argmax(-1, keepdim=True)], dim=1)
    empty = model.token.weight.new_empty(len(prompt), 0, model.config.vocab_size)
    return tokens[:, prompt.shape[1]:], torch.stack(kept, dim=1) if kept else empty
"""

ROWS = """
def rows_redone(prompt_length, new_tokens):
    if new_tokens == 0:
        return 0
    computed = new_tokens * prompt_length + new_tokens * (new_tokens - 1) // 2
    return computed - (prompt_length + new_tokens - 1)
"""

COST = """
def layer_cost(t, d, cached):
    T = 1 if cached else t
    linear = (3 + 1 + 4 + 4) * T * d**2
    attention = 2 * T * t * d
    return linear + attention
"""

COMPARE = """
import math, torch
def compare(a, b):
    if a.shape != b.shape or a.numel() == 0:
        raise ValueError('shapes')
    gaps = (a.double() - b.double()).abs().amax(-1).nan_to_num(math.inf)
    best = a.double().topk(2).values
    lead = best[..., 0] - best[..., 1]
    certified = bool((lead > 2 * gaps).all())
    step, row = divmod(int(gaps.T.argmax()), len(a))
    return step, row, float(gaps.max()), certified
"""

TOLERANCE = """
import math
def pick_tolerance(nulls, faults, unit=2**-52):
    if not nulls or not faults or any(x != x for x in [*nulls, *faults]):
        return None
    low, high = max(*nulls, unit), min(faults)
    if high == math.inf or high < 9 * low:
        return None
    return (low * high) ** 0.5
"""

RIGHT = {
    "generate_uncached": GENERATE,
    "rows_redone": ROWS,
    "layer_cost": COST,
    "compare": COMPARE,
    "pick_tolerance": TOLERANCE,
}
