"""Stale faults: what one request cached is still there in the next."""

from ..decoding import CachedDecoder
from .registry import fault


@fault(
    "not_reset",
    family="stale",
    title="cache not reset",
    does="A second generation starts on the first one's cache and attends over its rows.",
    look="where a new request begins: its cache must be new (or emptied) before the prefill",
    report="casper-hansen/AutoAWQ#170",
)
class NotReset(CachedDecoder):
    def start(self):
        if self.cache is None:
            super().start()
