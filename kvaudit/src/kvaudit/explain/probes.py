"""Probes beside the comparison: determinism, independence of rows and of the oracle, and the regret of a free run."""

from dataclasses import replace

import torch

from ..plan.scripts import missing, run


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

    def others(call):
        if not isinstance(call.value, torch.Tensor) or len(call.value) < 2:
            return call
        value = call.value.clone()
        value[1:] = value[:1]  # not an exchange of rows: a sum over the batch would not notice that
        return replace(call, value=value)

    gap = moved(plan, others, build, row=0)
    if gap > 0:
        report.notes.append(f"row 0 moves by {gap:.1e} when only other rows' tokens change: rows are mixed")


def pads(report, plan, build):
    """Which ids the padding has must not matter, not in one bit."""
    if missing(plan, build()):
        return

    def other_pads(call):
        if call.lengths is None:
            return call
        padding = torch.arange(call.value.shape[1]) < (call.value.shape[1] - call.lengths.cpu())[:, None]  # [B, T]
        return replace(call, value=torch.where(padding.to(call.value.device), call.value.flip(0), call.value))

    gap = moved(plan, other_pads, build)
    if gap > 0:
        report.notes.append(f"logits move by {gap:.1e} when only the ids of the padding change: padding is read")


def moved(plan, change, build, row=slice(None)):
    """Largest change of the logits (of one row of the batch) when `change(call)` is made to every call."""
    a, b = run(plan, build()), run(replace(plan, calls=tuple(change(call) for call in plan.calls)), build())
    return largest([x[row] for x in a.logits], [x[row] for x in b.logits])


def free_run(report, plan, build, reference, new=8):
    """Through the decoder's own loop: the gap of each chosen token to the oracle's best, and the certificate.

    A decoder with a `generate(prompt, max_new_tokens) -> tokens [B, n]` of its own is run by it.
    """
    prompt, decoder = plan.calls[0].value, build()
    new = min(new, reference.block_size - prompt.shape[1])
    try:
        own = getattr(decoder, "generate", None)
        ids = own(prompt, new) if callable(own) else greedy(decoder, prompt, new)  # [B, n]
        logits = reference.logits(torch.cat([prompt, ids], dim=1))[:, prompt.shape[1] - 1 : -1].double()  # [B, n, V]
    except Exception as error:  # noqa: BLE001 - whatever a loop does, it is a line of the report
        report.notes.append(f"no free run: {type(error).__name__}: {error}")
        return
    best = logits.topk(2, dim=-1).values  # [B, n, 2]
    report.regret = float((best[..., 0] - logits.gather(-1, ids[..., None])[..., 0]).max())
    gap = max((d for r in report.native for d in r.diffs), default=0.0)
    judge_free_run(report, gap, float((best[..., 0] - best[..., 1]).min()), float(logits.abs().max()))


def greedy(decoder, prompt, new):
    """`new` greedy tokens `[B, new]` after `prompt` `[B, T0]`; the last one is chosen but not fed."""
    tokens = [decoder.prefill(prompt).argmax(dim=-1)]
    while len(tokens) < new:
        tokens.append(decoder.decode(tokens[-1]).argmax(dim=-1))
    return torch.stack(tokens, dim=1)


def judge_free_run(report, gap, margin, size):
    """Near ties may fall either way, by twice the difference of the logits; more than that is the loop's own mistake."""
    rounding = torch.finfo(getattr(torch, report.dtype)).eps * size
    if report.ok and report.regret > 2 * max(gap, 8 * rounding):
        report.verdict = "differs"
        report.summary = (
            "Step by step the logits agree, but the decoder's own loop writes tokens that are not the oracle's best, "
            f"by {report.regret:.3g}: look at what the loop feeds and chooses."
        )
    elif report.ok and margin > 2 * gap:
        certain = "at every step: greedy text is identical"
        report.certificate = f"margin {margin:.1e} > 2 x largest difference {gap:.1e} {certain}"


def largest(a, b):
    return max((float((x.double() - y.double()).abs().max()) for x, y in zip(a, b)), default=0.0)
