"""Time limits under tracers and profilers, on each Python from 3.10 on that is here. A hang is a failure, not a hang."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import progress
from helpers.checks import limits

HERE = [*Path.home().glob(".pyenv/versions/3.1[0-9]*/bin/python"), Path(sys.executable)]
PYTHONS = sorted({str(path.resolve()) for path in HERE})
TRACERS = {
    "nothing": "",
    "a tracer": "sys.settrace(trace)",
    "a profile function": "sys.setprofile(lambda *a: None)",
    "cProfile": "cProfile.Profile().enable()",
    "a tracer in every thread": "threading.settrace(trace); sys.settrace(trace)",
}
CODE = """
import cProfile, importlib.util, sys, threading, time
spec = importlib.util.spec_from_file_location("limits", sys.argv[1])
limits = importlib.util.module_from_spec(spec)
spec.loader.exec_module(limits)
def trace(*_): return trace
def in_time(): sum(range(1000))
def endless():
    while True: pass
def endless_and_catches_it():
    try: endless()
    except BaseException: pass
def asleep(): time.sleep(60)
def waits():
    lock = threading.Lock()
    while True: lock.acquire()
def late(learners, seconds=0.05):
    with limits.interrupts_noted():
        return limited(learners, seconds)
def limited(learners, seconds):
    alarm = limits.Alarm(seconds)
    try:
        try: learners()
        finally: late = alarm.stop()
    except limits.TooLong: late = alarm.stop()
    for _ in range(100_000): pass  # what runs next: nothing may be left that hits it
    return late
{tracer}
found = [late(in_time, 20), *map(late, (endless, endless_and_catches_it, asleep, waits)), late(in_time, 20)]
sys.settrace(None); sys.setprofile(None)
print(found)
"""


def run(python, code, *arguments, **options):
    done = subprocess.run([python, "-c", code, *arguments], capture_output=True, text=True, timeout=30, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("tracer", TRACERS)
@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: Path(path).parents[1].name)
def test_the_time_limit_holds_and_ends_under(python, tracer):
    code = CODE.format(tracer=TRACERS[tracer])
    assert run(python, code, limits.__file__) == "[False, True, True, True, True, False]\n"


def test_a_right_answer_is_right_and_the_tracer_stays(tmp_path):
    code = """
import cProfile, sys, threading
from helpers.checks import check
def trace(*_): return trace
def rows_expected(prompt, emitted, window=None):
    rows = prompt + max(emitted - 1, 0)
    return rows if window is None else min(rows, window)
for tracer in sys.argv[1:]:
    exec(tracer)
    before = sys.gettrace(), sys.getprofile()
    result = check("rows_expected", globals())
    same = (sys.gettrace(), sys.getprofile()) == before
    sys.settrace(None); sys.setprofile(None)
    print(repr(result), same)
"""
    told = run(sys.executable, code, *TRACERS.values(), env=os.environ | {progress.VARIABLE: str(tmp_path)})
    assert told == "3 True\n" * len(TRACERS)


def test_a_profiler_that_the_answer_switched_off_is_on_again(tmp_path):
    code = """
import cProfile, sys
from helpers.checks import check
def rows_expected(prompt, emitted, window=None):
    sys.setprofile(None)
    sys.settrace(None)
profile = cProfile.Profile()
profile.enable()
check("rows_expected", globals())
def afterwards(): pass
afterwards()
profile.disable()
print(any(entry.code is afterwards.__code__ for entry in profile.getstats()))
"""
    assert run(sys.executable, code, env=os.environ | {progress.VARIABLE: str(tmp_path)}) == "True\n"
