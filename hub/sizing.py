"""How large a machine a class needs, from what the load test measured for one learner."""

from dataclasses import dataclass
from statistics import median

RESERVE = 1.5  # a learner keeps a second lesson open, tries something larger, and the system wants its share


@dataclass(frozen=True)
class Measured:
    """What one learner takes: `memory_mb` (proportional set size of server and kernel), `cpu_seconds` to run a lesson."""

    memory_mb: float
    cpu_seconds: float


def memory_gb(learners, one, hub_mb=200):
    """Memory in GB (10^9 bytes) for a class of `learners`, with the hub and its proxy, and a reserve."""
    return RESERVE * (learners * one.memory_mb + hub_mb) / 1000


def cores(learners, one, patience_seconds):
    """Cores (at least 1) with which all learners may run a lesson at once and wait `patience_seconds` at most."""
    if patience_seconds <= 0:
        raise ValueError(f"patience is a positive number of seconds, not {patience_seconds}")
    return max(1, -(-learners * one.cpu_seconds // patience_seconds))


def summary(seconds):
    """(median, worst) of some times; ValueError where nothing was measured."""
    if not seconds:
        raise ValueError("nothing was measured: no learner came that far")
    return median(seconds), max(seconds)
