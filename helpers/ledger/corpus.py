"""The ledger task: a prompt lists records and names some of them, the note must copy their values without a slip.

Everything is generated from a `random.Random`. Whether a list of records is held out is a property of its text (a hash),
so that training and held-out prompts cannot meet, whatever the seeds.
"""

import hashlib
import random
import re
from dataclasses import dataclass

import torch

from .forms import CURRENCIES, DAYS, FIELDS, LINE, MONTHS, ORDINALS, SENTENCES, YEARS, form_to_pattern
from .tokenizer import TOKENIZER

HELD_OUT_SHARE = 10  # one list of records in so many is held out


@dataclass(frozen=True)
class Record:
    """One line of the ledger; `amount` includes the currency, as in "15,300 USDT"."""

    id: str
    amount: str
    wallet: str
    date: str

    def fill(self, form):
        return form.format(**vars(self))


@dataclass(frozen=True)
class Example:
    """A prompt and its right note. `asked` are the places (from 0) of the records to write about, in that order."""

    records: tuple[Record, ...]
    asked: tuple[int, ...]
    verb: str
    task: str  # how the task line names them: "EV-4821 and EV-4839", "the second record", "all records in order"

    @property
    def prompt(self):
        return f"Ledger:\n{listing(self.records)}\nTask: {self.verb} {self.task}.\nNote:\n"

    @property
    def note(self):
        """One sentence a line, in the order asked."""
        return "\n".join(self.records[place].fill(SENTENCES[self.verb]) for place in self.asked)

    @property
    def prompt_ids(self):
        """The prompt as an int64 tensor `[1, T0]`."""
        return torch.tensor([TOKENIZER.encode(self.prompt)])


def listing(records):
    return "\n".join(record.fill(LINE) for record in records)


def is_held_out(records):
    """True for the lists of records that training never sees, under whatever task line."""
    return hashlib.sha256(listing(records).encode()).digest()[0] % HELD_OUT_SHARE == 0


def places(n):
    """How a task line may name records by place among `n`: `{words: places from 0}`."""
    singles = {f"the {ORDINALS[i]} record": (i,) for i in range(n)} | {"the last record": (n - 1,)}
    pairs = {"the first two records": (0, 1), "the last two records": (n - 2, n - 1)} if n > 1 else {}
    return singles | pairs | {"all records in order": tuple(range(n))}


def draw_pieces(rng):
    """One record's values as the pieces that records may share."""
    return {
        "id": [f"EV-{rng.randrange(10, 100)}", f"{rng.randrange(100):02}"],
        "amount": [f"{rng.randrange(10, 100)}", f",{rng.randrange(100):02}0 ", rng.choice(CURRENCIES)],
        "wallet": [f"0x{rng.randrange(256):02x}", f"{rng.randrange(256):02x}..", f"{rng.randrange(0xA0, 0x100):02x}"],
        "date": [f"{rng.choice(YEARS)}-", f"{rng.choice(MONTHS)}-", rng.choice(DAYS)],
    }


def draw_records(rng, n):
    """`n` records; in 70 % of the lists each shares a part of every value with another, so that no part tells it."""
    share, drawn = rng.random() < 0.7, []
    while len(drawn) < n:
        pieces = draw_pieces(rng)
        if share and drawn:
            other = rng.choice(drawn)
            for field in FIELDS:
                part = rng.randrange(len(pieces[field]))
                pieces[field][part] = other[field][part]
        if all(pieces[field] != other[field] for other in drawn for field in FIELDS):
            drawn.append(pieces)
    return tuple(Record(**{field: "".join(pieces[field]) for field in FIELDS}) for pieces in drawn)


def draw_task(rng, records, asked):
    """Words for `asked` records and their places; by evidence id in half of the cases, else by place."""
    by_place = [(words, where) for words, where in places(len(records)).items() if len(where) == asked]
    if asked <= 2 and rng.random() < 0.5:
        where = tuple(rng.sample(range(len(records)), asked))
        return " and ".join(records[place].id for place in where), where
    return rng.choice(by_place)


def draw(rng, records, asked, held_out):
    """One example of that size from `rng`, held out or for training. `asked` is 1, 2 or all of the records."""
    if not (2 <= records <= len(ORDINALS) and asked in (1, 2, records)):
        raise ValueError(
            f"{asked} of {records} records: a prompt has 2 to {len(ORDINALS)} records and asks for 1, for 2 or for all"
        )
    drawn = draw_records(rng, records)
    while is_held_out(drawn) != held_out:
        drawn = draw_records(rng, records)
    task, where = draw_task(rng, drawn, asked)
    return Example(drawn, where, rng.choice(list(SENTENCES)), task)


def draw_size(rng):
    """(records, asked): 2 to 5 records, of which one or two are asked, or in one case of five all."""
    records = rng.randint(2, len(ORDINALS))
    return records, rng.choice((1, 1, 2, 2, records))


def held_out(n, seed=0):
    """`n` held-out examples of mixed size."""
    rng = random.Random(f"held out {seed}")
    return [draw(rng, *draw_size(rng), held_out=True) for _ in range(n)]


def example(records=3, asked=1, seed=0):
    """One held-out example of the given size. Raises ValueError for sizes that the task does not have."""
    return draw(random.Random(f"example {seed}"), records, asked, held_out=True)


def parse_prompt(text):
    """The `Example` that a prompt's text describes. Raises ValueError that says which line has not the form."""
    lines = text.rstrip("\n").split("\n")
    if len(lines) < 4 or lines[0] != "Ledger:" or lines[-1] != "Note:":
        raise ValueError(
            'a prompt begins with the line "Ledger:", then records, a line "Task: …" and ends with "Note:"'
        )
    records = tuple(parse_record(line, number) for number, line in enumerate(lines[1:-2], 2))
    if not 2 <= len(records) <= len(ORDINALS):
        raise ValueError(f"the prompt has {len(records)} records; the task has 2 to {len(ORDINALS)}")
    if len({record.id for record in records}) < len(records):
        raise ValueError("two records have the same evidence id; the task line could mean either")
    task = re.fullmatch(rf"Task: ({'|'.join(SENTENCES)}) (.+)\.", lines[-2])
    if not task:
        raise ValueError(f'line {len(lines) - 1}: {lines[-2]!r} is not "Task: {"|".join(SENTENCES)} … ."')
    return Example(records, parse_task(task[2], records), task[1], task[2])


def parse_record(line, number):
    found = re.fullmatch(form_to_pattern(LINE), line)
    if not found:
        sample = example().records[0].fill(LINE)
        raise ValueError(f"line {number}: {line!r} is not a record; one looks like {sample!r}")
    return Record(**found.groupdict())


def parse_task(words, records):
    """Places of the records that the task line's `words` name."""
    ids = [record.id for record in records]
    named = words.split(" and ")
    if words in places(len(records)):
        return places(len(records))[words]
    if len(named) <= 2 and len(set(named)) == len(named) and set(named) <= set(ids):
        return tuple(ids.index(name) for name in named)
    raise ValueError(
        f"the task names {words!r}; it may name one or two evidence ids of the ledger ({', '.join(ids)}), or "
        + ", ".join(repr(phrase) for phrase in places(len(records)))
    )
