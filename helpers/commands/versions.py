"""Versions and the ranges that a package asks for, with the standard library alone."""

import re


def fits(version, specifier):
    """Whether a version is in a range of `>=`, `<` and `==1.2.*` clauses. Raises ValueError for other clauses."""
    return all(clause_holds(version, clause.strip()) for clause in specifier.split(",") if clause.strip())


def clause_holds(version, clause):
    found = re.fullmatch(r"(>=|<|==)\s*(\d+(?:\.\d+)*)(\.\*)?", clause)
    if not found:
        raise ValueError(f"cannot read the version clause {clause!r}; known are >=1.2, <2 and ==1.2.*")
    operator, wanted, any_after = found[1], numbers(found[2]), found[3]
    seen = numbers(version)
    length = len(wanted) if any_after else max(len(seen), len(wanted))
    seen, wanted = ((part + [0] * length)[:length] for part in (seen, wanted))
    return {">=": seen >= wanted, "<": seen < wanted, "==": seen == wanted}[operator]


def numbers(version):
    """The release part of a version: [2, 13, 0] of "2.13.0+cpu"."""
    return [int(part) for part in re.match(r"\d+(?:\.\d+)*", version)[0].split(".")]
