"""Answers that lie, loop, interrupt or ask: a row for each kind. None gets points, and each is told in words."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch

from helpers import progress
from helpers.checks import ask, check, core, hint, registry
from helpers.checks.choices import Choices, entry
from helpers.checks.compare import compare
from helpers.checks.registry import Exercise, Question

from .graders import graded, names

DOUBLE = "import os, signal, sys, torch, numpy\ndef double(x):\n"  # + an indented body


@pytest.fixture(autouse=True)
def course(monkeypatch, tmp_path):
    """A registry with an exercise that returns a tensor, and a question of each kind."""
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path / "progress"))
    monkeypatch.setattr(registry, "EXERCISES", {})
    monkeypatch.setattr(core, "shown", {})
    double = Exercise("double", "99", "double(x)", 5, "easy", ("Twice.",), seconds=0.3)

    @double.check("doubles")
    def _(answer):
        x = torch.arange(6.0).reshape(2, 3)
        compare(answer(x), 2 * x, 1e-6, "B T", "y")

    Question(
        "which", "99", text="Which?", options={"a": "this", "b": "that"}, right="b", reasons={"a": "No.", "b": "Yes."}
    )
    Question("many", "99", text="How many?", right=5, reasons={5: "A hand.", 4: "No thumb."})


def text(body):
    return str(graded("double", DOUBLE + body))


# Words.


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    raise KeyboardInterrupt", "KeyboardInterrupt, in double, line 3"),
        ("    raise KeyboardInterrupt('stop')", "KeyboardInterrupt, in double, line 3"),
        ("    input('how many? ')", "the code waits for the keyboard, in double, line 3"),
        ("    sys.stdin.readline()", "the code waits for the keyboard, in double, line 3"),
        ("    import getpass; getpass.getpass()", "the code waits for the keyboard, in double, line 3"),
        ("    breakpoint()", "the code waits for the keyboard, in double, line 3"),
        ("    class E(Exception):\n        def __str__(self):\n            while True: pass\n    raise E", "its __str__ fails"),
        ("    class E(Exception):\n        def __str__(self): return 1 / 0\n    raise E", "its __str__ fails"),
        ("    class E(Exception):\n        def __str__(self): raise KeyboardInterrupt\n    raise E", "its __str__ fails"),
        ("    class E(Exception):\n        def __str__(self): return 'z' * 10**6\n    raise E", "E, in double, line 5"),
        ("    class E(NotImplementedError):\n        def __str__(self): sys.exit()\n    raise E", "its __str__ fails"),
        ("    raise type('', (Exception,), {})", "in double, line 3"),
        ("    class E(Exception):\n        @property\n        def __class__(self):\n            while True: pass\n    raise E", "E, in double"),
        ("    from helpers.checks.registry import Wrong; raise Wrong(3, [])", "What was seen: 3."),
        ("    import time; time.sleep(60)", "still running after 0.3 seconds, in double, line 3"),
        ("    import threading; threading.Barrier(2).wait()", "still running after 0.3 seconds, in double, line 3"),
        ("    class Y:\n        def __repr__(self):\n            while True: pass\n    return Y()", "y is a Y; expected a tensor"),
        ("    return type('', (), {})()", "y is a thing without a name; expected"),
        ("    raise ValueError('\\ud800')", "ValueError, in double, line 3"),
        ("    print('\\ud800'); return x", "differ by more than"),
        ("    os.close(0) if False else None; sys.stdout.close(); return x", "differ by more than"),
        ("    return x.to_sparse()", "torch.sparse_coo"),
        ("    return x.expand(2, 3).requires_grad_() * 2j", "y is torch.complex64"),
    ],
)  # fmt: skip
def test_it_is_told_in_words(body, message, capsys):
    started = time.monotonic()
    told = graded("double", DOUBLE + body)
    assert message in str(told) and "check itself failed" not in str(told), str(told)
    assert time.monotonic() - started < 4 and len(str(told)) < 1500 and capsys.readouterr() == ("", "")
    (str(told) + told._repr_html_()).encode()  # a notebook can be saved with it


@pytest.mark.parametrize(
    "code",
    [
        "class A:\n    def __repr__(self):\n        while True: pass\nANSWER = A()",
        "class A:\n    def __eq__(self, other):\n        while True: pass\nANSWER = A()",
        "class A:\n    @property\n    def __class__(self):\n        while True: pass\nANSWER = A()",
        "class A:\n    def __getattribute__(self, name): raise KeyboardInterrupt\nANSWER = A()",
        "class A(type):\n    def __instancecheck__(self, other): exit()\n    def __call__(self): exit()\nclass B(metaclass=A): pass\nANSWER = B",
        "ANSWER = []\nANSWER.append(ANSWER)",
        "ANSWER = {}\nANSWER[1] = ANSWER",
        "class A(str):\n    def strip(self): exit()\n    def __len__(self): exit()\nANSWER = A('q')",
        "ANSWER = torch.ones(3, device='meta')",
        "ANSWER = torch.ones(1, device='meta')",
        "ANSWER = '\\ud800'",
        "ANSWER = 'z' * 10**6",
        "ANSWER = (x for x in range(3))",
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["double", "which", "many", "choices"])
def test_an_answer_that_is_a_trap_in_itself(name, code):
    Choices("choices", "99", "{1: number}", 5, "easy", (), [], 0.3, keys=(1,)).check("one")(lambda a: entry(a, 1) + 1)
    registry.EXERCISES["which"].seconds = registry.EXERCISES["many"].seconds = 0.3
    started = time.monotonic()
    told = check(name, names(f"import torch\n{code.replace('ANSWER', name)}"))
    assert float(told) == 0 and "check itself failed" not in str(told), str(told)
    assert time.monotonic() - started < 4 and len(str(told)) < 1500
    (str(told) + told._repr_html_()).encode()


def test_questions_are_refused_in_a_kernel_too(monkeypatch):
    """There input() and getpass() are functions of the kernel's, which wait for the front end."""
    monkeypatch.setattr("builtins.input", lambda *_: "12")
    monkeypatch.setattr("getpass.getpass", lambda *_: "12")
    for question in ("input()", "__import__('getpass').getpass()"):
        assert "the code waits for the keyboard" in text(f"    return x * int({question})")


def test_output_that_lies_about_its_length():
    lie = "    class S(str):\n        def __len__(self): return 10**9\n        def __str__(self): return self\n"
    assert "the code printed 4 characters, beginning: 'zzz'" in text(lie + "    print(S('zzz')); return 2 * x")


def test_the_notebooks_own_input_stays_a_tensor():
    assert float(graded("double", DOUBLE.replace("def", "input = 2\ndef") + "    return input * x")) == 1


@pytest.mark.parametrize("name", [[], {}, None, 3, 2.5, b"double", object(), print, torch.ones(2), ("double",)])
def test_what_is_no_name(name):
    told = check(name, {})
    assert repr(told) == "0" and "an exercise is named in quotes" in str(told)
    assert "an exercise is named in quotes" in hint(name) and "an exercise is named in quotes" in ask(name)


def test_a_name_without_its_quotes():
    assert 'named in quotes, as in "double"; this is a function' in str(check(names(DOUBLE + "    pass")["double"], {}))


def test_names_that_are_no_dict():
    assert "the check itself failed" in str(check("double", [1]))


def test_an_exercise_without_hints():
    Exercise("bare", "99", "bare()", 5, "easy", ())
    assert hint("bare") == "bare has no hints"


# The user's own Ctrl+C, and copies of the kernel.


@pytest.mark.parametrize(
    "body", ["while True: pass", "try:\n        while True: pass\n    except BaseException: return 2 * x"]
)
def test_the_users_own_interrupt_comes_through(body):
    threading.Timer(0.1, signal.raise_signal, [signal.SIGINT]).start()
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        graded("double", DOUBLE + "    " + body)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_check_in_another_thread():
    found = []
    for body in ("return 2 * x", "raise KeyboardInterrupt"):
        thread = threading.Thread(target=lambda body=body: found.append(graded("double", f"{DOUBLE}    {body}")))
        thread.start()
        thread.join()
    assert list(map(float, found)) == [1, 0] and "KeyboardInterrupt, in double" in str(found[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only there")
def test_a_copy_of_the_kernel_ends_with_the_check(tmp_path):
    code = """
from helpers.checks import check
import os
def rows_expected(*a): os.fork(); return 3
print(repr(check("rows_expected", globals())))
"""
    kept = os.environ | {progress.VARIABLE: str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=kept)
    assert done.stdout == "0\n", done
