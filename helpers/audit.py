"""The library's audit, told how the course's own model computes without a cache."""

from kvaudit import Tolerance, assert_cached_equals_uncached, audit, measure, register
from kvaudit.subject import trait

from .model import MiniGPT
from .reference import MiniGPTReference

register(MiniGPT, lambda decoder: MiniGPTReference(decoder.model, trait(decoder, "window")))

__all__ = ["MiniGPTReference", "Tolerance", "assert_cached_equals_uncached", "audit", "measure"]
