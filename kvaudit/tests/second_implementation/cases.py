"""Networks to audit, and every wrong decoder over them: (name, decoder, families that are a fair answer)."""

from dataclasses import replace
from functools import lru_cache

from .adapter import Reference
from .decoder import Decoder
from .faults import FAMILY, FAULTS, NEEDS
from .mutants import DOUBLES, MUTANTS, OUTSIDE
from .network import Spec, weights

# Pairwise different sizes; an odd context, so that a capacity is not a multiple of anything.
SIZES = {
    "small": Spec(vocab=41, context=47, depth=2, heads=4, shared=2, dim=6, hidden=40),
    "large": Spec(vocab=83, context=61, depth=3, heads=6, shared=2, dim=10, hidden=112),
}
STARTS = {"wide": 0.2, "init": None}  # standard deviation of the weights
HABITS = {"learned": "rows", "halves": "count", "pairs": "count"}


def network(size, start, positions, seed=0):
    spec = replace(SIZES[size], positions=positions, kernel="sdpa" if positions == "learned" else "einsum")
    return weights(spec, seed, STARTS[start]), spec


def decoder(w, spec, needs, *changes):
    """The decoder that has what the changes need, and its reference's spec; None where this network cannot have it."""
    if needs.get("positions") == "rope" and spec.positions == "learned":
        return None
    spec = replace(spec, span=needs.get("span"))
    habit = "count" if spec.span else needs.get("habit", HABITS[spec.positions])
    return Decoder(w, spec, needs.get("storage", "grow"), habit, spec.context - 9, changes)


def catalogue(w, spec):
    for name, change in FAULTS.items():
        yield name, decoder(w, spec, NEEDS.get(name, {}), change), {FAMILY[name]}


def mutants(w, spec):
    for name, (change, families, needs) in MUTANTS.items():
        yield name, decoder(w, spec, needs, change), families


def outside(w, spec):
    for name, change in OUTSIDE.items():
        yield name, decoder(w, spec, {}, change), set()


def doubles(w, spec):
    for first, second in DOUBLES:
        needs = NEEDS.get(first, {}) | NEEDS.get(second, {})
        yield (
            f"{first} + {second}",
            decoder(w, spec, needs, FAULTS[first], FAULTS[second]),
            {FAMILY[first], FAMILY[second]},
        )


KINDS = {"catalogue": catalogue, "mutants": mutants, "outside": outside, "doubles": doubles}


@lru_cache(maxsize=2)  # what is measured on a reference takes room
def references(*names):
    """{span: reference}, shared by all audits of one network (see `network`): what is measured on it is measured once."""
    w, spec = network(*names)
    return {span: Reference(w, replace(spec, span=span)) for span in (None, 8)}
