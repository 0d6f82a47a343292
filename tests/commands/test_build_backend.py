"""The course's editable installation: the library beside it is found, whatever folder Python starts in."""

import base64
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = ("build_backend.py", "pyproject.toml", "README.md", "LICENSE", "helpers/__init__.py")
BUILD = "import sys; sys.path.insert(0, '.'); from build_backend import build_editable; build_editable(sys.argv[1])"
IMPORT = "import site; site.addsitedir({!r}); import helpers, kvaudit; print(kvaudit.__file__)"


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A clone in a folder with a space and an umlaut in its name, whose library is an empty module."""
    root = tmp_path_factory.mktemp("my clöne")
    for name in (*FILES, "kvaudit/src/kvaudit/__init__.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    for name in FILES:
        shutil.copy(ROOT / name, root / name)
    return root


@pytest.fixture(scope="module")
def wheel(clone):
    """Its editable wheel."""
    subprocess.run([sys.executable, "-c", BUILD, "build"], cwd=clone, check=True, capture_output=True)
    return next((clone / "build").glob("*.whl"))


@pytest.mark.parametrize("start", [".", "kvaudit", "helpers"])
def test_it_finds_the_library_from_every_folder(clone, wheel, tmp_path, start):
    """Also from the clone's own, where the project folder of the same name comes first on the path."""
    ZipFile(wheel).extractall(tmp_path)
    code = IMPORT.format(str(tmp_path))
    said = subprocess.check_output([sys.executable, "-S", "-c", code], cwd=clone / start, text=True, encoding="utf-8")
    assert Path(said.strip()) == clone / "kvaudit" / "src" / "kvaudit" / "__init__.py"


def test_each_file_is_recorded_so_that_it_is_uninstalled(wheel):
    archive = ZipFile(wheel)
    record = next(name for name in archive.namelist() if name.endswith("RECORD"))
    rows = [line.rsplit(",", 2) for line in archive.read(record).decode().splitlines()]
    assert sorted(name for name, _, _ in rows) == sorted(archive.namelist())
    for name, digest, size in rows:
        if name != record:
            content = archive.read(name)
            wanted = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={wanted}", len(content)), name
