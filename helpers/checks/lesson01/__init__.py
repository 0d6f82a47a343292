"""Lesson 01's exercises and questions; importing it files them, in this order."""

from . import mask, positions, questions, softmax  # noqa: F401
