"""Builds the course: setuptools, and an editable installation that also finds the library beside it (`kvaudit/src`).

The course needs `kvaudit` and must not name it among its dependencies. An index would be asked for the name, which there
may be anybody's; a dependency on the folder (`kvaudit @ file://…`) pip refuses beside `-e ./kvaudit`.
"""

import base64
import hashlib
import locale
from pathlib import Path
from zipfile import ZipFile

from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [  # the hooks that an installer calls
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

LIBRARY = Path(__file__).resolve().parent / "kvaudit" / "src"
PATH_FILE = "kv_cache_by_hand_library.pth"  # Python adds the folders in such a file to its path when it starts


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """setuptools' editable wheel with one file more; returns its name, as PEP 660 asks."""
    name = build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
    add_file(Path(wheel_directory, name), PATH_FILE, f"{LIBRARY}\n".encode(locale.getpreferredencoding(False)))
    return name


def add_file(wheel, name, content):
    """Put a file into a wheel and into its RECORD, so that it is uninstalled with the rest."""
    with ZipFile(wheel) as old:
        files = {entry: old.read(entry) for entry in old.infolist()}
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    with ZipFile(wheel, "w") as new:
        new.writestr(name, content)
        for entry, data in files.items():
            if entry.filename.endswith(".dist-info/RECORD"):
                data += f"{name},sha256={digest},{len(content)}\n".encode()
            new.writestr(entry, data)
