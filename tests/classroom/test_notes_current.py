"""The teacher's notes hold what the check of every wrong answer in every table says now."""

import subprocess
import sys

from helpers.commands.setup_env import ROOT


def test_the_notes_are_current():
    command = [sys.executable, "-m", "tests.checks.teachers_notes", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
