"""Training material: an example as token ids with, for each place, what is to be predicted and how much it counts."""

from dataclasses import dataclass
from itertools import accumulate

import torch

from .tokenizer import TOKENIZER, value_pieces

NONE = -100  # cross_entropy's ignore_index: no label here
NOISE = 0.12  # share of rows whose note stands at wrong positions; only the right *kind* of value is asked there
KINDS = list(value_pieces())
LABELS = ("kinds", "records", "joins", "matches", "sources")
LINE_BREAK, DASH, TASK = (TOKENIZER.encode(text)[0] for text in ("\n", "-", "Task:"))


KIND_OF = {TOKENIZER.ids[text]: KINDS.index(kind) for kind, texts in value_pieces().items() for text in texts}
KIND_TABLE = torch.zeros(len(KINDS), TOKENIZER.vocab_size, dtype=torch.bool)  # which tokens are of which kind
KIND_TABLE[list(KIND_OF.values()), list(KIND_OF)] = True
ID_2 = KINDS.index("id_2")


@dataclass
class Sample:
    """One sequence, with labels for each place t; NONE where there is nothing to say.

    kinds: the kind of value piece that comes next. records: the record that the token is about (in the note: the next
    token). joins: for the second piece of an id, where its first stands. matches: for an id in the task line, where it stands
    in its record. sources: where in the prompt the next value of the note stands. weights: how much predicting the next token counts.
    """

    ids: list
    prompt_length: int
    kinds: list
    records: list
    joins: list
    matches: list
    sources: list
    weights: list


def sample(example):
    prompt = TOKENIZER.encode(example.prompt)
    ids = prompt + TOKENIZER.encode(example.note) + [TOKENIZER.stop]
    kinds, start = [KIND_OF.get(i, NONE) for i in ids], len(prompt)
    records = record_of_each(example, ids, kinds, start)
    where = {(records[t], kinds[t]): t for t in range(prompt.index(TASK)) if kinds[t] != NONE}
    sources = [where[records[t], kinds[t]] if t >= start and kinds[t] != NONE else NONE for t in range(len(ids))]
    in_task = [prompt.index(TASK) < t < start and records[t] != NONE for t in range(len(ids))]
    matches = [where[records[t], kinds[t]] if in_task[t] else NONE for t in range(len(ids))]
    joins = [t - 1 if kind == ID_2 else NONE for t, kind in enumerate(kinds)]
    full = {LINE_BREAK, TOKENIZER.stop}  # going on or ending is a decision; so is the first word
    weights = [1.0 if kinds[t] != NONE or ids[t] in full or t == start else 0.2 for t in range(start, len(ids))]
    about = records[: start - 1] + records[start:]  # in the note: the record of the token to come
    return Sample(ids, start, kinds[1:], about, joins, matches, sources[1:], [0.0] * (start - 1) + weights)


def record_of_each(example, ids, kinds, start):
    """Place of the record that each token belongs to; NONE in the heading and for the words of the task."""
    task, named = ids.index(TASK), iter(example.asked)
    begun = accumulate(i == DASH for i in ids[:task])  # records begun so far
    sentence = accumulate(i == LINE_BREAK for i in ids[start - 1 : -1])  # sentences begun so far
    records = [n - 1 if n else NONE for n in begun]
    records += [next(named) if kind == ID_2 else NONE for kind in kinds[task:start]]
    return records + [example.asked[n - 1] for n in sentence]


def collate(rng, samples):
    """The batch `{name: [B, T]}`, T = longest - 1, padded on the right with places that count nothing.

    Noisy rows get wrong positions in the note and no labels for the aids there.
    """
    T = max(len(s.ids) for s in samples) - 1
    batch = {name: fill([getattr(s, name) for s in samples], NONE, T) for name in LABELS}
    batch |= {"tokens": fill([s.ids for s in samples], 0, T), "targets": fill([s.ids[1:] for s in samples], 0, T)}
    batch |= {
        "weights": fill([s.weights for s in samples], 0.0, T),
        "positions": torch.arange(T).repeat(len(samples), 1),
    }
    batch["noisy"] = torch.zeros(len(samples), T, dtype=torch.bool)
    for row, s in enumerate(samples):
        if rng.random() < NOISE:
            batch["noisy"][row], start = True, rng.choice((0, rng.randrange(160)))
            batch["positions"][row, s.prompt_length :] = start + torch.arange(T - s.prompt_length)
            batch["records"][row, s.prompt_length - 1 :] = NONE
            batch["sources"][row] = NONE
            batch["joins"][row, s.prompt_length :] = NONE
    return batch


def fill(lists, padding, length):
    return torch.tensor([list(x[:length]) + [padding] * (length - len(x)) for x in lists])
