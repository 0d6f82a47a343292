"""Lesson 04's exercises and questions; importing it files them, in this order.

From outside: nothing; `helpers.checks` finds them by name.
"""

from . import generation, compare, cost, questions, tolerance  # noqa: F401, I001
