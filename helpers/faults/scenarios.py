"""Scenarios: the smallest sequences of calls in which each fault shows, on any decoder and on its oracle at once."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from ..caches import CapacityError, NoCacheWindow
from ..decoding import Oracle, generate
from ..loops import PrefixStore, RaggedOracle, beam_search, speculative
from ..model import NoCache, OutOfPositions
from .paired import Paired, ScenarioTrace
from .registry import WINDOW, faulty, find


def follow(decoder, logits, n):
    """Greedy tokens `[B, n]`: the first is chosen from `logits` `[B, V]`, all but the last are fed."""
    tokens = [logits.argmax(dim=-1)]
    while len(tokens) < n:
        tokens.append(decoder.decode(tokens[-1]).argmax(dim=-1))
    return torch.stack(tokens, dim=1)


def plain(decoder, prompt, n, new_oracle):
    return follow(decoder, decoder.prefill(prompt), n)


def chunked(decoder, prompt, n, new_oracle):
    """The prompt in three pieces, the last of them the longest."""
    a = max(prompt.shape[1] // 4, 1)
    decoder.prefill(prompt[:, :a])
    decoder.extend(prompt[:, a : 2 * a])
    return follow(decoder, decoder.extend(prompt[:, 2 * a :]), n)


def second_request(decoder, prompt, n, new_oracle):
    follow(decoder, decoder.prefill(prompt.flip(1)), 2)
    return follow(decoder, decoder.prefill(prompt), n)


def ragged(decoder, prompt, n, new_oracle):
    """Row 0 is full, each further row has two tokens less (at least one); what stands before them is padding."""
    lengths = (prompt.shape[1] - 2 * torch.arange(len(prompt))).clamp(min=1)
    return follow(decoder, decoder.prefill(prompt, lengths=lengths), n)


def beams(decoder, prompt, n, new_oracle):
    return beam_search(decoder, prompt[:1], 3, n).tokens


def prefix(decoder, prompt, n, new_oracle):
    """Two requests on one stored prefix: the rows' last two tokens exchanged between rows, then the prompt itself."""
    cut = max(prompt.shape[1] - 2, 1)
    store = PrefixStore(decoder, prompt[:, :cut])
    for rest in (prompt[:, cut:].roll(1, dims=0), prompt[:, cut:]):
        tokens = follow(*store.request(rest), n)
    return tokens


def draft(decoder, prompt, n, new_oracle):
    """Guesses of two tokens, of which the first is right and the second is not."""
    truth = generate(new_oracle(), prompt, n).tokens  # [B, n]

    def propose(tokens):
        ahead = truth[:, tokens.shape[1] - prompt.shape[1] :][:, :2].clone()
        ahead[:, 1:] = (ahead[:, 1:] == 0).long()  # some other id: 1 for 0, 0 for all else
        return ahead

    return speculative(decoder, prompt, n, propose).tokens


@dataclass(frozen=True)
class Scenario:
    """`run(decoder, prompt [B, T0], n, new_oracle)` makes the calls and returns the `n` tokens that the loop chose.

    `feature` is what the decoder must have; `room` makes a buffer that ends so many rows after the prompt.
    """

    about: str
    run: Callable
    feature: str | None = None
    room: int | None = None


SCENARIOS = {
    "plain": Scenario("one prompt, then one token at a time", plain),
    "chunked": Scenario("a prompt in three pieces", chunked),
    "second_request": Scenario("another request before this one, on the same decoder", second_request),
    "ragged": Scenario("prompts of different length, padded on the left", ragged, feature="left padding"),
    "beams": Scenario("a search with three beams", beams),
    "prefix": Scenario("two requests that begin with one stored prefix", prefix),
    "draft": Scenario("guesses of two tokens, the second of them rejected", draft),
    "overflow": Scenario("more tokens than the buffer has slots", plain, feature="buffer", room=2),
    "window": Scenario("more tokens than the window keeps", plain, feature="window"),
}


def scenario_of(ids):
    """The scenario that shows the faults `ids`: that of the first which needs more than a plain one."""
    return next((find(id).scenario for id in ids if find(id).scenario != "plain"), "plain")


def random_prompt(model, B=4, T0=7, seed=0):
    """Token ids `[B, T0]`; batch and length differ from the sizes that models here have, so that no axis can be mixed up."""
    return torch.randint(model.config.vocab_size, (B, T0), generator=torch.Generator().manual_seed(seed))


def prepare(model, ids, name, prompt, window):
    """(scenario, prompt, decoder, function that builds its oracle) from a scenario's name and the defaults."""
    name = name or scenario_of(ids)
    if name not in SCENARIOS:
        raise ValueError(f"there is no scenario {name!r}; known are: {', '.join(SCENARIOS)}")
    scenario, prompt = SCENARIOS[name], random_prompt(model) if prompt is None else prompt
    if prompt.shape[1] < 4:
        raise ValueError(f"scenarios cut a prompt into pieces: give at least 4 tokens, not {prompt.shape[1]}")
    capacity = None if scenario.room is None else prompt.shape[1] + scenario.room
    decoder = faulty(model, *ids, feature=scenario.feature, capacity=capacity, window=window)
    windowed = scenario.feature == "window" or any(find(id).needs == "window" for id in ids)
    no_cache = (lambda: NoCacheWindow(window)) if windowed else NoCache
    return scenario, prompt, decoder, lambda: RaggedOracle(model) if name == "ragged" else Oracle(model, no_cache)


def run_scenario(model, ids=(), scenario=None, prompt=None, n=6, window=WINDOW):
    """Run the faults `ids` (none: the correct decoder) through a scenario, teacher-forced by the oracle: `ScenarioTrace`.

    `prompt` `[B, T0]` is random by default, `n` the number of steps, `scenario` a key of SCENARIOS (default: the one in
    which the faults show). Raises ValueError as `faulty` does; running out of positions or slots ends the trace.
    """
    scenario, prompt, decoder, new_oracle = prepare(model, ids, scenario, prompt, window)
    pair, error = Paired(decoder, new_oracle()), None
    try:
        scenario.run(pair, prompt, n, new_oracle)
    except (OutOfPositions, CapacityError) as end:
        error = str(end)
    return ScenarioTrace([step for step in pair.steps if step.fed >= prompt.shape[1]], error)


def scenario_texts(model, ids=(), scenario=None, prompt=None, n=6, window=WINDOW):
    """Tokens `[B, n]` that the decoder writes by itself (None where it cannot go on), and those that its oracle writes."""
    scenario, prompt, decoder, new_oracle = prepare(model, ids, scenario, prompt, window)
    truth = scenario.run(new_oracle(), prompt, n, new_oracle)
    try:
        return scenario.run(decoder, prompt, n, new_oracle), truth
    except (OutOfPositions, CapacityError):
        return None, truth
