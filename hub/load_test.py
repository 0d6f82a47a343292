"""A class on this machine: learners log in together, run lesson 05, then press the toggles of lesson 06's lab.

    python -m hub.load_test --learners 20       (in the repository's folder; needs the extra `hub` and the npm package
                                                 configurable-http-proxy on the PATH)

Starts a hub of its own on the loopback address, in a temporary folder, and stops it. It goes no further than this machine.
Prints a table; exit code 0 if no learner met an error, 1 otherwise.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil

from hub.servers import free_port, wait_for

from .kernel import KernelError
from .learner import Learner, LearnerError
from .sizing import summary

CONFIG = Path(__file__).with_name("jupyterhub_config.py")
LESSON, LAB = "notebooks/05_prefill_and_decode.ipynb", "notebooks/06_position_offset_bug.ipynb"
STEPS = ("log in, server up", "open lesson 05", "run lesson 05", "open lesson 06", "run lesson 06", "one toggle")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m hub.load_test", description=__doc__.split("\n")[0])
    parser.add_argument("--learners", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write what was measured")
    options = parser.parse_args(arguments)
    measured = Class()
    with tempfile.TemporaryDirectory() as state, hub(Path(state)) as url:
        names = [f"learner{number:02}" for number in range(1, options.learners + 1)]
        with ThreadPoolExecutor(options.learners) as pool:
            list(pool.map(lambda name: measured.attend(url, name), names))
    print(measured.table())
    if options.json:
        options.json.write_text(json.dumps(measured.figures(), indent=1) + "\n")
    return 1 if measured.failures else 0


class Class:
    """What the learners of one run met: `times` per step, `memory` (MB) and `cpu` (seconds) of
    a learner's server and kernel at the end of each lesson, `failures` in words."""

    def __init__(self):
        self.times = {step: [] for step in STEPS}
        self.memory, self.cpu, self.failures = {"05": [], "06": []}, {"05": [], "06": []}, []
        self.lock = threading.Lock()

    @contextmanager
    def timed(self, step):
        started = time.monotonic()
        yield
        self.note(step, time.monotonic() - started)

    def note(self, step, seconds):
        with self.lock:
            self.times[step].append(seconds)

    def attend(self, url, name):
        """One learner from logging in to the last toggle."""
        learner = Learner(url, name)
        try:
            with self.timed("log in, server up"):
                learner.log_in()
            self.lesson(learner, LESSON, "05")
            self.lesson(learner, LAB, "06", titles())
        except (LearnerError, KernelError, OSError) as error:
            with self.lock:
                self.failures.append(f"{name}: {type(error).__name__}: {error}")

    def lesson(self, learner, path, number, toggles=()):
        with self.timed(f"open lesson {number}"):
            notebook, session, kernel = learner.open(path)
        with self.timed(f"run lesson {number}"):
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    kernel.execute(cell["source"])
        for words in toggles:
            self.note("one toggle", kernel.press(words))
        own_progress(kernel, learner.name, number)
        with self.lock:
            self.memory[number].append(proportional_mb(learner.name))
            self.cpu[number].append(cpu_seconds(learner.name))
        learner.close(session)

    def figures(self):
        return {"times": self.times, "memory_mb": self.memory, "cpu_seconds": self.cpu, "failures": self.failures}

    def table(self):
        """The report, in Markdown."""
        lines = ["| step | done | median s | worst s |", "|---|---|---|---|"]
        for step, times in self.times.items():
            figures = "{:.1f} | {:.1f}".format(*summary(times)) if times else "– | –"
            lines.append(f"| {step} | {len(times)} | {figures} |")
        for number, memory in self.memory.items():
            if memory:
                middle, most = summary(memory)
                cpu = summary(self.cpu[number])[0]
                lines.append(f"\nlesson {number}: {middle:.0f} MB a learner, at most {most:.0f}; {cpu:.0f} CPU seconds")
        lines.append(f"\n{len(self.failures)} failures")
        return "\n".join(lines + self.failures)


def titles():
    """The words on the toggle buttons that are pressed."""
    from helpers.faults import CATALOGUE

    return [CATALOGUE[id].title for id in ("pos_restart", "pos_plus1", "frozen_cache", "value_is_key")]


def own_progress(kernel, name, number):
    """Write to the learner's progress and read it again: it must hold what this learner wrote, and no one else."""
    kernel.execute(
        "from helpers import progress as _p\n"
        f"_before = _p.load()['measured'].get('hub', {{}})\n"
        f"assert set(_before.values()) <= {{{name!r}}}, _before\n"
        f"_p.measure('hub', **{{'lesson{number}': {name!r}}})\n"
    )


def processes(name):
    """A learner's server and kernels."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("JUPYTERHUB_USER") == name:
                found.append(process)
        except psutil.Error:
            continue
    return found


def proportional_mb(name):
    """Memory of a learner's processes, in MB; what they share with others is counted in shares (Linux)."""
    return sum(process.memory_full_info().pss for process in processes(name)) / 1e6


def cpu_seconds(name):
    return sum(sum(process.cpu_times()[:2]) for process in processes(name))


@contextmanager
def hub(state):
    """A hub in the folder `state`; gives its address, and stops it with all servers."""
    ports = [free_port() for _ in range(3)]
    url = f"http://127.0.0.1:{ports[0]}"
    environment = {"HUB_URL": url, "HUB_PORT": str(ports[1]), "HUB_PROXY": f"http://127.0.0.1:{ports[2]}"}
    environment |= {"HUB_STATE": str(state), "CONFIGPROXY_AUTH_TOKEN": os.urandom(32).hex()}
    command = [sys.executable, "-m", "jupyterhub", "--config", str(CONFIG)]
    with open(state / "hub.log", "w") as log:
        process = subprocess.Popen(command, env=os.environ | environment, cwd=state, stdout=log, stderr=log)
        try:
            try:
                wait_for(f"{url}/hub/health", process, state / "hub.log")
            except TimeoutError as error:
                raise SystemExit(f"the hub did not start: {error}") from None
            yield url
        finally:
            process.terminate()
            process.wait(60)


if __name__ == "__main__":
    sys.exit(main())
