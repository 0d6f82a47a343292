"""The hub's parts that need no hub: its configuration, the sizing rule, the messages to a kernel. Nothing is started."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from traitlets.config import Config

from hub import kernel, kernel_memory, load_test, sizing
from hub.sizing import Measured

ROOT = Path(__file__).resolve().parents[2]
SOURCE = (ROOT / "hub" / "jupyterhub_config.py").read_text(encoding="utf-8")


@pytest.fixture
def config(tmp_path, monkeypatch):
    """The configuration as the hub reads it, with a temporary state folder: its names."""
    monkeypatch.setenv("HUB_STATE", str(tmp_path))
    names = {"c": Config(), "__file__": str(ROOT / "hub" / "jupyterhub_config.py")}
    names["get_config"] = lambda: names["c"]
    exec(compile(SOURCE, "jupyterhub_config.py", "exec"), names)
    return names


def learner(name):
    return SimpleNamespace(user=SimpleNamespace(name=name))


def test_the_trial_hub_listens_on_this_machine_only(config):
    c = config["c"]
    addresses = c.JupyterHub.bind_url, c.ConfigurableHTTPProxy.api_url
    assert all(address.startswith("http://127.0.0.1:") for address in addresses)


def test_each_learner_has_progress_and_lessons_of_their_own(config, tmp_path):
    where = config["c"].Spawner.environment["KV_CACHE_PROGRESS"]
    homes = {where(learner(name)) for name in ("ada", "emmy")}
    assert homes == {str(tmp_path / "learners" / name / "progress") for name in ("ada", "emmy")}
    config["hand_out"](learner("ada"))
    handed = sorted(path.name for path in (tmp_path / "learners" / "ada" / "notebooks").iterdir())
    assert handed == sorted(path.name for path in (ROOT / "notebooks").glob("*.ipynb"))
    assert not (tmp_path / "learners" / "emmy").exists()


def test_what_a_learner_wrote_is_not_handed_out_again(config, tmp_path):
    config["hand_out"](learner("ada"))
    folder = tmp_path / "learners" / "ada" / "notebooks"
    (folder / "00_start_here.ipynb").write_text("mine")
    (folder / "01_causal_mask.ipynb").unlink()
    config["hand_out"](learner("ada"))
    assert (folder / "00_start_here.ipynb").read_text() == "mine"
    assert (folder / "01_causal_mask.ipynb").read_bytes() == (ROOT / "notebooks/01_causal_mask.ipynb").read_bytes()


@pytest.mark.parametrize("name", ["../ada", "a/b", "", "-x", ".hidden", "a" * 40])
def test_a_name_that_would_lead_out_of_the_folder_is_refused(config, name):
    import re

    pattern = re.compile(config["c"].Authenticator.username_pattern)
    assert pattern.match("ada-2") and not pattern.match(name)  # the hub asks `match`


def test_a_whole_class_may_log_in_at_once(config):
    """A lower limit than the hub's own (100) would refuse the eleventh learner in place of letting them wait."""
    assert "concurrent_spawn_limit" not in config["c"].JupyterHub
    assert config["c"].Spawner.start_timeout >= 120 and config["c"].Spawner.http_timeout >= 120


def test_memory_and_cores_of_a_class():
    one = Measured(memory_mb=400, cpu_seconds=12)
    assert sizing.memory_gb(20, one, hub_mb=300) == pytest.approx(1.5 * 8.3)
    assert sizing.cores(20, one, patience_seconds=60) == 4
    assert sizing.cores(20, one, patience_seconds=59) == 5  # 240 s of work: a whole core more
    assert sizing.cores(1, one, patience_seconds=600) == 1
    measured = Measured(memory_mb=483, cpu_seconds=15)  # README.md's figures and what it says follows from them
    assert round(sizing.memory_gb(20, measured)) == 15 and sizing.cores(20, measured, 60) == 5
    with pytest.raises(ValueError, match="positive"):
        sizing.cores(20, one, patience_seconds=0)


def test_median_and_worst_of_what_was_measured():
    assert sizing.summary([3.0, 1.0, 9.0]) == (3.0, 9.0)
    with pytest.raises(ValueError, match="nothing was measured"):
        sizing.summary([])


class Socket:
    """A kernel that answers each request with these (type, content) messages, and one of somebody else's before them."""

    def __init__(self, *answers):
        self.answers, self.queue, self.sent = answers, [], []

    def send(self, text):
        request = json.loads(text)
        self.sent.append(request)
        other = {"parent_header": {"msg_id": "other"}, "msg_type": "error", "content": {"ename": "X", "evalue": ""}}
        answers = [{"parent_header": request["header"], "msg_type": kind, "content": c} for kind, c in self.answers]
        self.queue = [other, *answers]

    def recv(self):
        return json.dumps(self.queue.pop(0))


IDLE = ("status", {"execution_state": "idle"})


def widget(id, model, **state):
    return "comm_open", {"comm_id": id, "data": {"state": {"_model_name": model, **state}}}


def change(id, **state):
    return "comm_msg", {"comm_id": id, "data": {"method": "update", "state": state}}


def with_lab(*answers):
    """A kernel in which a lab with two buttons was built, and that answers a press so."""
    socket = Socket(
        widget("a", "ToggleButtonModel", tooltip="restarts at 0", value=False),
        widget("b", "HTMLModel", value='<p role="status">right</p>'),
        widget("c", "LayoutModel"),
        IDLE,
    )
    built = kernel.Kernel(socket)
    built.execute("lab")
    socket.answers = answers
    return built, socket


def test_a_cell_that_raises_is_a_failure_and_one_that_does_not_is_none():
    kernel.Kernel(Socket(("stream", {"text": "1"}), IDLE)).execute("print(1)")
    with pytest.raises(kernel.KernelError, match="ValueError: no"):
        kernel.Kernel(Socket(("error", {"ename": "ValueError", "evalue": "no"}), IDLE)).execute("f()")


def test_a_press_is_what_a_front_end_sends_and_waits_for_the_picture():
    built, socket = with_lab(change("b", value='<p role="status">wrong</p>'), IDLE)
    assert built.press("restarts at 0") >= 0
    sent = socket.sent[-1]
    assert sent["header"]["msg_type"] == "comm_msg" and sent["channel"] == "shell"
    assert sent["content"]["comm_id"] == "a" and sent["content"]["data"]["state"] == {"value": True}


def test_a_press_that_changes_no_picture_and_a_button_that_is_not_there_are_failures():
    built, _ = with_lab(change("b", value="<p>The audit follows</p>"), IDLE)
    with pytest.raises(kernel.KernelError, match="no picture changed"):
        built.press("restarts at 0")
    with pytest.raises(kernel.KernelError, match="no toggle button 'gone'"):
        built.press("gone")


def test_the_report_counts_who_came_how_far():
    run = load_test.Class()
    for seconds in (2.0, 4.0, 9.0):
        run.note("run lesson 05", seconds)
    run.memory["05"] += [400.0, 500.0]
    run.cpu["05"] += [11.0, 12.0, 20.0]
    run.failures.append("learner03: KernelError: gone")
    text = run.table()
    assert "| run lesson 05 | 3 | 4.0 | 9.0 |" in text and "| run lesson 06 | 0 | – | – |" in text
    assert (
        "lesson 05: 450 MB a learner, at most 500; 12 CPU seconds" in text
        and "1 failures\nlearner03: KernelError: gone" in text
    )


def test_the_toggles_that_are_pressed_exist_in_the_lab():
    from helpers.lab import bugs

    titles = load_test.titles()
    assert len(titles) == 4 and set(titles) <= {fault.title for fault in bugs.applicable().values()}


def test_the_memory_of_a_kernel_is_read_in_megabytes(tmp_path):
    (tmp_path / "status").write_text("Name:\tpython\nVmHWM:\t  500000 kB\nVmRSS:\t  1 kB\n")
    (tmp_path / "stat").write_text("7 (a ) b) S 1 1 1 0 -1 0 0 0 0 0 250 50 9 9 20 0")
    mb, seconds = kernel_memory.used(tmp_path)
    assert mb == 512 and seconds * os.sysconf("SC_CLK_TCK") == 300
