"""`python -m helpers faults [FAULT …]`: what each cache fault does to text and logits, and whether the audit names it.

For {random wide, random GPT-2 initialisation, trained ledger} x {learned, rope}. Exit code: 0 printed, 2 there is no
such fault or option.
"""

import argparse
import json
from pathlib import Path

import torch

from ..faults import CATALOGUE
from ..lab.fault_table import POSITIONS, PROMPTS, WEIGHTS, WRONG, rows

HEAD = f"{'fault':<26} {'weights':<18} {'position':<8} {'text':>6} {'first':>6} {'largest':>10}   {'flagged':<8} named"


def main(arguments):
    """Measure what the command line names and print each row as it is there; returns the exit code."""
    options = read_options(arguments)
    torch.set_num_threads(1)  # the models are small: a second thread costs more than it gives
    print(HEAD)
    table = []
    for row in rows(options.ids, options.weights or WEIGHTS, options.positions or POSITIONS):
        table.append(row)
        print(line(row), flush=True)
    print("\n" + "\n".join(summary(table)))
    if options.json:
        Path(options.json).write_text(json.dumps(table, indent=1), encoding="utf-8")
    return 0


def read_options(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m helpers faults",
        description="What each cache fault does to text and logits, and whether the audit flags and names it.",
    )
    parser.add_argument("ids", nargs="*", metavar="FAULT", help="only these faults (default: all)")
    parser.add_argument("--json", metavar="FILE", help="also write the rows to FILE")
    parser.add_argument("--weights", choices=WEIGHTS, action="append", help="only these weights (may be repeated)")
    parser.add_argument("--positions", choices=POSITIONS, action="append", help="only these positions")
    options = parser.parse_args(arguments)
    unknown = [id for id in options.ids if id not in CATALOGUE]
    if unknown:
        parser.error(f"no such fault: {', '.join(unknown)}; the catalogue has {', '.join(CATALOGUE)}")
    return options


def line(row):
    if row["flagged"] is None:
        return f"{row['fault']:<26} {row['weights']:<18} {row['positions']:<8} does not apply"
    first = "-" if row["first_step"] is None else row["first_step"]
    named = "-" if row["rank"] is None else row["rank"]
    return (
        f"{row['fault']:<26} {row['weights']:<18} {row['positions']:<8} {row['text_differs']:>6.0%} {first:>6} "
        f"{row['max_abs_diff']:>10.2g}   {'yes' if row['flagged'] else 'no':<8} {named}"
    )


def summary(table):
    """In words: what text comparison, logits and the audit found, per weights and positions and in all."""
    for kind in WEIGHTS:
        for position in POSITIONS:
            found = [
                r for r in table if (r["weights"], r["positions"]) == (kind, position) and r["flagged"] is not None
            ]
            if found:
                share = sum(r["text_differs"] for r in found) / len(found)
                yield f"{kind}, {position}: the text differs in {share:.0%} of {len(found)} faults x {PROMPTS} prompts"
    moved = [r for r in table if r["max_abs_diff"] is not None and r["max_abs_diff"] > WRONG]
    if moved:
        flagged, named = sum(r["flagged"] for r in moved), sum(r["family_first"] for r in moved)
        yield f"of {len(moved)} rows whose logits move: {flagged} flagged, {named} with the right family first"
