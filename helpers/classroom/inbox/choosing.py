"""Of several notebooks of one student for one lesson: the one uploaded last, where a mark says which; else a question."""

import hashlib
import unicodedata

from .names import copy_number


def choose(items):
    """(the item that counts, [(another, why not)]); (None, []) where nothing says which.

    In this order: the one beside which the teacher wrote a name; files with the same bytes are one; Canvas's upload
    numbers; the number in `x (1).ipynb` or `x-1.ipynb` against `x.ipynb` in the same folder.
    """
    answered = [item for item in items if item.answered]
    left = [(item, "the teacher named another file") for item in items if answered and not item.answered]
    different, kept = {}, sorted(answered or items, key=newness, reverse=True)
    for item in kept:
        first = different.setdefault(digest(item), item)
        if first is not item:
            left.append((item, f"it is the same as {first}, which was taken"))
    rest = list(different.values())
    why = "" if len(rest) == 1 else later(rest)
    if why is None:
        return None, []
    return rest[0], left + [(item, f"{why} {rest[0]}, which was taken") for item in rest[1:]]


def newness(item):
    return (item.mark and item.mark.upload) or 0, copy_number(item.name[-1])[1]


def later(items):
    """In words, why the first of `items`, sorted by `newness`, is the newest; None if that cannot be known."""
    first, second = map(newness, items[:2])
    uploads = {item.mark and item.mark.upload for item in items}
    if None not in uploads and first[0] > second[0]:
        return "it was uploaded to Canvas before"
    if len(uploads) > 1:
        return None
    places = {(item.name[:-1], same_spelling(copy_number(item.name[-1])[0])) for item in items}
    return "its name has a lower number than" if len(places) == 1 and first > second else None


def same_spelling(text):
    return unicodedata.normalize("NFC", text).casefold()


def digest(item):
    return hashlib.sha256(item.path.read_bytes()).digest()
