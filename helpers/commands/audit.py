"""`python -m helpers audit`: the library's own command, `kvaudit`."""

from kvaudit.command import main

__all__ = ["main"]
