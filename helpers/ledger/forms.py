"""The forms of the ledger: the words of its task, and what each value of a record looks like."""

import re

CURRENCIES = ("USDT", "USDC", "USD", "EUR", "GBP", "CHF")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
YEARS = ("2023", "2024", "2025")
DAYS = tuple(f"{day:02}" for day in range(1, 29))  # every month has these
ORDINALS = ("first", "second", "third", "fourth", "fifth")
FIELDS = ("id", "amount", "wallet", "date")

# The verb of the task line chooses the sentence; each sentence puts the fields in another order.
SENTENCES = {
    "trace": "Trail {id} starts on {date} and sends {amount} into wallet {wallet}.",
    "verify": "Evidence {id} confirms {amount} in wallet {wallet} as of {date}.",
    "report": "Wallet {wallet} received {amount} on {date}, as shown by evidence {id}.",
}
LINE = "- {id} amount {amount} wallet {wallet} date {date}"
VALUES = {
    "id": r"EV-[1-9]\d{3}",
    "amount": rf"[1-9]\d,\d\d0 (?:{'|'.join(CURRENCIES)})",
    "wallet": r"0x[0-9a-f]{4}\.\.[a-f][0-9a-f]",
    "date": rf"(?:{'|'.join(YEARS)})-(?:{'|'.join(MONTHS)})-(?:{'|'.join(DAYS)})",
}


def form_to_pattern(form):
    """A regular expression for a line of the given form, with one named group for each value."""
    return (
        re.escape(form)
        .replace(r"\{", "{")
        .replace(r"\}", "}")
        .format(**{field: f"(?P<{field}>{pattern})" for field, pattern in VALUES.items()})
    )
