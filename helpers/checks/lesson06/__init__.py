"""Lesson 06's exercises and questions; importing it files them, in this order."""

from . import divergence, explain, killers, mutants, questions, repair, values  # noqa: F401
