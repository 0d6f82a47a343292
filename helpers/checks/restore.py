"""After a learner's code the kernel is as it was: the one place that remembers what it may change, and puts it back."""

import random
import sys

import torch

from . import python_state, registry, torch_state
from .patches import put_back, watched
from .python_state import AS_IT_IS, Setting


def numpy_random():
    """numpy's random module, where numpy is loaded: it is not loaded for the sake of its state."""
    return sys.modules["numpy"].random


RANDOM = [
    Setting("torch's random numbers", torch.get_rng_state, torch.set_rng_state),
    Setting("Python's random numbers", random.getstate, random.setstate),
    Setting(
        "numpy's random numbers", lambda: numpy_random().get_state(), lambda state: numpy_random().set_state(state)
    ),
    Setting(
        "the accelerator's random numbers",
        lambda: torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else AS_IT_IS,
        torch.cuda.set_rng_state_all,
    ),
]


def read_exercises():
    return {
        name: (exercise, dict(vars(exercise)), list(exercise.checks)) for name, exercise in registry.EXERCISES.items()
    }


def write_exercises(kept):
    registry.EXERCISES.clear()
    for name, (exercise, fields, checks) in kept.items():
        registry.EXERCISES[name] = exercise
        vars(exercise).clear()
        vars(exercise).update(fields)
        exercise.checks[:] = checks


FLAGS = torch_state.SETTINGS
SETTINGS = [*FLAGS, *python_state.SETTINGS, *RANDOM, Setting("exercises", read_exercises, write_exercises)]


class Kept:
    """A context at whose end functions that were replaced, and settings, are what they were at its beginning.

    It is no generator: contextlib calls builtins on the way out, and the code may have replaced them.
    """

    settings = SETTINGS

    def __enter__(self):
        self.values = [(setting, setting.now()) for setting in self.settings]
        self.names = self.watched().taken()

    def __exit__(self, *_, put_back=put_back):
        put_back(self.names)
        for setting, value in self.values:
            setting.restore(value)

    def watched(self):
        return watched()[0]


class KeptInCall(Kept):
    """The same around one call of an answer within a check: what the comparison after it depends on."""

    def __init__(self, random=True):
        self.settings = [*FLAGS, *RANDOM] if random else FLAGS

    def watched(self):
        return watched()[1]


def set_up():
    """Settings that checks depend on get the value that they need, whatever the notebook has set. Call it in a `Kept`."""
    for setting in FLAGS:
        setting.restore(setting.needed)
