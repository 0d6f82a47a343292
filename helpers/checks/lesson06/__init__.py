"""Lesson 06's exercises and questions; importing it files them, in this order.

From outside: `FORETOLD` and `SYMPTOMS`, which the exercise `symptoms` asks about.
"""

from . import divergence, explain, killers, mutants, questions, repair, values  # noqa: F401
from .values import FORETOLD, SYMPTOMS

__all__ = ["FORETOLD", "SYMPTOMS"]
