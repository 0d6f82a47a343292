"""The shortest case that still shows a difference, printed as a test that stands alone."""

import torch

from ..plan.scripts import Script, expected, missing, run

TEMPLATE = '''import torch


def test_cached_equals_uncached(decoder, uncached):
    """{name}: {about}.

    decoder: prefill(tokens [B, T]) and decode(token [B]) -> logits [B, V]; uncached(tokens [B, T]) -> logits [B, T, V].
    Observed: a difference of {gap:.3g} at step {step} ({dtype}); correct schedules differ by {null:.0e} at most.
    """
    ids = torch.tensor
    got = []
{calls}
    history = {history}
    right = uncached(torch.tensor(history))[:, -1]
    gap = (got[-1].double() - right.double()).abs().max()
    assert gap <= {tolerance:.0e}, f"the cached logits differ by {{gap:.3g}}"
'''


def shortest(report, plans, build, reference):
    """Source of a test for the smallest batch, prompt and number of steps that shows the report's first difference."""
    plan = next(p for p in plans if p.name == report.first[0])
    best, tolerance = plan, report.tolerance.value
    for smaller in candidates(plan, report.first[1]):
        if fails(smaller, build, reference, tolerance):
            best = smaller
            break
    gaps = differences(best, build, reference)
    step = next((i for i, gap in enumerate(gaps) if float(gap.max()) > tolerance), None)
    return "" if step is None else source(best, step, gaps[step], report)


def candidates(plan, step):
    """Smaller versions of a script, smallest first: fewer rows, shorter prompt, nothing after the first wrong step."""
    answers = [i for i, c in enumerate(plan.calls) if c.kind in ("prefill", "decode", "extend")]
    calls = plan.calls[: answers[step] + 1] if step < len(answers) else plan.calls
    rows_fixed = any(c.kind == "reorder" or c.lengths is not None for c in calls)
    prompt = calls[0].value
    for B in [prompt.shape[0]] if rows_fixed else range(1, prompt.shape[0] + 1):
        for T in (1, 2, 3, 5, 8, prompt.shape[1]):
            whole = any(c.kind == "crop" or c.lengths is not None for c in calls) or plan.ends
            if T <= prompt.shape[1] and (T == prompt.shape[1] or not whole):
                yield Script(plan.name, plan.about, tuple(cut(c, B, T) for c in calls))


def cut(call, B, T):
    if not isinstance(call.value, torch.Tensor) or call.kind == "reorder":
        return call
    value = call.value[:B, :T] if call.kind == "prefill" else call.value[:B]
    return type(call)(call.kind, value.contiguous(), call.lengths, call.on)


def differences(script, build, reference):
    """Largest difference of each row `[B]`, per answering call."""
    decoder = build()
    if missing(script, decoder):
        return []
    logits = run(script, decoder, reference.vocab_size).logits
    return [(a.double() - b.double()).abs().amax(dim=1) for a, b in zip(logits, expected(reference, script))]


def fails(script, build, reference, tolerance):
    return any(float(gap.max()) > tolerance for gap in differences(script, build, reference))


def source(script, step, gaps, report):
    from ..plan.scripts import histories

    answers = [i for i, c in enumerate(script.calls) if c.kind in ("prefill", "decode", "extend")]
    lines, names = [], {"main": "decoder"}
    for call in script.calls[: answers[step] + 1]:
        on = names[call.on]
        if call.kind == "fork":
            names[call.value] = f"fork_{call.value}"
            lines.append(f"    {names[call.value]} = {on}.fork()")
            continue
        value = call.value.tolist() if isinstance(call.value, torch.Tensor) else call.value
        text = f"ids({value})" if isinstance(call.value, torch.Tensor) else str(value)
        extra = f", lengths=ids({call.lengths.tolist()})" if call.lengths is not None else ""
        made = f"{on}.{call.kind}({text}{extra})"
        lines.append(f"    {made}" if call.kind in ("crop", "reorder") else f"    got.append({made})")
    rows = histories(script)[step]
    ragged, row = len({len(r) for r in rows}) > 1, int(gaps.argmax())  # rows of unequal length: the worst one is enough
    history = [r.tolist() for r in (rows[row : row + 1] if ragged else rows)]
    text = TEMPLATE.format(
        name=script.name, about=script.about, gap=float(gaps.max()), step=step, dtype=report.logic, null=report.tolerance.null,
        calls="\n".join(lines), history=history, tolerance=report.tolerance.value,
    )  # fmt: skip
    return text.replace("got[-1].double()", f"got[-1][{row}:{row + 1}].double()") if ragged else text
