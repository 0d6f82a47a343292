"""Lesson 07's exercises and questions; importing it files them, in this order.

From outside: nothing; `helpers.checks` finds them by name.
"""

from . import timer, bytes, predict, implied, questions, split  # noqa: F401, I001
