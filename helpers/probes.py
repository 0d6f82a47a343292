"""Probes beside the comparison: determinism, independence of rows and of the oracle, and the regret of a free run."""

import torch

from .decoding import generate
from .scripts import run


def independence(report, reference):
    """How independent the oracle is, and whether a second uncached computation agrees with it."""
    tokens = torch.arange(6, device=reference.device)[None] % reference.vocab_size  # [1, 6]
    second = getattr(reference, "independent_difference", lambda tokens: None)(tokens)
    if second is not None:
        report.independence = f"{reference.independence}; they agree to {second:.1e}"
        gap = second
    else:
        whole, start = reference.logits(tokens), reference.logits(tokens[:, :3])
        gap = float((whole[:, :3] - start).abs().max())
        report.independence = (
            f"self-consistent only (logits of a beginning do not depend on what follows, to {gap:.1e})"
        )
    logits = reference.logits(tokens)
    eps = getattr(reference, "eps", torch.finfo(logits.dtype).eps)  # some layers compute in fewer bits than they return
    if gap > eps**0.5 * float(logits.abs().max()):  # half the digits: no rounding does that
        report.verdict = "the oracles disagree"
        report.summary = f"Two uncached computations of the same tokens differ by {gap:.2e}; nothing can be judged."


def determinism(report, plan, build):
    """The same calls twice must give the same bits."""
    first, second = run(plan, build()), run(plan, build())
    gap = largest(first.logits, second.logits)
    if gap == 0 and len(first.logits) == len(second.logits):
        return
    if gap > report.tolerance.value or len(first.logits) != len(second.logits):
        report.verdict = "not deterministic"
        report.summary = f"The same {len(plan.calls)} calls gave logits that differ by {gap:.2e} the second time."
        report.suspects, report.test = [], ""
    else:
        report.notes.append(f"two runs of the same calls differ by {gap:.1e}, below the tolerance")


def other_rows(report, plan, build):
    """At fixed shapes, other rows' tokens must not reach row 0, not in one bit."""
    from dataclasses import replace

    def others(call):
        if not isinstance(call.value, torch.Tensor) or len(call.value) < 2:
            return call
        value = call.value.clone()
        value[1:] = value[1:].flip(0) if len(value) > 2 else value[:1]
        return replace(call, value=value)

    changed = replace(plan, calls=tuple(others(c) for c in plan.calls))
    a, b = run(plan, build()), run(changed, build())
    gap = largest([x[:1] for x in a.logits], [x[:1] for x in b.logits])
    if gap > 0:
        report.notes.append(
            f"row 0 moves by {gap:.1e} when only other rows' tokens change: rows of the batch are mixed"
        )


def free_run(report, plan, build, reference, new=8):
    """Through the decoder's own loop: the gap of each chosen token to the oracle's best, and the certificate."""
    prompt = plan.calls[0].value
    new = min(new, reference.block_size - prompt.shape[1])
    try:
        ids = generate(build(), prompt, new).tokens
    except Exception:  # noqa: BLE001 - already in the report, from the scripts
        return
    logits = reference.logits(torch.cat([prompt, ids], dim=1))[:, prompt.shape[1] - 1 : -1].double()  # [B, n, V]
    top = logits.topk(2, dim=-1).values
    chosen = logits.gather(-1, ids[..., None])[..., 0]
    report.regret = float((top[..., 0] - chosen).max())
    margin, gap = (
        float((top[..., 0] - top[..., 1]).min()),
        max((d for r in report.native for d in r.diffs), default=0.0),
    )
    if report.ok and margin > 2 * gap:
        report.certificate = (
            f"margin {margin:.1e} > 2 x largest difference {gap:.1e} at every step: greedy text is identical"
        )


def largest(a, b):
    return max((float((x.double() - y.double()).abs().max()) for x, y in zip(a, b)), default=0.0)
