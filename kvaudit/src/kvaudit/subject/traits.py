"""What a decoder says of itself."""

from typing import Any


def trait(decoder: Any, name: str) -> int | None:
    """`window` or `capacity` of a decoder, or of the cache that it makes; None where it has none."""
    found = getattr(decoder, name, None)
    if found is None and callable(getattr(decoder, "new_cache", None)):
        found = getattr(decoder.new_cache(), name, None)
    return found if isinstance(found, int) else None
