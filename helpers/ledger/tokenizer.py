"""A tokenizer small enough to read: a fixed list of pieces, the longest one that fits is taken, left to right.

Words carry their leading space. Values are cut into pieces of two characters (EV-48|21, 15|,300, 0x3f|a9..|c1,
2024|-Mar|-17), so that a value is several tokens and a fault can mix two records within one. A piece shows of which
kind it is: 21 can only end an id, c1 only a wallet, which is why the last pair of a wallet begins with a letter.
"""

import re

from .forms import CURRENCIES, DAYS, LINE, MONTHS, ORDINALS, SENTENCES, YEARS

STOP = "<end>"


class Tokenizer:
    """Text to ids and back. `stop` is the id of the end token, which no text encodes to."""

    def __init__(self, pieces):
        self.texts = [STOP, *pieces]
        self.ids = {text: i for i, text in enumerate(self.texts) if text != STOP}
        self.longest = max(map(len, pieces))
        self.stop = 0

    @property
    def vocab_size(self):
        return len(self.texts)

    def encode(self, text):
        """Token ids of `text`. Raises ValueError that names the first place where no piece fits."""
        ids, at = [], 0
        while at < len(text):
            piece = next((text[at : at + n] for n in range(self.longest, 0, -1) if text[at : at + n] in self.ids), None)
            if piece is None:
                raise ValueError(no_piece(text, at))
            ids.append(self.ids[piece])
            at += len(piece)
        return ids

    def pieces(self, ids):
        """The text of each token; the end token shows as "<end>"."""
        return [self.texts[i] for i in ids]

    def decode(self, ids):
        """Text of `ids` up to the end token, which itself has no text."""
        ids = [int(i) for i in ids]
        return "".join(self.pieces(ids[: ids.index(self.stop)] if self.stop in ids else ids))


def no_piece(text, at):
    line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
    return (
        f"no token fits {text[at : at + 12]!r} (line {line}, column {column}); the ledger model knows its own words, "
        "amounts such as 15,300, ids such as EV-4821, wallets such as 0x3fa9..c1 and dates such as 2024-Mar-17"
    )


def words():
    """The words of the task with their leading space, in order of first appearance."""
    tasks = [f"the {ordinal} record" for ordinal in (*ORDINALS, "last")] + [
        "the first two records",
        "all records in order",
        "and",
    ]
    forms = ["Ledger:\n" + LINE + "\nTask:", *(f" {verb}" for verb in SENTENCES), *(f" {t}." for t in tasks), "Note:\n"]
    found = re.findall(r" ?[A-Za-z]+:?|[^\w\s]|\n", re.sub(r" ?\{\w+\}", "", "".join(forms + list(SENTENCES.values()))))
    return list(dict.fromkeys(found))


def value_pieces():
    """Pieces of values: `{kind: texts}`; no piece is of two kinds."""
    pairs = [f"{n:02x}" for n in range(256)]
    return {
        "id_1": [f" EV-{n}" for n in range(10, 100)],
        "id_2": [f"{n:02}" for n in range(100)],
        "amount_1": [f" {n}" for n in range(10, 100)],
        "amount_2": [f",{n:02}0" for n in range(100)],
        "currency": [f" {name}" for name in CURRENCIES],
        "wallet_1": [f" 0x{pair}" for pair in pairs],
        "wallet_2": [f"{pair}.." for pair in pairs],
        "wallet_3": [pair for pair in pairs if pair[0].isalpha()],
        "date_1": [f" {year}" for year in YEARS],
        "date_2": [f"-{month}" for month in MONTHS],
        "date_3": [f"-{day}" for day in DAYS],
    }


TOKENIZER = Tokenizer([*words(), *(text for texts in value_pieces().values() for text in texts)])
