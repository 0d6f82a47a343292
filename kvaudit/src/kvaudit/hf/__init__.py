"""Hugging Face: the uncached reference and a cached decoder over any `transformers` causal language model.

    report = audit(HFDecoder(model))                    # DynamicCache, sliding where the config slides
    report = audit(HFDecoder(model, cache="static"))    # StaticCache
    report = audit(MyDecoder(model))                    # your own loop; it needs prefill, decode and .model

`library` holds all that depends on the version of `transformers`, which is imported only when a model is handed in.
"""

from .decoder import HFDecoder
from .library import VERSIONS, check_version
from .reference import HFReference

__all__ = ["VERSIONS", "HFDecoder", "HFReference", "check_version"]
