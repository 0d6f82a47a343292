"""Lesson 00's exercises and questions; importing it files them, in this order.

From outside: `demonstrate`, which shows a check at work.
"""

from .warm_up import demonstrate

__all__ = ["demonstrate"]
