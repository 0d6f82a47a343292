"""Reuse faults: a cache outlives what it was filled for (another request, a rejected draft)."""

from ..decoding import CachedDecoder
from .registry import fault


@fault(
    "not_reset",
    family="stale",
    title="cache not reset",
    does="A second generation starts on the first one's cache and attends over its rows.",
    look="where a new request begins: its cache must be new (or emptied) before the prefill",
    report="casper-hansen/AutoAWQ#170",
    scenario="second_request",
)
class NotReset(CachedDecoder):
    def start(self):
        if self.cache is None:
            super().start()


@fault(
    "prefix_store_mutated",
    family="aliasing",
    title="stored prefix changed",
    does="A stored prefix is handed out by reference: the first request appends to it, the second continues the first.",
    look="whether a request gets a copy of the stored rows, or the very lists and tensors that are stored",
    report="MemTensor/MemOS#2301",
    needs="stored prefix",
    scenario="prefix",
)
class PrefixStoreMutated(CachedDecoder):
    def fork(self):
        return self


@fault(
    "spec_no_crop",
    family="rollback",
    title="draft not rolled back",
    does="The rows of rejected draft tokens stay in the cache, and the next tokens attend to them.",
    look="what happens after a rejected guess: rows and positions must go back to the last accepted token",
    report="paiml/aprender#2014",
    needs="draft",
    scenario="draft",
)
class SpecNoCrop(CachedDecoder):
    def crop(self, length):
        pass
