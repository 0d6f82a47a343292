"""What several test files of the checks share."""

import pytest

from helpers import progress


@pytest.fixture
def kept_folder(monkeypatch, tmp_path):
    """An empty progress folder, of which nothing has been said yet; a lock is waited for a moment only."""
    monkeypatch.setattr(progress, "troubles", {})
    monkeypatch.setattr(progress, "said", set())
    monkeypatch.setattr(progress, "WAIT", 0.3)
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path / "kept"))
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept"
