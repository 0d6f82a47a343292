"""The sensitive values of any note: of one that fits its sentences, of one cut short, and of gibberish."""

import re

from ..ledger import Field, check_note
from ..ledger.forms import VALUES

PATTERN = re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in VALUES.items()))


def values_in(task, note):
    """`Fields` of the note: those that `check_note` reads, then whatever else looks like a value, in order.

    Behind the sentences that fit, the k-th value of a kind is held against the k-th record asked for; a value beyond
    those is expected nowhere, and is wrong.
    """
    fields = check_note(task, note)
    seen = {name: sum(field.name == name for field in fields) for name in VALUES}
    for found in PATTERN.finditer(note, fields[-1].end if fields else 0):
        fields.append(loose(task, found, seen[found.lastgroup]))
        seen[found.lastgroup] += 1
    return fields


def loose(task, found, k):
    name, value = found.lastgroup, found.group()
    expected = getattr(task.records[task.asked[k]], name) if k < len(task.asked) else ""
    owners = [i for i, record in enumerate(task.records) if getattr(record, name) == value]
    return Field(name, expected, value, *found.span(), owners[0] if owners and value != expected else None)
