"""A line that says how far a long measurement is: for anything that takes more than three seconds.

At a terminal it is one line on stderr, written over itself. In a notebook it is one display that is empty at first and
empty at the end, so that a stored output never depends on how fast the machine was.
"""

import sys
import time

QUIET = 3.0  # seconds: what is over by then needs no line
EVERY = 0.5  # seconds between two lines


class Ticker:
    """`tick()` once for each of `total` pieces of work; used as a context manager it clears its line at the end."""

    def __init__(self, words, total, show=None, clock=time.monotonic):
        self.words, self.total, self.clock = words, total, clock
        self.show = notebook_display() or terminal_line if show is None else show
        self.done, self.began, self.shown = 0, clock(), None

    def tick(self):
        self.done += 1
        now = self.clock()
        passed = now - self.began
        if passed >= QUIET and (self.shown is None or now - self.shown >= EVERY):
            self.shown = now
            left = passed / self.done * (self.total - self.done)
            self.show(f"{self.words}: {self.done} of {self.total}, about {left:.0f} s left")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.shown is not None:
            self.show("")


def silent(text):
    """A `show` that shows nothing."""


def terminal_line(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
    elif text:
        sys.stderr.write(text + "\n")
    sys.stderr.flush()


def notebook_display():
    """A function that replaces the text of one display; None outside a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    handle = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda text: handle.update({"text/plain": text}, raw=True)
