"""A baseline: deviations that are known, as a report's JSON that was written earlier. What is new is told, the rest passes.

Scripts are compared one by one: a script is known to deviate where the baseline has it deviate in the same way, in a
difference that is at most `LARGER` times smaller. Where both reports name suspects these must be the same; where not, each
script must go wrong at the same step. Whether a bug was named is a matter of time and options, so that *differs* and
*unknown pattern* are one thing here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from .verdicts import UNJUDGED, VERDICTS, WRONG

SCHEMA = 1  # of a report's JSON: raised when a key goes, or means something else
LARGER = 10.0  # times what is known: more than that is new
SAME = {"unknown pattern": "differs"}
ERROR, WAVERS = "error in the decoder", "not deterministic"


@dataclass(frozen=True)
class Deviation:
    """How a script deviates: "differs" or "error", by how much, from which step on, and what it broke off with."""

    status: str
    size: float
    step: int | None
    error: str


@dataclass(frozen=True)
class Known:
    """What deviates in a report. `scripts` holds those that do, `agree` those that were run and do not."""

    verdict: str
    suspects: frozenset[str]
    scripts: Mapping[str, Deviation]
    agree: frozenset[str]
    broke: str = ""  # where no script says it: which call broke off, and with which error
    file: str = ""


@dataclass(frozen=True)
class Compared:
    """A report beside its baseline. `new`: {script, suspect or "verdict": what is new, in words}; `gone` in words."""

    file: str
    new: Mapping[str, str]
    gone: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return WRONG if self.new else 0

    def lines(self) -> Iterator[str]:
        """The comparison in words."""
        if not self.new and not self.gone:
            yield f"as in the baseline {self.file}"
        yield from (f"new, not in {self.file}: {words}" for words in self.new.values())
        if self.gone:
            yield f"gone since {self.file}: {', '.join(self.gone)}; the baseline can be made anew"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"file": self.file, "new": list(self.new.values()), "gone": list(self.gone)}


def read_baseline(file: str | PathLike[str]) -> Known:
    """The deviations of a report's JSON. Raises ValueError in words for what is none, or can be no baseline."""
    try:
        told = json.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"the baseline {file} could not be read: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"the baseline {file} is no JSON: {error}") from error
    schema = told.get("schema") if isinstance(told, dict) else None
    if schema != SCHEMA:
        problem = "it has no schema" if schema is None else f"its schema is {schema}, this version reads {SCHEMA}"
        raise ValueError(f"the baseline {file} is no report that can be read here: {problem}; make it anew")
    try:
        return replace(known(told), file=str(file))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ValueError(f"the baseline {file} is no whole report ({type(error).__name__}: {error})") from error


def known(told: Mapping[str, Any]) -> Known:
    """What deviates in a report that is given as plain values. Raises ValueError where nothing was judged."""
    verdict = told["verdict"]
    code = VERDICTS[verdict][0]
    if code == UNJUDGED:
        raise ValueError(f"nothing was judged, the verdict is {verdict!r}")
    ran = [script for script in told["scripts"] if script["status"] != "not exercised"]
    wrong = [script for script in ran if code == WRONG and script["status"] in ("differs", "error")]
    suspects = frozenset(suspect["fault"] for suspect in told["suspects"])
    scripts = {script["name"]: deviation(script) for script in wrong}
    agree = frozenset(script["name"] for script in ran) - scripts.keys()
    broke = "" if scripts or verdict != ERROR else ":".join(told["summary"].split(":")[:2])
    return Known(SAME.get(verdict, verdict), suspects, scripts, agree, broke)


def deviation(script: Mapping[str, Any]) -> Deviation:
    size = max((math.inf if gap is None else float(gap) for gap in script["diffs"]), default=0.0)
    step = script["first"][0] if script["first"] else None
    return Deviation(script["status"], size, step, (script["problem"] or "").partition(":")[0])


def compare(before: Known, now: Known) -> Compared:
    """What `now` has that was not known before, and what is gone. A decoder that is known to waver may do so anywhere."""
    if before.verdict == now.verdict == WAVERS:
        return Compared(before.file, {})
    new: dict[str, str] = {}
    if VERDICTS[now.verdict][0] and now.verdict != before.verdict:
        new["verdict"] = f"the verdict {now.verdict} (there: {before.verdict})"
    elif now.broke and now.broke != before.broke:
        new["verdict"] = f"{now.broke} (there: {before.broke or 'nothing of the kind'})"
    named = bool(before.suspects and now.suspects)
    if named:
        new |= {fault: f"the suspect {fault}" for fault in sorted(now.suspects - before.suspects)}
    for name, wrong in now.scripts.items():
        words = what_is_new(before.scripts.get(name), wrong, named)
        new |= {name: f"{name} {words}"} if words else {}
    return Compared(before.file, new, tuple(gone(before, now, named)))


def what_is_new(before: Deviation | None, now: Deviation, named: bool) -> str:
    """In words, what is new in how a script deviates; empty where nothing is."""
    if before is None:
        return f"differs by {now.size:.1e}" if now.status == "differs" else f"breaks off: {now.error}"
    if (before.status, before.error) != (now.status, now.error):
        return f"{told(now)} (there: {told(before)})"
    if now.status == "error":
        return ""  # up to its end it agreed
    if now.size > LARGER * before.size:
        return f"differs by {now.size:.1e}, more than {LARGER:g} times as much (there: {before.size:.1e})"
    if not named and now.step != before.step:
        return f"differs from step {now.step} on (there: {before.step})"
    return ""


def told(wrong: Deviation) -> str:
    return f"{wrong.status} ({wrong.error})" if wrong.error else wrong.status


def gone(before: Known, now: Known, named: bool) -> Iterator[str]:
    """What was known and is not there any more."""
    if before.verdict != now.verdict and not before.scripts and VERDICTS[before.verdict][0]:
        yield f"the verdict {before.verdict}"
    for name in before.scripts:
        if name not in now.scripts:
            yield f"{name} ({'agrees' if name in now.agree else 'not run'} now)"
    if named:
        yield from (f"the suspect {fault}" for fault in sorted(before.suspects - now.suspects))
