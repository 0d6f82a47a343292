"""Lesson 01's exercises and questions; importing it files them, in this order.

From outside: nothing; `helpers.checks` finds them by name.
"""

from . import mask, positions, questions, softmax  # noqa: F401
