"""kvaudit: prove that a KV-cached decoder computes what the uncached model computes, or say which bug it has.

    from kvaudit import audit
    print(audit(decoder, uncached))

`protocol` says what a decoder and a reference can have; `hf` brings both for `transformers` models; `bugs` has the words
of every bug that can be named. Importing this costs nothing; the first use of a name, what torch costs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
WHERE = {
    "VERDICTS": "report",
    "Decoder": "protocol",
    "Reference": "protocol",
    "Report": "report",
    "Tolerance": "judge",
    "assert_cached_equals_uncached": "line",
    "audit": "line",
    "measure": "judge",
    "register": "references",
}


if not TYPE_CHECKING:  # a type checker knows the names from above, and no others

    def __getattr__(name: str) -> Any:
        """The names above, each at its first use: a test run that loads the plugin and audits nothing needs no torch."""
        if name not in WHERE:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f"{__name__}.{WHERE[name]}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *WHERE})
