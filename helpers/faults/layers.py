"""Layer and K/V faults: right rows in the wrong drawer."""

from ..cache import ConcatCache
from ..caches import BufferCache
from .registry import fault


@fault(
    "value_is_key",
    title="value is the key",
    report="awslabs/sockeye#731",
)
class ValueIsKey(ConcatCache):
    def update(self, k, v, layer):
        return super().update(k, k, layer)


@fault(
    "layer_idx_stuck",
    title="layer index stuck",
    report="vllm-project/vllm#27346",
    needs="buffer",
)
class LayerIdxStuck(BufferCache):
    def update(self, k, v, layer):
        return super().update(k, v, 0)


@fault(
    "layers_share_list",
    title="one cache for all",
    report="huggingface/transformers#32929",
)
class LayersShareList(ConcatCache):
    def update(self, k, v, layer):
        k, v = super().update(k, v, layer)
        self.keys, self.values = [k] * len(self.keys), [v] * len(self.values)
        return k, v
