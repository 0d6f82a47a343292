"""Python's own settings that a learner's code can change, and numpy's where it is loaded: how each is read and set."""

import decimal
import gc
import locale
import logging
import os
import signal
import sys
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass

AS_IT_IS = object()
ENVIRONMENT, MODULES = os.environ, sys.modules  # the objects themselves: their names may be given to others
STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
TIMERS = [getattr(signal, name) for name in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF") if hasattr(signal, name)]
LIMITS = ("RLIMIT_NOFILE", "RLIMIT_FSIZE", "RLIMIT_DATA", "RLIMIT_STACK", "RLIMIT_CPU", "RLIMIT_NPROC", "RLIMIT_CORE")


@dataclass(frozen=True)
class Setting:
    """`write(read())` changes nothing. `needed` is the value with which checks run, where they depend on it."""

    name: str
    read: object
    write: object
    needed: object = AS_IT_IS

    def now(self):
        """Its value, or `AS_IT_IS` where this system or version has no such thing."""
        try:
            return self.read()
        except Exception:  # noqa: BLE001 (a working directory may be gone, a function missing)
            return AS_IT_IS

    def restore(self, value):
        """Set it to `value` if it is not that already; it never raises."""
        if value is AS_IT_IS:
            return
        with suppress(Exception):  # tensors and arrays have no single answer to ==: they are written
            if self.now() == value:
                return
        with suppress(Exception):
            self.write(value)


class Same:
    """Values that are compared by identity: none of them is asked what it equals."""

    def __init__(self, *values):
        self.values = values

    def __eq__(self, other):
        return len(self.values) == len(other.values) and all(a is b for a, b in zip(self.values, other.values))


def write_environment(value):
    vars(os)["environ"] = ENVIRONMENT
    for name in ENVIRONMENT.keys() - value[1].keys():
        del ENVIRONMENT[name]
    for name, text in value[1].items():
        if ENVIRONMENT.get(name) != text:
            ENVIRONMENT[name] = text
    if hasattr(time, "tzset"):
        time.tzset()


def read_mask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_collector(value):
    (gc.enable if value[0] else gc.disable)()
    gc.set_threshold(*value[1])
    gc.set_debug(value[2])
    gc.callbacks[:] = value[3]


def write_profiler(value):
    """A profiler in C, as cProfile is before Python 3.12, is no function: it is switched on, not set."""
    function = value.values[0]
    if function is None or callable(function):
        sys.setprofile(function)
    else:
        function.enable()


def write_filters(value):
    warnings.filters[:] = value
    warnings.simplefilter("default", append=True)  # the one public way to say that the list has changed
    warnings.filters[:] = value


def read_signals():
    return {number: Same(signal.getsignal(number)) for number in signal.Signals}


def write_signals(value):
    """A handler that C set is read as None and cannot be put back."""
    for number, handler in value.items():
        if handler.values[0] is not None and handler != Same(signal.getsignal(number)):
            with suppress(OSError, ValueError):  # in another thread than the first none can be set
                signal.signal(number, handler.values[0])


def read_timers():
    return tuple(signal.getitimer(timer)[0] > 0 for timer in TIMERS)


def write_timers(value):
    """A timer that the code set would end the kernel later; one that ran before goes on."""
    for timer, running in zip(TIMERS, value):
        if not running:
            signal.setitimer(timer, 0)


def write_modules(value):
    """Modules that were taken out or exchanged; those imported meanwhile stay."""
    sys.modules = MODULES
    for name, module in value.items():
        if MODULES.get(name) is not module:
            MODULES[name] = module


def write_path(value):
    sys.path, value[0][:] = value


def read_limits():
    import resource

    return {name: resource.getrlimit(getattr(resource, name))[0] for name in LIMITS if hasattr(resource, name)}


def write_limits(value):
    import resource

    for name, soft in value.items():
        hard = resource.getrlimit(getattr(resource, name))[1]
        resource.setrlimit(getattr(resource, name), (soft, hard))


def read_logging():
    root = logging.getLogger()
    return root.manager.disable, root.level, Same(*root.handlers)


def write_logging(value):
    root = logging.getLogger()
    root.manager.disable, root.level = value[:2]
    root.handlers[:] = value[2].values


def read_numpy():
    numpy = sys.modules.get("numpy")
    return (numpy.get_printoptions(), numpy.geterr()) if hasattr(numpy, "geterr") else None


def write_numpy(value):
    import numpy

    if value is None:
        return
    numpy.set_printoptions(**{name: kept for name, kept in value[0].items() if name != "override_repr"})
    numpy.seterr(**value[1])


SETTINGS = [  # in the order in which they are put back
    Setting("trace function", lambda: Same(sys.gettrace()), lambda value: sys.settrace(*value.values)),
    Setting("profile function", lambda: Same(sys.getprofile()), write_profiler),
    Setting("threads' trace function", lambda: Same(threading.gettrace()), lambda value: threading.settrace(*value.values)),
    Setting("threads' profile function", lambda: Same(threading.getprofile()),
            lambda value: threading.setprofile(*value.values)),
    Setting("standard streams", lambda: Same(*(getattr(sys, name) for name in STREAMS)),
            lambda value: [setattr(sys, *pair) for pair in zip(STREAMS, value.values)]),
    Setting("recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    Setting("loaded modules", lambda: (sys.modules is MODULES, dict(MODULES)), lambda value: write_modules(value[1])),
    Setting("module path", lambda: (sys.path, list(sys.path)), write_path),
    Setting("garbage collector", lambda: (gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.callbacks[:]), write_collector),
    Setting("thread switches", sys.getswitchinterval, sys.setswitchinterval),
    Setting("digits of a number", lambda: sys.get_int_max_str_digits(), lambda digits: sys.set_int_max_str_digits(digits)),
    Setting("environment", lambda: (os.environ is ENVIRONMENT, dict(ENVIRONMENT)), write_environment),
    Setting("working directory", os.getcwd, os.chdir),
    Setting("file mode mask", read_mask, os.umask),
    Setting("process limits", read_limits, write_limits),
    Setting("signal handlers", read_signals, write_signals),
    Setting("timers", read_timers, write_timers),
    Setting("warnings filters", lambda: list(warnings.filters), write_filters),
    Setting("logging", read_logging, write_logging),
    Setting("decimal context", lambda: decimal.getcontext().copy(), decimal.setcontext),
    Setting("locale", lambda: locale.setlocale(locale.LC_ALL), lambda value: locale.setlocale(locale.LC_ALL, value)),
    Setting("numpy print options, errors", read_numpy, write_numpy),
]  # fmt: skip
