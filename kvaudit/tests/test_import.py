"""What importing the library costs, and that its names are there all the same."""

import importlib
import subprocess
import sys

import pytest

import kvaudit


def test_importing_it_imports_no_torch_and_every_name_is_there():
    code = (
        "import sys, kvaudit; early = 'torch' in sys.modules\n"
        "print(early, [name for name in kvaudit.__all__ if getattr(kvaudit, name) is None], set(kvaudit.__all__) <= set(dir(kvaudit)))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.stdout.strip() == "False [] True", said.stdout + said.stderr


def test_each_name_is_what_its_module_has():
    assert set(kvaudit.WHERE) == set(kvaudit.__all__)
    for name, module in kvaudit.WHERE.items():
        assert getattr(kvaudit, name) is getattr(importlib.import_module(f"kvaudit.{module}"), name)


def test_a_name_that_is_not_there_is_missed_in_pythons_words():
    with pytest.raises(AttributeError, match="module 'kvaudit' has no attribute 'aduit'"):
        kvaudit.aduit  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'aduit'"):
        from kvaudit import aduit  # noqa: F401
