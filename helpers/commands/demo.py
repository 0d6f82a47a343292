"""`python -m helpers demo`: write a ledger note with and without a cache, compare every step, time both.

Exit code: 0 both wrote the same tokens, 1 they did not, 2 the options cannot be used (the reason is on stderr).
"""

import argparse
import json
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from .. import ledger
from ..decoding import CachedDecoder, Generation, Oracle, check_room, generate
from ..figures import approx
from ..lab.compare import StepTable, compare
from ..ledger import TOKENIZER
from ..ledger.measure import LONGEST_NOTE
from ..sampling import check_sampling

ROUNDS = 5
WIDE = 1.5  # slowest round over fastest: beyond this the medians say little


@dataclass
class Demo:
    """One note written twice: by the oracle and by the cached decoder, from the same prompt and seed."""

    example: ledger.Example
    how: str  # the tokens were chosen, in words
    uncached: Generation
    cached: Generation
    cache_lengths: list[int]  # rows that each layer holds after the cached run
    table: StepTable  # the cached decoder, fed the oracle's tokens
    seconds: dict[str, list[float]]  # "cached" and "uncached": one duration a round

    @property
    def exact(self):
        return torch.equal(self.cached.tokens, self.uncached.tokens)

    def to_dict(self):
        return {
            "exact": self.exact,
            "max_abs_diff": torch.tensor(self.table.differences, dtype=torch.float64).max().item(),  # NaN if any is
            "cache_lengths": self.cache_lengths,
            "tokens": self.cached.tokens[0].tolist(),
        }

    def __str__(self):
        parts = (self.example.prompt, notes(self), f"Each step, the oracle's tokens fed:\n{self.table}", timing(self))
        return "\n\n".join(part.strip() for part in parts)


def main(arguments):
    """Run the demo as the command line asks and print it; returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        demo = run(options)
        if options.json:
            Path(options.json).write_text(json.dumps(demo.to_dict()) + "\n", encoding="utf-8")
    except (ValueError, OSError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    print(demo)
    return 0 if demo.exact else 1


def parser():
    p = argparse.ArgumentParser(
        prog="python -m helpers demo", description="Write a note with and without a cache and compare each step."
    )
    p.add_argument("--prompt", metavar="TEXT", help=r"a ledger, a task and 'Note:'; \n stands for a line break")
    p.add_argument("--positions", choices=("learned", "rope"), default="learned", help="of the model (%(default)s)")
    p.add_argument(
        "--new-tokens", type=int, default=LONGEST_NOTE, metavar="N", help="at most; a note ends itself (%(default)s)"
    )
    p.add_argument("--temperature", type=float, default=0.0, help="0 is greedy (%(default)s)")
    p.add_argument("--top-k", type=int, metavar="K", help="draw from the K likeliest tokens")
    p.add_argument("--top-p", type=float, metavar="P", help="draw from the likeliest tokens that together reach P")
    p.add_argument("--seed", type=int, default=0, help="of the draws (%(default)s)")
    p.add_argument("--json", metavar="FILE", help="write exact, max_abs_diff, cache_lengths and tokens")
    return p


def run(options):
    """Write the note both ways, compare and time. Raises ValueError in words for options that cannot be used."""
    check_options(options)
    example = read_prompt(options.prompt)
    model = ledger.load(options.positions)
    decoders = {"uncached": Oracle(model), "cached": CachedDecoder(model)}
    check_room(decoders["cached"], example.prompt_ids, options.new_tokens)
    written = {name: write(decoder, example, options) for name, decoder in decoders.items()}
    lengths = [k.shape[2] for k, _ in decoders["cached"].layers()]
    table = compare(CachedDecoder(model), Oracle(model), example.prompt_ids, written["uncached"].tokens)
    seconds = interleaved({name: lambda d=d: write(d, example, options) for name, d in decoders.items()})
    return Demo(example, choice(options), **written, cache_lengths=lengths, table=table, seconds=seconds)


def check_options(options):
    """Raise ValueError for numbers that cannot be used, before anything is loaded."""
    if options.new_tokens < 1:
        raise ValueError(
            f"--new-tokens must be at least 1, not {options.new_tokens}: there would be no step to compare"
        )
    if not 0 <= options.seed < 2**63:
        raise ValueError(f"--seed must be from 0 to 2^63 - 1, not {options.seed}")
    check_sampling(options.temperature, options.top_k, options.top_p)


def read_prompt(text):
    """The `Example` in `text`, or the course's own. Raises ValueError where it has not the form or holds unknown text."""
    if text is None:
        return ledger.example(records=3, asked=2)
    example = ledger.parse_prompt(text.replace("\\n", "\n"))
    TOKENIZER.encode(example.prompt)
    return example


def choice(options):
    """How the tokens are chosen, in words."""
    filters = {"top-k": options.top_k, "top-p": options.top_p}
    used = [f"{name} {value}" for name, value in filters.items() if value is not None]
    if options.temperature:
        return f"Drawn with {', '.join([f'temperature {options.temperature}', *used, f'seed {options.seed}'])}."
    return "Greedy (temperature 0)" + (f": {' and '.join(used)} change nothing." if used else ".")


def write(decoder, example, options):
    """A `Generation` from the example's prompt; the same options and seed give the same draws."""
    return generate(
        decoder,
        example.prompt_ids,
        options.new_tokens,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        stop=TOKENIZER.stop,
        generator=torch.Generator().manual_seed(options.seed),
    )


def interleaved(calls, rounds=ROUNDS):
    """Seconds of each call in each round, `{name: [float]}`: in turns, so that a busy moment meets all of them."""
    seconds = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - began)
    return seconds


def notes(demo):
    blocks = [
        f"{name} a cache ({values(demo.example, text(made))}):\n{text(made)}"
        for name, made in (("Without", demo.uncached), ("With", demo.cached))
    ]
    same = f"the same {demo.uncached.tokens.shape[1]} tokens" if demo.exact else "NOT the same tokens"
    return "\n\n".join([*blocks, f"{demo.how} With and without a cache: {same}."])


def text(made):
    return TOKENIZER.decode(made.tokens[0])


def values(example, note):
    """How many of the asked values a note has right, in words."""
    fields = ledger.check_note(example, note)
    ended = "" if fields.fits_template else ", not a whole note"
    return f"{len(fields) - len(fields.wrong)} of {len(fields)} values are the asked records'{ended}"


def timing(demo):
    prompt, new = demo.example.prompt_ids.shape[1], demo.uncached.tokens.shape[1]
    median = {name: statistics.median(seconds) for name, seconds in demo.seconds.items()}
    lines = [f"Time for {new} new tokens after a prompt of {prompt}, prefill included (median of {ROUNDS}, in turns):"]
    for name, words in (("uncached", "without cache"), ("cached", "with cache")):
        per_token = approx(1e3 * median[name] / new, "ms/token")
        lines.append(f"  {words:<14} {approx(median[name], 's')}, {per_token}{spread(demo.seconds[name])}")
    lines.append(f"  {'ratio':<14} {approx(median['uncached'] / median['cached'], '×')}")
    lines.append(f"  {'on':<14} CPU, threads: {torch.get_num_threads()}, float32, batch 1")
    return "\n".join(lines)


def spread(seconds):
    """Says it where the rounds lie so far apart that their median means little."""
    ratio = max(seconds) / min(seconds)
    return f"; unsteady: the slowest round took {approx(ratio, '×')} the fastest" if ratio > WIDE else ""
