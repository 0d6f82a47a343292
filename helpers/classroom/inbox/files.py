"""Every file of an inbox: a notebook to be sorted, or a line that says why it is none. Links are never followed."""

import os
import re
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from .archives import BROKEN, Budget, TooMuch, extract, parts, problem, reason
from .names import NOTEBOOK, ZIP

MOST_NOTEBOOK = 50 * 2**20  # bytes of one notebook; a lesson with its outputs has less than one megabyte
MOST_DEPTH = 3  # zip files in one another
ARCHIVE = re.compile(r"\.(rar|7z|tar|tgz|tbz2?|txz|gz|bz2|xz|zst|zipx|cab|dmg|iso)$", re.I)
HIDDEN = {"__macosx", "thumbs.db", "desktop.ini"}


@dataclass
class Inbox:
    """`notebooks`: [(name, path of its bytes)]; `refused`: [(name, why)]; `hidden`: names that a system left behind.

    A name is the tuple of its parts below the inbox; a zip file counts as a folder.
    """

    scratch: Path  # where notebooks from zip files lie, under numbers
    notebooks: list = field(default_factory=list)
    refused: list = field(default_factory=list)
    hidden: list = field(default_factory=list)

    def refuse(self, name, why):
        self.refused.append((name, why))


def look_through(folder, scratch):
    """The `Inbox` of a folder."""
    inbox, folders = Inbox(scratch), [((), Path(folder))]
    while folders:
        name, path = folders.pop()
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except OSError as error:
            inbox.refuse(name, f"it cannot be read: {error.strerror}")
            continue
        folders += [found for entry in entries if (found := file_entry(inbox, entry, (*name, entry.name)))]
    return inbox


def file_entry(inbox, entry, name):
    """File one entry of a folder; a folder is returned, to be looked through."""
    if hidden(entry.name):
        inbox.hidden.append(name)
    elif entry.is_symlink():
        inbox.refuse(name, "it is a link, and links are not followed: put the file itself here")
    elif entry.is_dir(follow_symlinks=False):
        return name, Path(entry.path)
    elif not entry.is_file(follow_symlinks=False):
        inbox.refuse(name, "it is no plain file")
    elif ZIP.search(entry.name):
        file_outer_zip(inbox, name, Path(entry.path))
    elif wanted(inbox, name, entry.stat(follow_symlinks=False).st_size):
        inbox.notebooks.append((name, Path(entry.path)))


def file_outer_zip(inbox, name, path):
    """File what is in a zip file; nothing of it where it holds more than it may."""
    filed = inbox.notebooks, inbox.refused, inbox.hidden
    before = [len(one) for one in filed]
    try:
        file_zip(inbox, name, path, Budget(), 1)
    except TooMuch as error:
        for _, unpacked in inbox.notebooks[before[0] :]:
            unpacked.unlink()
        for one, length in zip(filed, before):
            del one[length:]
        inbox.refuse(name, f"{error}; nothing of it was taken: look at it, and unpack it yourself")


def file_zip(inbox, name, path, budget, depth):
    """File what is in a zip file that lies in `depth - 1` others. Raises TooMuch."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            budget.spend(files=len(members))
            if not members:
                inbox.refuse(name, "it holds no file")
            for member in members:
                file_member(inbox, (*name, *parts(member)), archive, member, budget, depth)
    except BROKEN as error:
        inbox.refuse(name, f"it cannot be unpacked: {reason(error)}")


def file_member(inbox, name, archive, member, budget, depth):
    """File one member of a zip file. Raises TooMuch."""
    why, is_zip = problem(member), ZIP.search(name[-1])
    if why:
        inbox.refuse(name, why)
    elif any(map(hidden, parts(member))):
        inbox.hidden.append(name)
    elif is_zip and depth == MOST_DEPTH:
        inbox.refuse(name, f"a zip file in more than {MOST_DEPTH - 1} others is not opened: unpack it")
    elif is_zip or wanted(inbox, name, member.file_size):
        try:
            path = extract(archive, member, inbox.scratch, budget)
        except BROKEN as error:
            inbox.refuse(name, f"it cannot be unpacked: {reason(error)}")
        else:
            if is_zip:
                try:
                    file_zip(inbox, name, path, budget, depth + 1)
                finally:
                    path.unlink()
            else:
                inbox.notebooks.append((name, path))


def wanted(inbox, name, size):
    """Whether a file that is no zip file is a notebook to be sorted; otherwise it is refused."""
    if found := ARCHIVE.search(name[-1]):
        inbox.refuse(name, f"a {found.group().lower()} file cannot be opened here: unpack it, or have a zip file sent")
    elif not NOTEBOOK.search(name[-1]):
        inbox.refuse(name, "it is no notebook")
    elif size > MOST_NOTEBOOK:
        most, has = MOST_NOTEBOOK / 2**20, size / 2**20
        inbox.refuse(name, f"it has {has:.0f} MB, and no more than {most:.0f} are taken: have it sent without outputs")
    else:
        return True
    return False


def hidden(part):
    """Whether a part of a name is what a system or an editor leaves behind."""
    return part.startswith((".", "~$")) or part.casefold() in HIDDEN
