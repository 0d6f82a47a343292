"""What was solved and what was measured: one JSON file in one folder, written atomically, safe with two kernels at once.

The environment variable KV_CACHE_PROGRESS names the folder; without it, it is the platform's user data folder. The
file never leaves the machine. `filelock` comes with torch and `platformdirs` with Jupyter.
"""

import json
import os
import time
from pathlib import Path

VARIABLE = "KV_CACHE_PROGRESS"
EMPTY = {"solved": {}, "measured": {}}


def folder():
    """The folder where progress is kept (it may not exist yet)."""
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    import platformdirs

    return Path(platformdirs.user_data_dir("kv-cache-by-hand", appauthor=False))


def load():
    """What is kept: `{"solved": {exercise: {"points", "of"}}, "measured": {lesson: {quantity: value}}}`."""
    return read()[0]


def record(exercise, points, of):
    """Keep the best `points` (of `of`) that `exercise` ever got. Returns a message if something had to be set aside."""

    def change(kept):
        best = kept["solved"].get(exercise, {}).get("points", 0)
        kept["solved"][exercise] = {"points": max(best, points), "of": of}

    return update(change)


def measure(lesson, **values):
    """Keep what the learner's own code measured in `lesson` ("05"): numbers or strings. Returns a message or None."""
    return update(lambda kept: kept["measured"].setdefault(lesson, {}).update(values))


def update(change):
    """Read, `change(kept)`, write: under a lock that the operating system drops with its process. Raises OSError."""
    from filelock import FileLock

    folder().mkdir(parents=True, exist_ok=True)
    with FileLock(folder() / "progress.lock", timeout=10):
        kept, message = read()
        change(kept)
        write(kept)
    return message


def read():
    """(kept, message): a file that cannot be read is set aside under another name, and the message says so."""
    path = folder() / "progress.json"
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if not all(isinstance(kept[part], dict) for part in EMPTY):
            raise ValueError("a part is missing")
        return kept, None
    except FileNotFoundError:
        return json.loads(json.dumps(EMPTY)), None
    except (ValueError, KeyError, TypeError):
        aside = path.with_name(f"progress-unreadable-{time.time_ns()}.json")
        os.replace(path, aside)
        return json.loads(
            json.dumps(EMPTY)
        ), f"the progress file was unreadable; it is kept as {aside.name}, a new one starts"


def write(kept):
    path = folder() / "progress.json"
    part = path.with_name(f"progress.{os.getpid()}.part")
    part.write_text(json.dumps(kept, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, path)  # atomic: a reader meets the old file or the new one, never half of one
