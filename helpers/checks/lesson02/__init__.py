"""Lesson 02's exercises and questions; importing it files them, in this order."""

from . import heads, attend, leaks, module, questions, repair  # noqa: F401, I001
