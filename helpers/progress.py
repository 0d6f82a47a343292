"""What was solved and what was measured: one JSON file in one folder, written atomically, safe with two kernels at once.

The environment variable KV_CACHE_PROGRESS names the folder; without it, it is the platform's user data folder. The
file never leaves the machine. Where nothing can be kept a lesson goes on, and says so once. `filelock` comes with torch
and `platformdirs` with Jupyter.
"""

import contextlib
import errno
import json
import os
import stat
import time
from pathlib import Path

from . import kept_values

VARIABLE = "KV_CACHE_PROGRESS"
FILE = "progress.json"
WAIT = 5.0  # seconds for another kernel to finish; once it did not, later calls do not wait at all
troubles: dict[Path, str] = {}  # folders in which this kernel could not keep anything, and the message
said: set[Path] = set()  # those of which the learner was told


class NotKept(OSError):
    """Progress cannot be read or written. Its message says why, and what to do."""

    def __init__(self, why):
        where = f"the folder that {VARIABLE} names" if os.environ.get(VARIABLE) else "your user data folder"
        message = (
            f"progress was not kept: {why} ({where}). The lesson goes on without. To keep it, set {VARIABLE} to a folder that "
            f'you can write to, before the lab starts or in a cell: import os; os.environ["{VARIABLE}"] = "~/kv-progress"'
        )
        super().__init__(message)
        troubles[folder()] = message

    def once(self):
        """The message, or None where this kernel has said it before."""
        if folder() in said:
            return None
        said.add(folder())
        return str(self)


def folder():
    """The folder where progress is kept (it may not exist yet)."""
    if os.environ.get(VARIABLE):
        return Path(os.path.expanduser(os.environ[VARIABLE]))
    import platformdirs

    return Path(platformdirs.user_data_dir("kv-cache-by-hand", appauthor=False))


def load():
    """What is kept: `{"solved": {exercise: {"points", "of"}}, "measured": {lesson: {quantity: value}}}`."""
    return read()[0]


def record(exercise, points, of):
    """Keep the best `points` (of `of`) that `exercise` ever got. Returns a message if something had to be set aside.

    Raises `NotKept`.
    """

    def change(kept):
        best = kept_values.points(kept["solved"].get(exercise), of)
        kept["solved"][exercise] = {"points": max(best, points), "of": of}

    return update(change)


def measure(lesson, **values):
    """Keep what the learner's own code measured in `lesson` ("05"): numbers or words. It raises nothing.

    A value that says nothing, such as None, "-" or "not written yet", never takes the place of one that says something.
    Prints a message where something was set aside, or, once, where nothing can be kept.
    """

    def change(kept):
        kept["measured"][lesson] = kept_values.better(kept["measured"].get(lesson, {}), kept_values.storable(values))

    try:
        message = update(change)
    except NotKept as error:
        message = error.once()
    if message:
        print(message)


def read():
    """(kept, message): raises nothing. What cannot be read is set aside under another name, and the message says so."""
    try:
        kept, sound = parsed()
        return (kept, troubles.get(folder())) if sound else mended()
    except NotKept as error:
        return kept_values.empty(), str(error)


def update(change):
    """Read, `change(kept)`, write: under a lock that the operating system drops with its process. Raises `NotKept`."""
    with locked():
        kept, message = set_aside()
        change(kept)
        write(kept)
    troubles.pop(folder(), None)
    said.discard(folder())
    return message


def mended():
    """`read` of a file that is unsound, under the lock, since another kernel may be mending it."""
    try:
        with locked():
            return set_aside()
    except NotKept as error:
        return parsed()[0], str(error)


@contextlib.contextmanager
def locked():
    """Holds the folder's lock; whatever the file system refuses meanwhile becomes `NotKept`."""
    from filelock import FileLock, Timeout

    try:
        folder().mkdir(parents=True, exist_ok=True)
        with FileLock(folder() / "progress.lock", timeout=0 if folder() in troubles else WAIT, poll_interval=0.02):
            yield
    except Timeout:
        raise NotKept("another program holds its lock") from None
    except (OSError, NotImplementedError, ValueError) as error:
        raise error if isinstance(error, NotKept) else NotKept(reason(error)) from error


def reason(error):
    """What the file system said, without the folder's name."""
    if isinstance(error, (FileExistsError, NotADirectoryError)):
        return "it is no folder"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def parsed():
    """(kept, whether all of the file could be read). Raises `NotKept` where the file itself cannot be."""
    path = folder() / FILE
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, f"{FILE} is not a file")
        return kept_values.parsed(path.read_bytes())
    except FileNotFoundError:
        return kept_values.empty(), True
    except (OSError, ValueError) as error:
        raise NotKept(reason(error)) from error


def set_aside():
    """(kept, message) under the lock: an unsound file gets another name, and what could be read of it goes on."""
    kept, sound = parsed()
    if sound:
        return kept, None
    path = folder() / FILE
    aside = path.with_name(f"progress-unreadable-{time.time_ns()}.json")
    if kept == kept_values.empty():
        os.replace(path, aside)
        return kept, f"the progress file was unreadable; it is kept as {aside.name}, a new one starts"
    aside.write_bytes(path.read_bytes())
    write(kept)
    return kept, f"parts of the progress file were unreadable; it is kept as {aside.name}, the rest goes on"


def write(kept):
    path = folder() / FILE
    part = path.with_name(f"progress.{os.getpid()}.part")
    try:
        text = json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False)
        part.write_text(text + "\n", encoding="utf-8")
        os.replace(part, path)  # atomic: a reader meets the old file or the new one, never half of one
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
