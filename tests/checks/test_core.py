"""The core of the self-checks under sabotage: each answer becomes a message, and nothing it does outlives the check."""

import builtins
import queue
import sys
import time

import pytest
import torch

from helpers import progress
from helpers.checks import ask, check, core, guard, hint, registry
from helpers.checks.compare import compare, parts, within
from helpers.checks.registry import Exercise, Question, Wrong

from .graders import graded, names

DOUBLE = "import torch, sys\ndef double(x):\n"  # + an indented body


@pytest.fixture(autouse=True)
def course(monkeypatch, tmp_path):
    """A registry with one exercise of three checks, whose second one compares tensors, and two questions."""
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path / "progress"))
    monkeypatch.setattr(registry, "EXERCISES", {})
    monkeypatch.setattr(core, "shown", {})
    hints = ("Look at the sum.", "x twice.", "The plus sign.")
    double = Exercise("double", "99", "double(x)", 5, "easy", hints, seconds=0.3)

    @double.check("returns something")
    def _(answer):
        answer(torch.zeros(2, 3))

    @double.check("doubles", points=2)
    def _(answer):
        x = torch.arange(6.0).reshape(2, 3)
        return within(compare(answer(x), 2 * x, 1e-6, "B T", "y"), 1e-6)

    @double.check("doubles a vector")
    def _(answer):
        compare(answer(torch.ones(3)), torch.full((3,), 2.0), 1e-6, "T")

    Question(
        "letter",
        "99",
        text="Which?",
        options={"a": "this", "b": "that"},
        right="b",
        reasons={"a": "No: that.", "b": "Yes."},
    )
    Question("number", "99", text="How many?", right=12)


def text(body, exercise="double"):
    return str(graded(exercise, DOUBLE + body))


def test_full_points_are_the_repr_and_the_words_are_elsewhere():
    result = graded("double", DOUBLE + "    return x + x")
    assert (float(result), repr(result)) == (4.0, "4") and isinstance(result, float)
    assert str(result) == (
        "double: 4 of 4 points\n  pass  returns something\n"
        "  pass  doubles: largest difference ≈ 0, tolerance 1e-06\n  pass  doubles a vector"
    )
    assert "<b>double: 4 of 4 points</b>" in result._repr_html_() and "pass" in result._repr_html_()


def test_a_failed_check_says_what_where_and_what_next():
    result = graded("double", DOUBLE + "    return x * x")
    assert (float(result), result.attempted) == (1.0, True)
    assert str(result) == (
        "double: 1 of 4 points\n  pass  returns something\n  FAIL  doubles\n"
        "        What was seen: 4 of 6 numbers of y differ by more than 1e-06 (at most 15); the first at B=0, T=1: "
        "got 1, expected 2.\n  --    doubles a vector: not compared\n"
        '  hint 1 of 3: hint("double")'
    )


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("", "there is no double yet"),
        ("double = None", "not attempted, 0 of 4"),
        ('def double(x):\n    raise NotImplementedError("your code here")', "not attempted, 0 of 4"),
        ("def double(x):\n    raise NotImplementedError", "not attempted, 0 of 4"),
        (
            "def half(x):\n    raise NotImplementedError\ndef double(x):\n    return half(x)",
            "half, which it uses, is not written",
        ),
    ],
)
def test_unwritten_is_not_attempted(code, why):
    result = graded("double", code)
    assert (repr(result), result.attempted, result.rows) == ("0", False, ())
    assert why in str(result) and "double: not attempted" in str(result)
    assert progress.load()["solved"] == {}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("    return None", "y is None (is a `return` missing?)"),
        ("    yield x", "y is a generator (the function contains `yield`)"),
        ("    return x, x", "y is a tuple; expected a tensor of shape [B, T] = [2, 3]"),
        ("    return (2 * x).T", "y has shape [3, 2]; expected of shape [B, T] = [2, 3]"),
        ("    return x.sum()", "y has shape []"),
        ("    return x[:0]", "y has shape [0, 3]"),
        ("    return 2 * x.double()", "y is torch.float64; expected torch.float32"),
        ("    return x / 0 * 0", "6 of 6 numbers of y are not finite; the first at B=0, T=0: nan"),
        ("    return y", "NameError, in double, line 3 `return y`: name 'y' is not defined"),
        ("    raise Exception", "Exception, in double, line 3 `raise Exception`: no message"),
        ("    raise NotImplementedError('for Half')", "NotImplementedError, in double"),
        ("    return torch.ones(2) @ torch.ones(3)", "RuntimeError, in double, line 3"),
        ("    while True: pass", "still running after 0.3 seconds, in double, line 3"),
        ("    try:\n        while True: pass\n    except Exception: pass", "still running after 0.3 seconds"),
        (
            "    for _ in range(2):\n        try:\n            while True: pass\n        except BaseException: pass",
            "still running after 0.3 seconds",
        ),
        ("    exit()", "asked the kernel to end, in double, line 3 `exit()`"),
        ("    quit()", "asked the kernel to end"),
        ("    sys.exit(1)", "asked the kernel to end"),
        ("    import builtins; builtins.exit()", "asked the kernel to end"),
        ("    raise GeneratorExit", "GeneratorExit, in double"),
        ("    return double(x)", "RecursionError, in double"),
    ],
)
def test_sabotage_is_a_message(body, message):
    assert message in text(body)


@pytest.mark.skipif(sys.platform != "linux", reason="an address space limit works on Linux only")
@pytest.mark.parametrize("request_", ["torch.zeros(2_500_000_000)", "bytearray(10**10)", "[0] * 10**10"])
def test_ten_gigabytes_are_refused(request_):
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    assert "asked for more memory than a check allows, in double, line 3" in text(f"    return {request_}")
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_a_wrong_signature_names_the_call():
    result = str(graded("double", "def double(): return 1"))
    assert "TypeError, outside the notebook's code" in result and "the check calls double(x)" in result


def test_what_cannot_be_called():
    assert "double is an int, not something that can be called as double(x)" in str(graded("double", "double = 3"))


def test_output_is_caught_cut_and_counted(capsys):
    result = graded("double", DOUBLE + "    print('z' * 1_000_000)\n    return 2 * x")
    assert float(result) == 4 and "the code printed 1,000,001 characters, beginning: 'zzz" in str(result)
    assert len(str(result)) < 1500 and capsys.readouterr() == ("", "")


def test_stderr_is_caught(capsys):
    result = graded("double", DOUBLE + "    print('oops', file=sys.stderr)\n    return 2 * x")
    assert float(result) == 4 and capsys.readouterr() == ("", "") and "oops" in str(result)


def test_state_is_put_back():
    torch.manual_seed(7)
    expected, real = torch.rand(1), torch.softmax
    torch.manual_seed(7)
    body = (
        "    torch.manual_seed(0); torch.set_default_dtype(torch.float64); torch.set_grad_enabled(False)\n"
        "    torch.softmax = None; torch.Tensor.softmax = None; return 2 * x"
    )
    assert float(graded("double", DOUBLE + body)) == 4
    assert torch.rand(1) == expected and torch.get_default_dtype() is torch.float32 and torch.is_grad_enabled()
    assert torch.softmax is real and torch.ones(2).softmax(0)[0] == 0.5


def test_a_torch_that_was_replaced_before_is_put_back_and_said():
    real = torch.equal
    result = graded("double", "import torch\ntorch.equal = lambda a, b: True\ndef double(x): return 2 * x")
    assert float(result) == 4 and "torch.equal had been replaced" in str(result) and torch.equal is real


def test_exits_are_put_back():
    space = names("exit = 'mine'\ndef double(x): exit()")
    real = builtins.exit
    assert "asked the kernel to end" in str(check("double", space))
    assert space["exit"] == "mine" and "quit" not in space and builtins.exit is real


def test_no_late_time_limit():
    """A check that ends in time leaves no exception behind that would hit what runs next."""
    graded("double", DOUBLE + "    return 2 * x")
    end = time.monotonic() + 0.6
    while time.monotonic() < end:
        pass


def test_an_answer_that_writes_into_its_input_cannot_spoil_the_next_check():
    assert float(graded("double", DOUBLE + "    return x.mul_(2)")) == 4  # whether it may is a check of its own


def test_results_that_need_gradients_are_compared():
    assert float(graded("double", DOUBLE + "    return 2 * x * torch.ones(1, requires_grad=True)")) == 4


def test_a_fault_in_a_check_is_not_blamed_silently():
    @registry.EXERCISES["double"].check("broken")
    def _(answer):
        raise KeyError("mine")

    result = str(graded("double", DOUBLE + "    return 2 * x"))
    assert "KeyError, outside the notebook's code" in result and "double: 4 of 5 points" in result


@pytest.mark.parametrize(
    ("code", "points", "message"),
    [
        ("letter = 'b'", 1, "the answer: 'b'. Yes."),
        ("letter = ' B'", 1, "the answer: 'b'"),
        ("letter = 'a'", 0, "What was seen: the answer 'a'. No: that.."),
        ("letter = 'z'", 0, "letter is 'z'; it should be one of 'a', 'b'"),
        ("letter = ['b']", 0, "it should be one of"),
        ("letter = None", 0, "letter: not attempted"),
    ],
)
def test_choices(code, points, message):
    result = graded("letter", code)
    assert float(result) == points and message.rstrip(".") in str(result)


@pytest.mark.parametrize(
    ("code", "points", "message"),
    [
        ("number = 12", 1, "the answer: 12"),
        ("number = 12.0", 1, "pass"),
        ("number = 13", 0, "the answer 13"),
        ("number = True", 0, "it should be a number"),
        ("number = '12'", 1, "the answer: 12"),
        ("number = 'twelve'", 0, "number is 'twelve'; it should be a number"),
    ],
)
def test_numbers(code, points, message):
    result = graded("number", code)
    assert float(result) == points and message in str(result)


def test_hints_come_one_at_a_time_and_the_last_one_stays():
    assert [hint("double")[:11] for _ in range(4)] == ["hint 1 of 3", "hint 2 of 3", "hint 3 of 3", "hint 3 of 3"]
    assert 'hint 3 of 3: hint("double")' in text("    return x")


def test_questions_are_shown_with_their_options():
    assert ask("letter") == "Which?\n  a) this\n  b) that"
    assert "something to write" in ask("double")


def test_unknown_names_are_answered_in_words():
    result = check("duoble", {})
    assert repr(result) == "0" and "there is no exercise 'duoble'; did you mean 'double'?" in str(result)
    assert "did you mean" in hint("duoble") and "did you mean" in ask("duoble")


def test_html_escapes_what_the_learner_wrote():
    html = graded("double", DOUBLE + "    raise ValueError('<script>')")._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html and "FAIL" in html


def test_progress_keeps_the_best_result():
    text("    return 2 * x")
    text("    return x")
    assert progress.load()["solved"]["double"] == {"points": 4.0, "of": 4}


def test_progress_that_cannot_be_kept_is_said(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path / "file"))
    result = graded("double", DOUBLE + "    return 2 * x")
    assert float(result) == 4 and "progress was not kept" in str(result) and str(tmp_path) not in str(result)


def test_a_check_that_fails_itself_says_so(monkeypatch):
    monkeypatch.setattr(core, "run_checks", lambda *_: 1 / 0)
    assert "the check itself failed with ZeroDivisionError" in text("    return x")


def test_names_are_unique():
    with pytest.raises(ValueError, match="two exercises named 'double'"):
        Exercise("double", "98", "", 1, "easy", ())


@pytest.mark.parametrize("value", [torch.ones(2), (1, 2, 3), None, {"k": 1, "v": 2}])
def test_parts_takes_only_a_tuple_or_list_of_the_right_length(value):
    with pytest.raises(Wrong, match="expected 2 things"):
        parts(value, ["K", "V"])


def test_the_watched_torch_functions_are_torchs_own():
    assert guard.put_torch_back() == []


def test_kernel_lives_on_after_exit(tmp_path):
    """In a real kernel exit() raises nothing and ends it a moment later; so this one waits two seconds."""
    import os

    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", env=os.environ | {progress.VARIABLE: str(tmp_path)})
    try:
        code = "from helpers.checks import check\ndef rows_expected(*a, **k): exit()\nprint(check('rows_expected'))"
        assert "asked the kernel to end" in output(client, code)
        warns = "import warnings\ndef rows_expected(*a): warnings.warn('careful')\nresult = check('rows_expected')"
        assert output(client, warns) == "" and "careful" in output(
            client, "print(result)"
        )  # pytest itself hides warnings
        time.sleep(2)
        assert manager.is_alive() and output(client, "print(exit)") == output(client, "print(quit)") != ""
        assert output(client, "print(40 + 2)") == "42\n"
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def output(client, code):
    """stdout of `code`; an error's name and text where it raised."""
    client.execute(code)
    text = ""
    while True:
        try:
            message = client.get_iopub_msg(timeout=60)
        except queue.Empty:
            return text + " (the kernel is silent)"
        content = message["content"]
        text += content.get("text", "") if message["msg_type"] == "stream" else ""
        text += f"{content['ename']}: {content['evalue']}" if message["msg_type"] == "error" else ""
        if content.get("execution_state") == "idle":
            return text
