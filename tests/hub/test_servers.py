"""A server that answers is found, one that ended or never answers is reported with the end of its log."""

import subprocess
import sys

import pytest

from hub.servers import free_port, wait_for


@pytest.mark.parametrize("serves", [True, False])
def test_an_answer_or_the_end_of_the_log(tmp_path, serves):
    port, log = free_port(), tmp_path / "log"
    log.write_text("the last words")
    what = ["-m", "http.server", str(port), "--bind", "127.0.0.1"] if serves else ["-c", "pass"]
    process = subprocess.Popen(
        [sys.executable, *what], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        if serves:
            assert wait_for(f"http://127.0.0.1:{port}/", process, log).status == 200
        else:
            with pytest.raises(TimeoutError, match=f"nothing answered at .*{port}/:\nthe last words"):
                wait_for(f"http://127.0.0.1:{port}/", process, log)
    finally:
        process.kill()
        process.wait()
