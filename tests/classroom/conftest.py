"""The round trips through nbgrader take minutes and need an extra: they run only where they are asked for by name.

pip install -c constraints.txt -e ".[test,instructor]" && pytest tests/classroom
"""

import os
import subprocess
import sys

import pytest

from helpers.progress import VARIABLE


def pytest_ignore_collect(collection_path, config):
    asked = any("classroom" in str(argument) for argument in config.args)
    return None if asked else True


@pytest.fixture(scope="session")
def own_progress(tmp_path_factory):
    """The teacher's progress folder."""
    return tmp_path_factory.mktemp("teacher") / "progress"


@pytest.fixture(scope="session")
def teacher(own_progress):
    """`python -m helpers class …` as a teacher types it: (exit code, what it prints)."""

    def run(*arguments):
        command = [sys.executable, "-m", "helpers", "class", *map(str, arguments)]
        env = os.environ | {VARIABLE: str(own_progress)}
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=env)
        return done.returncode, done.stdout + done.stderr

    return run
