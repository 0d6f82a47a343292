"""Runs a learner's code so that nothing it does ends the kernel, floods the page or changes what runs after it.

What holds where: a Python loop is stopped on every system, a single long call inside C code on none. A huge memory
request is refused on Linux only. `os._exit` and a crash inside C code end the kernel on every system.
"""

import builtins
import contextlib
import ctypes
import io
import random
import sys
import threading
from dataclasses import dataclass

import torch

ALLOWANCE = 4 * 2**30  # bytes that a check may ask for on top of what the kernel already has
KEEP = 300  # characters of a learner's output that are repeated in a result

# Not manual_seed: torch replaces it itself when its compiler is loaded.
WATCHED = [
    (
        torch,
        "cat stack matmul softmax tril triu arange zeros ones full equal allclose isfinite argmax where einsum bmm",
    ),
    (torch, "multinomial rand randn"),
    (torch.Tensor, "softmax matmul masked_fill transpose view reshape tril triu argmax max sum abs __matmul__ __eq__"),
    (torch.nn.functional, "softmax linear scaled_dot_product_attention layer_norm gelu embedding pad"),
]
ORIGINALS = [(owner, name, getattr(owner, name)) for owner, names in WATCHED for name in names.split()]


class TooLong(BaseException):
    """Raised inside code that ran past its time; no `except Exception` can swallow it."""


class Exit(BaseException):
    """Raised where the code called exit() or quit(), which would end the kernel a moment later."""


@dataclass
class Outcome:
    """`value` returned or `error` raised, and what was written to stdout and stderr meanwhile."""

    value: object = None
    error: BaseException | None = None
    printed: str = ""
    written: int = 0


def run(function, argument, namespace, seconds):
    """Call `function(argument)` within limits. Only the user's own KeyboardInterrupt comes out as an exception."""
    outcome, output = Outcome(), Bounded()
    with state_kept(), exits_replaced(namespace), output_to(output), memory_limited():
        stop = limit_time(seconds)
        try:
            try:
                outcome.value = function(argument)
            finally:
                late = stop()
            if late:  # the code swallowed it and came to an end after all
                raise TooLong
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 (a learner's code may raise anything)
            stop()  # once more: TooLong may have come while the first call was on its way
            outcome.error = error
    outcome.printed, outcome.written = output.text, output.written
    return outcome


class Bounded(io.TextIOBase):
    """A stream that counts all that is written and keeps only the beginning."""

    def __init__(self):
        self.text, self.written = "", 0

    def writable(self):
        return True

    def write(self, text):
        self.text += text[: KEEP - len(self.text)] if len(self.text) < KEEP else ""
        self.written += len(text)
        return len(text)


@contextlib.contextmanager
def output_to(stream):
    """stderr too: a grade cell that wrote to it gets no points from nbgrader, and one warning is enough."""
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        yield


def limit_time(seconds):
    """Raise TooLong in this thread after `seconds`, and each second after that, until the returned function is called.

    That function says whether the time was over.
    """
    thread, lock, ended, late = threading.get_ident(), threading.Lock(), threading.Event(), threading.Event()

    def watch():
        wait = seconds
        while not ended.wait(wait):
            with lock:
                if not ended.is_set():
                    late.set()
                    throw(thread, TooLong)
            wait = 1.0

    def stop():
        with lock:
            ended.set()
            throw(thread, None)  # takes back one that was not delivered yet
        return late.is_set()

    threading.Thread(target=watch, daemon=True).start()
    return stop


def throw(thread, exception):
    argument = None if exception is None else ctypes.py_object(exception)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), argument)


@contextlib.contextmanager
def memory_limited():
    """On Linux, an address space limit above today's size: a request for 10 GB is then an error, not a dead kernel."""
    if sys.platform != "linux":
        yield
        return
    import resource

    with open("/proc/self/statm") as statm:
        size = int(statm.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = size + ALLOWANCE if soft == resource.RLIM_INFINITY else min(soft, size + ALLOWANCE)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextlib.contextmanager
def exits_replaced(namespace):
    """exit() and quit() raise; in a kernel the real ones raise nothing and end it a moment later."""

    def refuse(*_):
        raise Exit

    places = [(scope, name) for scope in (namespace, vars(builtins)) for name in ("exit", "quit")]
    kept = [(scope, name, scope[name]) for scope, name in places if name in scope]
    for scope, name in places:
        scope[name] = refuse
    try:
        yield
    finally:
        for scope, name in places:
            if scope.get(name) is refuse:
                del scope[name]
        for scope, name, value in kept:
            scope[name] = value


@contextlib.contextmanager
def state_kept():
    """Random numbers, default dtype, gradient mode and threads go back to what they were; meanwhile one thread is fastest."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    numbers, dtype, grad, plain = (
        torch.get_rng_state(),
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        random.getstate(),
    )
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_rng_state(numbers)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)
        random.setstate(plain)
        put_back()


def put_back():
    """Names of torch functions that had been replaced by something else; they are the original ones again."""
    changed = [(owner, name, real) for owner, name, real in ORIGINALS if getattr(owner, name) is not real]
    for owner, name, real in changed:
        setattr(owner, name, real)
    return [f"{owner.__name__}.{name}" for owner, name, _ in changed]
