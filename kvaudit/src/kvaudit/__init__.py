"""kvaudit: prove that a KV-cached decoder computes what the uncached model computes, or say which bug it has.

    from kvaudit import audit
    print(audit(decoder, uncached))

`protocol` says what a decoder and a reference can have; `hf` brings both for `transformers` models; `bugs` has the words
of every bug that can be named. Importing this costs what torch costs.
"""

from .judge import Tolerance, measure
from .line import assert_cached_equals_uncached, audit
from .protocol import Decoder, Reference
from .references import register
from .report import VERDICTS, Report

__version__ = "0.1.0"
__all__ = [
    "VERDICTS",
    "Decoder",
    "Reference",
    "Report",
    "Tolerance",
    "assert_cached_equals_uncached",
    "audit",
    "measure",
    "register",
]
