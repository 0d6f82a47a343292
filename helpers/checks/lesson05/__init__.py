"""Lesson 05's exercises and questions; importing it files them, in this order."""

from . import steps, generation, attention, cache, chat, decoder, questions  # noqa: F401, I001
