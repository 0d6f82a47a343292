"""Reading a note: does it fit its sentences, and is each value the right one or another record's?"""

import re
from dataclasses import dataclass

from .forms import FIELDS, SENTENCES, form_to_pattern


@dataclass(frozen=True)
class Field:
    """A sensitive value as a note gives it, at `note[start:end]`."""

    name: str  # "id", "amount" (with its currency), "wallet" or "date"
    expected: str
    found: str
    start: int
    end: int
    record_of: int | None  # which other record (place from 0) a wrong value belongs to; None: right, or nobody's

    @property
    def right(self):
        return self.found == self.expected


class Fields(list):
    """The fields of a note in order of appearance; `fits_template` tells whether the whole note has the right form."""

    fits_template = False

    @property
    def wrong(self):
        return [field for field in self if not field.right]


def check_note(example, note):
    """Compare a note with `example`: `Fields`, read from the sentences that fit, up to the first that does not.

    `fits_template` is True where the note has exactly the asked number of sentences and each is the verb's sentence,
    whatever its values; surrounding white space is ignored. An empty note gives no fields and does not fit.
    """
    pattern = re.compile(form_to_pattern(SENTENCES[example.verb]))
    fields, at = Fields(), len(note) - len(note.lstrip())
    for count, place in enumerate(example.asked, 1):
        sentence = pattern.match(note, at)
        if not sentence:
            return fields
        fields += read_sentence(example, place, sentence)
        at = sentence.end() + 1  # the line break
        separated = note[sentence.end() : at] == "\n"
        if count < len(example.asked) and not separated:
            return fields
    fields.fits_template = not note[sentence.end() :].strip()
    return fields


def read_sentence(example, place, sentence):
    found = [read_field(example, place, name, sentence) for name in FIELDS]
    return sorted(found, key=lambda field: field.start)


def read_field(example, place, name, sentence):
    value, expected = sentence[name], getattr(example.records[place], name)
    owners = [i for i, record in enumerate(example.records) if getattr(record, name) == value]
    owner = owners[0] if owners and value != expected else None
    return Field(name, expected, value, *sentence.span(name), owner)
