"""Lesson 05's exercises and questions; importing it files them, in this order.

From outside: nothing; `helpers.checks` finds them by name.
"""

from . import steps, generation, attention, cache, chat, decoder, questions  # noqa: F401, I001
