"""The library's audit, told how the course's own model computes without a cache."""

from kvaudit.audit import assert_cached_equals_uncached, audit
from kvaudit.judge.tolerance import Tolerance, measure
from kvaudit.subject.subject import register, trait

from .model import MiniGPT
from .reference import MiniGPTReference

register(MiniGPT, lambda decoder: MiniGPTReference(decoder.model, trait(decoder, "window")))

__all__ = ["MiniGPTReference", "Tolerance", "assert_cached_equals_uncached", "audit", "measure"]
