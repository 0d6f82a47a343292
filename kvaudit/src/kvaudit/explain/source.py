"""A script as the source of a test that needs nothing of this library."""

from torch import Tensor

from ..judge import Judged
from ..plan import Call, Script
from ..play.history import histories

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


def source(script: Script, step: int, gaps: Tensor, judged: Judged) -> str:
    """The test that fails at answer `step`, where the rows differ by `gaps` `[B]`."""
    rows = histories(script)[step]
    ragged, row = len({len(r) for r in rows}) > 1, int(gaps.argmax())  # rows of unequal length: the worst is enough
    tolerance = judged.settled.tolerance
    text = TEMPLATE.format(
        name=script.name,
        about=script.about,
        gap=float(gaps.max()),
        step=step,
        dtype=judged.logic,
        null=tolerance.null,
        calls="\n".join(lines(script, step)),
        history=[r.tolist() for r in (rows[row : row + 1] if ragged else rows)],
        tolerance=tolerance.value,
    )
    return text.replace("got[-1].double()", f"got[-1][{row}:{row + 1}].double()") if ragged else text


def lines(script: Script, step: int) -> list[str]:
    """The calls up to the answer, one line each."""
    names, made = {"main": "decoder"}, []
    for call in script.calls[: script.answering[step] + 1]:
        on = names[call.on]
        if call.kind == "fork":
            names[call.value] = f"fork_{call.value}"
            made.append(f"    {names[call.value]} = {on}.fork()")
        else:
            text = f"{on}.{call.kind}({arguments(call)})"
            made.append(f"    {text}" if call.kind in ("crop", "reorder") else f"    got.append({text})")
    return made


def arguments(call: Call) -> str:
    lengths = f", lengths=ids({call.lengths.tolist()})" if call.lengths is not None else ""
    return (f"ids({call.value.tolist()})" if isinstance(call.value, Tensor) else str(call.value)) + lengths
