"""Limits on a learner's code: time, memory, what it prints, and the calls that would end the kernel or wait for somebody.

The standard library alone, so that the limits can be tested on a Python that has no torch.
"""

import _thread
import builtins
import contextlib
import ctypes
import getpass
import io
import signal
import sys
import threading

ALLOWANCE = 4 * 2**30  # bytes that a check may ask for on top of what the kernel already has
WAKE = getattr(signal, "SIGURG", None) if hasattr(signal, "pthread_kill") else None  # ignored where nobody handles it
KEEP = 300  # characters of a learner's output that are repeated in a result


class TooLong(BaseException):
    """Raised inside code that ran past its time; no `except Exception` can swallow it."""


class Exit(BaseException):
    """Raised where the code called exit() or quit(), which would end the kernel a moment later."""


class Asked(BaseException):
    """Raised where the code waits for the keyboard, as input() does: in a check nobody is there to answer."""


class Bounded(io.TextIOBase):
    """A stream that counts all that is written and keeps only the beginning."""

    def __init__(self):
        self.text, self.written = "", 0

    def writable(self):
        return True

    def write(self, text):
        text = str.__str__(text)  # of a string that was made to lie: what it really holds
        self.text += text[: KEEP - len(self.text)] if len(self.text) < KEEP else ""
        self.written += len(text)
        return len(text)


class Nobody(io.TextIOBase):
    """A standard input that nobody writes to."""

    def readable(self):
        return True

    def readline(self, *_):
        raise Asked

    read = readline


@contextlib.contextmanager
def streams(output):
    """stderr too: a grade cell that wrote to it gets no points from nbgrader, and one warning is enough."""
    kept, sys.stdin = sys.stdin, Nobody()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            yield
    finally:
        sys.stdin = kept


class Alarm:
    """Raises TooLong in the thread that made it after `seconds`, and each second after that, until `stop`.

    Its own thread is none of `threading`: a tracer of all threads would trace it, and Python 3.11 holds traced threads
    up at their next call while an exception is on its way to another one.
    """

    def __init__(self, seconds):
        self.thread, self.seconds = threading.get_ident(), seconds
        self.waked = WAKE and self.thread == threading.main_thread().ident
        self.lock, self.running = threading.Lock(), threading.Lock()
        self.ended = self.late = False
        self.running.acquire()
        _thread.start_new_thread(self.watch, ())

    def watch(self):
        wait = self.seconds
        while not self.running.acquire(timeout=wait):
            with self.lock:
                if self.ended:
                    return
                self.late = True
                self.throw()
            wait = 1.0

    def throw(self):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.thread), ctypes.py_object(TooLong))
        if self.waked:  # a thread that sleeps or waits looks at exceptions when it is woken
            signal.pthread_kill(self.thread, WAKE)

    def stop(self):
        """Whether the time was over. May itself raise a TooLong that was on its way: call it once more then."""
        with self.lock:
            self.ended = True
        if self.running.locked():
            self.running.release()
        for _ in range(3):  # an exception on its way comes up at such a jump; Python 3.11 hangs where it is cleared
            pass
        return self.late


@contextlib.contextmanager
def interrupts_noted():
    """Yields a list that gets an entry when the user presses Ctrl+C; without one, a KeyboardInterrupt is the code's own.

    Meanwhile an `Alarm` can wake this thread.
    """
    pressed, before = [], signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield pressed
        return

    def note(number, frame):
        pressed.append(number)
        return before(number, frame)

    asleep = signal.signal(WAKE, wake) if WAKE else None
    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
        if callable(asleep) or isinstance(asleep, signal.Handlers):
            signal.signal(WAKE, asleep)


def wake(*_):
    """Runs in a thread that was woken; the exception that was thrown there comes up in it."""


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


def exits_replaced(namespace):
    """exit() and quit() raise; in a kernel the real ones raise nothing and end it a moment later."""
    return replaced([(scope, name) for scope in (namespace, vars(builtins)) for name in ("exit", "quit")], Exit)


def questions_refused():
    """input(), getpass() and breakpoint() raise at once; they would wait for an answer that a check cannot get.

    The notebook's own names stay: `input` may well be a tensor there.
    """
    places = [(vars(builtins), "input"), (vars(getpass), "getpass"), (vars(sys), "breakpointhook")]
    return replaced(places, Asked)


@contextlib.contextmanager
def replaced(places, exception):
    """Each of `places`, pairs of a dict and a name in it, holds a function that raises `exception`."""

    def refuse(*_, **__):
        raise exception

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
