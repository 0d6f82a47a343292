"""What an audit made of a wrong decoder, beside the truth."""

from collections import Counter
from dataclasses import dataclass

from . import cases, exercise

FLAGS = {"differs", "unknown pattern", "error in the decoder", "not deterministic"}
MOVED = 1e-9  # in float64 logits: far above rounding, far below any fault


@dataclass
class Row:
    """One audited decoder; `changed`: the sessions in which it is really wrong."""

    kind: str
    name: str
    truth: set
    changed: list
    report: object

    @property
    def flagged(self):
        return self.report.verdict in FLAGS

    @property
    def families(self):
        """The first suspect's families (a pair of bugs has two); empty where nobody is accused."""
        return {f for s in self.report.suspects[:1] for f in s.family.split(" + ")}

    @property
    def outcome(self):
        """harmless | missed | error | unknown | named | partly (one of two bugs) | wrong."""
        if not self.changed:
            return "harmless" if not self.flagged else "wrong"
        if not self.flagged:
            return "missed"
        if not self.families:
            return "error" if self.report.verdict == "error in the decoder" else "unknown"
        if not self.families <= self.truth:
            return "wrong"
        listed = {f for s in self.report.suspects for f in s.family.split(" + ")}
        return "partly" if self.kind == "doubles" and listed < self.truth else "named"

    def __str__(self):
        first = ", ".join(f"{s.fault} ({s.family})" for s in self.report.suspects[:2]) or self.report.verdict
        return f"{self.outcome:<9} {self.kind:<10} {self.name:<44} {first}; wrong in {', '.join(self.changed) or 'nothing'}"


def rows(kind, size, start, positions, audit, names=None, **options):
    """Audit every decoder of a kind (or those in `names`) over one network. Yields Rows."""
    w, spec = cases.network(size, start, positions)
    references = cases.references(size, start, positions)
    for name, decoder, truth in cases.KINDS[kind](w, spec):
        if decoder is None or (names and name not in names):
            continue
        wrong = exercise.errors(decoder)
        changed = [session for session, error in wrong.items() if not error <= MOVED]
        yield Row(kind, name, truth, changed, audit(decoder, references[decoder.spec.span], **options))


def table(found):
    """The figures, and one line for each decoder that was not named."""
    lines = []
    for kind in dict.fromkeys(row.kind for row in found):
        counts = Counter(row.outcome for row in found if row.kind == kind)
        lines.append(f"{kind}: " + ", ".join(f"{n} {outcome}" for outcome, n in counts.most_common()))
    return "\n".join(lines + [str(row) for row in found if row.outcome not in ("named", "harmless")])
