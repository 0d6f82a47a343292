"""Comparing a decoder with the no-cache oracle, step by step."""

from dataclasses import dataclass, field

import torch

from ..figures import approx
from ..model import OutOfPositions


@dataclass
class StepTable:
    """One entry a step: 0 is the prefill, step k has been fed token k - 1 of the oracle's.

    differences: largest |decoder - oracle| over batch and vocabulary; same_argmax: whether every row would choose the
    same token; lengths: rows that each layer's keys really hold (empty where the decoder does not show its layers);
    fed: tokens fed so far, which is what the lengths should be; error: why the trace ends early, if it does.
    """

    differences: list[float] = field(default_factory=list)
    same_argmax: list[bool] = field(default_factory=list)
    lengths: list[list[int]] = field(default_factory=list)
    fed: list[int] = field(default_factory=list)
    error: str | None = None

    def first_wrong(self, tolerance):
        """The first step beyond `tolerance` (a NaN counts), or None. A step that raised is the first wrong one."""
        wrong = [step for step, difference in enumerate(self.differences) if not difference <= tolerance]
        return wrong[0] if wrong else len(self.differences) if self.error else None

    def __repr__(self):
        rows = zip(self.fed, self.lengths, self.differences, self.same_argmax)
        lines = ["step  tokens fed  rows in each layer    largest difference  same argmax"]
        for step, (fed, lengths, difference, same) in enumerate(rows):
            held = " ".join(map(str, lengths)) or "not shown"
            lines.append(f"{step:>4}  {fed:>10}  {held:<20}  {approx(difference):<18}  {'yes' if same else 'NO'}")
        return "\n".join(lines + ([f"ended: {self.error}"] if self.error else []))


@torch.inference_mode()
def compare(decoder, oracle, prompt, tokens):
    """Feed both the `prompt` `[B, T0]`, then `tokens` `[B, n]` whatever they would choose: a `StepTable` of n steps."""
    table = StepTable()
    for step in range(tokens.shape[1]):
        try:
            seen = decoder.decode(tokens[:, step - 1]) if step else decoder.prefill(prompt)  # [B, V]
        except OutOfPositions as error:
            table.error = str(error)
            return table
        wanted = oracle.decode(tokens[:, step - 1]) if step else oracle.prefill(prompt)
        if seen.shape != wanted.shape:  # a difference of broadcast tensors would mean nothing
            raise ValueError(
                f"step {step}: the decoder gave logits of {list(seen.shape)}, expected {list(wanted.shape)}"
            )
        table.differences.append(float((seen.double() - wanted.double()).abs().max()))
        table.same_argmax.append(bool((seen.argmax(-1) == wanted.argmax(-1)).all()))
        table.lengths.append([k.shape[2] for k, _ in decoder.layers()] if hasattr(decoder, "layers") else [])
        table.fed.append(prompt.shape[1] + step)
    return table
