"""The six decoders and their mistakes, by name."""

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module

from .mutation import mutants_in

NAMES = ("nanogpt", "gptfast", "llama", "hf", "flax", "ring")


@dataclass(frozen=True)
class Subject:
    """One of the six: its correct decoder, its reference and its mutants."""

    name: str

    @cached_property
    def module(self):
        return import_module(f"foreign.decoders.{self.name}")

    @cached_property
    def weights(self):
        return self.module.weights()

    @cached_property
    def reference(self):
        return self.module.Reference(self.weights)

    @cached_property
    def mutants(self):
        parts = [import_module(f"foreign.mutants.{self.name}.{part}") for part in ("seen", "kept")]
        return [mutant for part in parts for mutant in mutants_in(part)]

    def correct(self):
        return self.module.Decoder(self.weights)


SUBJECTS = tuple(Subject(name) for name in NAMES)
CASES = [(subject, mutant) for subject in SUBJECTS for mutant in subject.mutants]
