"""How a mistake is noted: what it is, which answers would be fair, which stored rows it spoils. Noted before any audit."""

from dataclasses import dataclass

FAMILIES = (
    "position, mask, append, duplicate, stale, aliasing, rollback, K/V, layers, preallocated, capacity, shared heads, "
    "window, rotary, ragged batch, batch rows, beams, rounding"
)


@dataclass(frozen=True)
class Mutation:
    """`about`: one plain line. `fair`: families that would be a fair answer (none: only "unknown" would be).

    `rows`: which stored rows the mistake itself spoils, K or V, layer and rows; what follows from wrong hidden states in
    deeper layers, where nothing else is wrong, is called "deeper layers follow".
    """

    about: str
    fair: frozenset[str]
    rows: str


def mutation(about, fair, rows):
    """Mark a class as a mistake; `fair` names families, with commas between them. ValueError for one that is none."""
    names = frozenset(name.strip() for name in fair.split(",") if name.strip())
    unknown = names - {name.strip() for name in FAMILIES.split(",")}
    if unknown:
        raise ValueError(f"no family is called {', '.join(sorted(unknown))}; there are {FAMILIES}")

    def mark(decoder):
        decoder.mutation = Mutation(about, names, rows)
        return decoder

    return mark


def mutants_in(module):
    """The marked classes of a module, in the order of its text."""
    return [made for made in vars(module).values() if isinstance(made, type) and "mutation" in vars(made)]
