"""The values of a progress file: which of them are sound, which can be written, and which of two is the better one."""

import json
import math

DEPTH, LONGEST = 8, 10_000  # of nested values, and characters of a text
PARTS = ("solved", "measured")
NOTHING = ("", "-", "none", "none yet", "nothing yet", "not written yet", "not stated yet")
COURSE = "the course's"  # stands where the learner's own code does not work at the moment
SENTENCES = ("boundary",)  # what the learner writes; the rest of a row is measured


def empty():
    return {part: {} for part in PARTS}


def parsed(content):
    """(what is sound in the file's `content`, whether all of it is). NaN may be measured; it is no number of points."""
    try:
        found = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return empty(), False
    if not isinstance(found, dict):
        return empty(), False
    solved, measured = (found[part] if isinstance(found.get(part), dict) else {} for part in PARTS)
    rows = {lesson: row for lesson, row in measured.items() if is_text(lesson) and isinstance(row, dict)}
    kept = {name: value for name, value in found.items() if name not in PARTS and sound({name: value})}
    kept["solved"] = {name: entry for name, entry in solved.items() if is_text(name) and is_entry(entry)}
    kept["measured"] = {lesson: {n: v for n, v in row.items() if sound({n: v})} for lesson, row in rows.items()}
    return kept, kept == found


def is_text(value):
    """Whether it is a string that can be written: half of a surrogate pair cannot."""
    return isinstance(value, str) and value.isascii() or isinstance(value, str) and readable(value) == value


def readable(text):
    return text.encode("utf-8", "replace").decode("utf-8")


def is_count(value):
    return type(value) in (int, float) and 0 <= value < 1e9


def is_entry(value):
    return isinstance(value, dict) and is_count(value.get("points")) and is_count(value.get("of", 0)) and sound(value)


def sound(value, depth=0):
    """Whether it can be shown and written again: no text that is none, no endless nesting."""
    if isinstance(value, dict):
        return depth < DEPTH and all(is_text(name) and sound(item, depth + 1) for name, item in value.items())
    if isinstance(value, list):
        return depth < DEPTH and all(sound(item, depth + 1) for item in value)
    return not isinstance(value, str) or is_text(value)


def points(entry, of):
    """What a kept `entry` of `solved` is worth where the exercise has `of` points now.

    An exercise that has become smaller gives its share, and all of it for full points; one that has grown has new rows,
    which nobody has passed yet.
    """
    if not is_entry(entry):
        return 0
    then = entry.get("of", of)
    if then <= of:
        return min(entry["points"], of)
    return of if entry["points"] >= then else math.floor(of * entry["points"] / then)


def storable(value, depth=0):
    """`value` as JSON has it: tensors and arrays of one number as that number, what JSON cannot say as words."""
    if value is None or type(value) in (bool, float) or type(value) is int and abs(value) < 1e300:
        return value
    if depth >= DEPTH:
        return "…"
    if isinstance(value, dict):
        return {said(name): storable(item, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [storable(item, depth + 1) for item in value]
    if not isinstance(value, str) and getattr(value, "shape", None) in ((), (1,)) and hasattr(value, "item"):
        return storable(value.item(), depth + 1)
    return said(value)


def said(value):
    """Its own words, on one piece of readable text; its type's name where it has none."""
    try:
        return readable(str(value)[:LONGEST])
    except Exception:  # noqa: BLE001 (its __str__ is somebody's code)
        return type(value).__name__


def says(value):
    """Whether a value says something."""
    return (
        value.strip().lower() not in NOTHING if isinstance(value, str) else value is not None and value not in ({}, [])
    )


def better(old, new):
    """The row `old`, with what `new` says in its place. Nothing never replaces something, nor fewer names more of them.

    Where the course's code has measured what the learner's own code measured before, the earlier measurements stay.
    """
    lost = any(value == COURSE and says(old.get(name)) and old[name] != COURSE for name, value in new.items())
    result = dict(old)
    for name, value in new.items():
        before = old.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            result[name] = better(before, value)
        elif not says(before) or says(value) and not fewer(value, before) and (not lost or name in SENTENCES):
            result[name] = value
    return result


def fewer(value, before):
    """Whether two lists of names, as "prefill, decode_step", are the same but for some that `value` lacks."""
    if not isinstance(value, str) or not isinstance(before, str):
        return False
    now, then = (set(text.split(", ")) for text in (value, before))
    return now < then and all(name.isidentifier() for name in then)
