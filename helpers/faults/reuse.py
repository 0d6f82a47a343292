"""Reuse faults: a cache outlives what it was filled for (another request, a rejected draft)."""

from ..decoding import CachedDecoder
from .registry import fault


@fault(
    "not_reset",
    title="cache not reset",
    report="casper-hansen/AutoAWQ#170",
    scenario="second_request",
)
class NotReset(CachedDecoder):
    def start(self):
        if self.cache is None:
            super().start()


@fault(
    "prefix_store_mutated",
    title="stored prefix changed",
    report="MemTensor/MemOS#2301",
    needs="stored prefix",
    scenario="prefix",
)
class PrefixStoreMutated(CachedDecoder):
    def fork(self):
        return self


@fault(
    "spec_no_crop",
    title="draft not rolled back",
    report="paiml/aprender#2014",
    needs="draft",
    scenario="draft",
)
class SpecNoCrop(CachedDecoder):
    def crop(self, length):
        pass
