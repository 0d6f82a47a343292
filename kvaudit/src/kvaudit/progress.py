"""What a long audit is doing: words before each stage and each script, and one line of a terminal that shows them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TextIO

Tell = Callable[[str], object]


def silent(words: str) -> None:
    """Tell nobody."""


class Line:
    """One line of a terminal, written over by each call. `clear` wipes it away."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.written = stream, 0

    def __call__(self, words: str) -> None:
        words = words[: shutil.get_terminal_size().columns - 1]  # one that is longer could not be written over
        self.stream.write(f"\r{words:{self.written}}")
        self.stream.flush()
        self.written = len(words)

    def clear(self) -> None:
        self.stream.write(f"\r{'':{self.written}}\r")
        self.stream.flush()
        self.written = 0
