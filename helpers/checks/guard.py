"""Runs a learner's code so that nothing it does ends the kernel, floods the page or changes what runs after it.

What holds where: a Python loop is stopped on every system, code that sleeps or waits on all but Windows, a single long
computation inside C code on none. A huge memory request is refused on Linux only. `os._exit` and a crash inside C code end the kernel on every system.
"""

import os
from dataclasses import dataclass

from .limits import (
    Alarm,
    Asked,
    Bounded,
    Exit,
    TooLong,
    exits_replaced,
    interrupts_noted,
    memory_limited,
    questions_refused,
    streams,
)
from .patches import put_back, put_torch_back, watched
from .restore import Kept, set_up

__all__ = ["Asked", "Exit", "Outcome", "TooLong", "exits_replaced", "memory_limited", "put_torch_back", "run"]

PATIENCE = 1.0  # seconds for an error to say what it is
LENGTH = 2000  # characters of it that are looked at
ANYTHING = BaseException  # by a name of our own: the code may give the builtin to something else


@dataclass
class Outcome:
    """`value` returned or `error` raised, the error in `words`, and what was written to stdout and stderr meanwhile."""

    value: object = None
    error: BaseException | None = None
    words: str = ""
    printed: str = ""
    written: int = 0


def run(function, argument, namespace, seconds):
    """Call `function(argument)` within limits; the kernel is then as it was. Raises only the user's KeyboardInterrupt."""
    outcome, output, process = Outcome(), Bounded(), os.getpid()
    with (
        Kept(),
        interrupts_noted() as pressed,
        exits_replaced(namespace),
        questions_refused(),
        streams(output),
        memory_limited(),
    ):
        set_up()
        attempt(outcome, function, argument, seconds)
        if os.getpid() != process:
            os._exit(0)  # a copy of the kernel that the code made, as by os.fork
        if outcome.error is not None:
            outcome.words = words(outcome.error)
    if pressed:  # even where the code caught it
        raise KeyboardInterrupt
    outcome.printed, outcome.written = output.text, output.written
    return outcome


def attempt(outcome, function, argument, seconds):
    """Fill in `outcome` with what the call returns or raises; functions that it replaced are put back at once."""
    names, alarm = watched()[0].taken(), Alarm(seconds)
    try:
        try:
            outcome.value = function(argument)
        finally:
            late = alarm.stop()
        if late:  # the code swallowed it and came to an end after all
            raise TooLong
    except ANYTHING as error:
        alarm.stop()  # once more: TooLong may have come while the first call was on its way
        outcome.error = error
    put_back(names)


def words(error):
    """What an error says of itself; asking it runs the learner's code once more."""
    said = Outcome()
    attempt(said, lambda error: str.__str__(str(error))[:LENGTH], error, PATIENCE)
    return said.value if said.error is None else "an error that cannot be read: its __str__ fails"
