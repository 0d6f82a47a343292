"""A time limit for one call of somebody else's code."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

SECONDS = 60.0  # for one call: a decode step of a large model on a slow machine takes a few


class OutOfTime(BaseException):
    """A call gave no answer in time. No `Exception`: a decoder that catches those must not swallow it."""


@contextmanager
def limit(seconds: float | None) -> Iterator[None]:
    """Raise `OutOfTime` in the block after so many seconds, sleeping or looping.

    Needs the main thread and a system with timers (Linux, macOS); elsewhere, or with None, there is no limit. A timer
    that somebody had set goes on afterwards.
    """
    if seconds is None or not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise OutOfTime

    handler = signal.signal(signal.SIGALRM, stop)
    theirs = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *theirs)
        signal.signal(signal.SIGALRM, handler)
