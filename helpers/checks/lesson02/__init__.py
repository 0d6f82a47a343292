"""Lesson 02's exercises and questions; importing it files them, in this order.

From outside: nothing; `helpers.checks` finds them by name.
"""

from . import heads, attend, leaks, module, questions, repair  # noqa: F401, I001
