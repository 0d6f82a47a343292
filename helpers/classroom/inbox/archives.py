"""Zip files that anyone may have made: read under limits, never unpacked under the names that they give."""

import itertools
import lzma
import re
import shutil
import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass

MOST_BYTES = 2**30  # unpacked, of the notebooks and zip files in one zip file that was handed in
MOST_FILES = 20_000
BROKEN = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, OSError, EOFError, RuntimeError, ValueError)
LOCKED, UTF8 = 0x1, 0x800  # bits of a member's flags
numbers = itertools.count()


class TooMuch(Exception):
    """A zip file holds more than may be unpacked; the message says how much that is."""


@dataclass
class Budget:
    """What may still come out of one zip file that was handed in, with the zip files in it."""

    files: int = 0
    bytes: int = 0

    def spend(self, files=0, size=0):
        """Raises TooMuch where it is used up."""
        self.files, self.bytes = self.files + files, self.bytes + size
        if self.files > MOST_FILES:
            raise TooMuch(f"it holds more than {MOST_FILES} files")
        if self.bytes > MOST_BYTES:
            raise TooMuch(f"unpacked it has more than {MOST_BYTES / 2**20:.0f} MB")


def parts(member):
    """A member's name as the parts of a path, without those that lead nowhere."""
    name = member.orig_filename.split("\0")[0]
    if not member.flag_bits & UTF8:  # macOS writes UTF-8 and does not say so
        try:
            name = name.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass  # the old code of DOS and Windows after all
    return tuple(part for part in re.split(r"[/\\]", name) if part not in ("", "."))


def problem(member):
    """Why a member is not looked at, or None."""
    name = member.orig_filename
    if re.match(r"[/\\]|[A-Za-z]:", name) or ".." in parts(member):
        return "its path leads out of the zip file: it was not unpacked"
    if not parts(member):
        return "it has no name"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "it is a link, and links are not followed"
    if member.flag_bits & LOCKED:
        return "it is locked with a password: unpack it yourself"
    return None


def extract(archive, member, scratch, budget):
    """The path of a member's bytes, a numbered file in `scratch`. Raises TooMuch, or one of BROKEN."""
    budget.spend(size=member.file_size)  # no more than this is read, whatever the member holds
    path = scratch / str(next(numbers))
    with archive.open(member) as source, path.open("wb") as out:
        shutil.copyfileobj(source, out)
    return path


def reason(error):
    return " ".join(str(error).split()) or type(error).__name__
