"""Commands in a locale that has no ≈ and no ·, as servers and containers have it: they print and end as elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import progress

PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": ""}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the C locale prints UTF-8")
@pytest.mark.parametrize(("command", "sign"), [("report", "## 00 ? Start here"), ("demo", "without cache  ? ")])
def test_a_command_prints_in_the_c_locale(command, sign, tmp_path):
    environment = os.environ | PLAIN | {progress.VARIABLE: str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "helpers", command],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0 and done.stderr == b"", done.stderr.decode()
    assert sign in done.stdout.decode("ascii")
