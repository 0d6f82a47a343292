"""A machine whose calls take the time that a script says: what a timer reports about it can be judged without a clock.

machine = Scripted(lambda call: 0.2 if call.number < 2 else 0.1)    # the first two calls of each are slow
timer(machine.variants("a", "b"), clock=machine.clock)
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial


@dataclass(frozen=True)
class Call:
    """One call: of which variant, its `number` among that variant's calls, its `place` among all calls, from 0."""

    name: str
    number: int
    place: int


class Scripted:
    """`clock()` gives its time in seconds; calling a variant moves it on by `seconds(Call)`. `log`: names in order."""

    def __init__(self, seconds: Callable):
        self.seconds, self.now, self.log, self.looks = seconds, 1000.0, [], 0

    def clock(self):
        self.looks += 1
        return self.now

    def variants(self, *names):
        """`{name: callable}` as a timer takes them."""
        return {name: partial(self.call, name) for name in names}

    def call(self, name):
        made = Call(name, self.log.count(name), len(self.log))
        self.log.append(name)
        self.now += self.seconds(made)


def slowing(seconds, calls, factor=3.0):
    """A script: a machine that grows warm. Its last of so many `calls` takes `factor` times as long as its first."""
    return lambda call: seconds * (1 + (factor - 1) * call.place / max(calls - 1, 1))


def slow_start(seconds, calls, factor=40.0):
    """A script: the first `calls` calls of each variant take `factor` times as long. `seconds`: `{name: seconds}`."""
    return lambda call: seconds[call.name] * (factor if call.number < calls else 1)


def first_pays(seconds, names, share=0.8):
    """A script: whoever begins a round of so many `names` takes longer by `share`; the round before left it that."""
    return lambda call: seconds * (1 + share * (call.place % names == 0))
