"""Layer and K/V faults: right rows in the wrong drawer."""

from ..cache import ConcatCache
from ..caches import BufferCache
from .registry import fault


@fault(
    "value_is_key",
    family="K/V",
    title="value is the key",
    does="The value slot receives the key.",
    look="the arguments of the call that stores: key and value have one shape, so that nothing complains",
    report="awslabs/sockeye#731",
)
class ValueIsKey(ConcatCache):
    def update(self, k, v, layer):
        return super().update(k, k, layer)


@fault(
    "layer_idx_stuck",
    family="layers",
    title="layer index stuck",
    does="Every layer reads and writes slot 0 of the buffer: in decode the old rows are the last layer's.",
    look="the layer index that each attention passes to the cache: is it set per layer, or left at its default?",
    report="vllm-project/vllm#27346",
    needs="buffer",
)
class LayerIdxStuck(BufferCache):
    def update(self, k, v, layer):
        return super().update(k, v, 0)


@fault(
    "layers_share_list",
    family="layers",
    title="one cache for all",
    does="One cache object stands for all layers: each appends to the rows of the others.",
    look="how the per-layer caches are made: [cache] * L repeats one object, L separate ones are meant",
    report="huggingface/transformers#32929",
)
class LayersShareList(ConcatCache):
    def update(self, k, v, layer):
        k, v = super().update(k, v, layer)
        self.keys, self.values = [k] * len(self.keys), [v] * len(self.values)
        return k, v
