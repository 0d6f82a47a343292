"""Lesson 00's exercises and questions; importing it files them, in this order."""

from . import warm_up  # noqa: F401
