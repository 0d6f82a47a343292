"""How few bits somebody else's code computes in, found by watching it: a float64 model may take its softmax in float32."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class Narrowest(TorchFunctionMode):
    """In this block: `eps`, the coarsest step of any floating-point tensor that a function of torch was given or gave."""

    def __init__(self) -> None:
        super().__init__()
        self.eps = 0.0

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        answer = function(*args, **(kwargs or {}))
        if isinstance(answer, Tensor) and answer.is_floating_point() and answer.dim():
            self.eps = max(self.eps, float(torch.finfo(answer.dtype).eps))
        return answer
