"""After an answer the kernel is as it was: a row for each thing that is kept, and no thing without a row."""

import builtins
import subprocess
import sys

import pytest
import torch

from helpers import progress
from helpers.checks import EXERCISES, check, core, python_state, registry, restore
from helpers.checks.compare import compare
from helpers.checks.registry import Exercise

from .graders import names
from .lesson01.test_lesson01 import RIGHT

COURSE = EXERCISES
AFTERWARDS = (  # setting, code that changes it
    (
        "dispatch modes",
        "from torch.utils.flop_counter import FlopCounterMode; FlopCounterMode(display=False).__enter__()",
    ),
    ("dispatch modes", "from torch._subclasses import FakeTensorMode; FakeTensorMode().__enter__()"),
    ("default device, function modes", "torch.set_default_device('meta')"),
    ("default device, function modes", "torch.device('meta').__enter__()"),
    ("default device, function modes", "torch.overrides.BaseTorchFunctionMode().__enter__()"),
    ("default dtype", "torch.set_default_dtype(torch.float64)"),
    ("inference mode", "mode = torch.inference_mode(); mode.__enter__()"),
    ("grad mode", "torch.set_grad_enabled(False)"),
    ("autocast", "torch.autocast('cpu').__enter__()"),
    ("autocast", "torch.set_autocast_dtype('cpu', torch.float16)"),
    ("autocast", "torch.set_autocast_cache_enabled(False)"),
    ("deterministic algorithms", "torch.use_deterministic_algorithms(True)"),
    ("deterministic algorithms", "torch.utils.deterministic.fill_uninitialized_memory = False"),
    ("matmul precision", "torch.set_float32_matmul_precision('medium')"),
    ("precision flags", "torch.backends.mkldnn.enabled = False"),
    ("precision flags", "torch.backends.cudnn.benchmark = True"),
    ("precision flags", "torch.backends.cuda.matmul.allow_tf32 = True"),
    ("attention kernels", "torch.backends.cuda.enable_math_sdp(False)"),
    ("attention kernels", "torch.backends.mha.set_fastpath_enabled(False)"),
    ("denormal numbers", "torch.set_flush_denormal(True)"),
    ("anomaly mode", "torch.autograd.set_detect_anomaly(True)"),
    ("global module hooks", "torch.nn.modules.module.register_module_forward_hook(lambda m, x, y: 0 * y)"),
    ("threads", "torch.set_num_threads(2)"),
    ("torch print options", "torch.set_printoptions(precision=1)"),
    ("warnings always", "torch.set_warn_always(True)"),
    ("trace function", "sys.settrace(lambda *a: None)"),
    ("profile function", "sys.setprofile(lambda *a: None)"),
    ("threads' trace function", "threading.settrace(lambda *a: None)"),
    ("threads' profile function", "threading.setprofile(lambda *a: None)"),
    ("standard streams", "sys.stdout = None"),
    ("standard streams", "sys.__stderr__ = sys.stdin = None"),
    ("recursion limit", "sys.setrecursionlimit(900)"),
    ("loaded modules", "sys.modules.pop('json')"),
    ("loaded modules", "sys.modules['torch'] = sys"),
    ("loaded modules", "sys.modules = {}"),
    ("module path", "sys.path.clear()"),
    ("module path", "sys.path = ['nowhere']"),
    ("garbage collector", "gc.disable()"),
    ("garbage collector", "gc.set_threshold(1, 1, 1)"),
    ("garbage collector", "gc.callbacks.append(print)"),
    ("thread switches", "sys.setswitchinterval(0.5)"),
    ("digits of a number", "sys.set_int_max_str_digits(0)"),
    ("environment", "os.environ.clear()"),
    ("environment", "os.environ['LESSON'] = '9'"),
    ("environment", "os.environ = {}"),
    ("working directory", "os.chdir('/')"),
    ("working directory", "import tempfile; d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)"),
    ("file mode mask", "os.umask(0o777)"),
    ("process limits", "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (64, r.getrlimit(r.RLIMIT_NOFILE)[1]))"),
    ("signal handlers", "signal.signal(signal.SIGINT, signal.SIG_IGN)"),
    ("signal handlers", "signal.signal(signal.SIGTERM, lambda *a: None)"),
    ("timers", "signal.alarm(1)"),
    ("warnings filters", "warnings.simplefilter('error')"),
    ("warnings filters", "warnings.filters = []"),
    ("logging", "logging.disable(50); logging.getLogger().setLevel(50)"),
    ("logging", "logging.getLogger().addHandler(logging.NullHandler())"),
    ("decimal context", "decimal.getcontext().prec = 2"),
    ("locale", "locale.setlocale(locale.LC_ALL, 'C' if locale.setlocale(locale.LC_ALL) != 'C' else 'C.UTF-8')"),
    ("numpy print options, errors", "numpy.set_printoptions(precision=1)"),
    ("numpy print options, errors", "numpy.seterr(all='raise')"),
    ("exercises", "import helpers.checks.registry as r; r.EXERCISES.clear()"),
    ("exercises", "import helpers.checks.registry as r; [e.checks.clear() for e in r.EXERCISES.values()]"),
    ("exercises", "import helpers.checks.registry as r; [setattr(e, 'seconds', 99) for e in r.EXERCISES.values()]"),
    ("torch's random numbers", "torch.manual_seed(3)"),
    ("Python's random numbers", "random.seed(3)"),
    ("numpy's random numbers", "numpy.random.seed(3)"),
)
PATCHES = (  # code that replaces something, an expression that is what it was
    ("torch.softmax = None", "torch.softmax"),
    ("torch.Tensor.softmax = None", "torch.Tensor.softmax"),
    (
        "torch.Tensor.__gt__ = lambda a, b: torch.zeros(a.shape, dtype=torch.bool)",
        "torch.Tensor.__dict__.get('__gt__')",
    ),
    ("torch.Tensor.__eq__ = lambda a, b: True", "torch.Tensor.__eq__"),
    ("torch.Tensor.shape = (1,)", "torch.Tensor.shape"),
    ("torch.Tensor.__repr__ = lambda t: ''", "torch.Tensor.__repr__"),
    ("torch.float64 = torch.float32", "torch.float64"),
    ("torch.nn.functional.softmax = torch.nn.functional.relu", "torch.nn.functional.softmax"),
    ("torch.nn.Linear.forward = lambda m, x: x", "torch.nn.Linear.forward"),
    ("torch.nn.Module.__call__ = None", "torch.nn.Module.__call__"),
    ("math.isclose = lambda *a, **k: True", "math.isclose"),
    ("time.perf_counter = time.sleep = lambda *a: 0", "time.perf_counter"),
    ("numpy.sum = None", "numpy.sum"),
    ("sys.exit = sys.displayhook = None", "sys.exit"),
    ("os.getcwd = os.chdir = None", "os.getcwd"),
    ("builtins.len = lambda x: 0", "len"),
    ("builtins.BaseException = builtins.getattr = builtins.next = builtins.all = builtins.zip = None", "BaseException"),
    ("builtins.mine = 3", "vars(builtins).get('mine')"),
    ("import helpers.checks.compare as c; c.compare = lambda *a: 0", "sys.modules['helpers.checks.compare'].compare"),
    ("import helpers.model as m; m.MiniGPT.forward = None", "sys.modules['helpers.model'].MiniGPT.forward"),
    (
        "import helpers.checks.guard as g; g.put_back = g.Kept.__exit__ = None",
        "sys.modules['helpers.checks.guard'].put_back",
    ),
)
MODULES = "import builtins, decimal, gc, locale, logging, math, numpy, os, random, signal, sys, threading, time, torch, warnings"
DOUBLE = f"{MODULES}\ndef double(x):\n"  # + an indented body


@pytest.fixture(autouse=True)
def course(monkeypatch, tmp_path):
    """A registry with one exercise, which compares tensors, and the kernel's settings as they are."""
    monkeypatch.setenv(progress.VARIABLE, str(tmp_path / "progress"))
    monkeypatch.setattr(registry, "EXERCISES", {})
    monkeypatch.setattr(core, "shown", {})
    double = Exercise("double", "99", "double(x)", 5, "easy", (), seconds=5)

    @double.check("doubles")
    def _(answer):
        x = torch.arange(6.0).reshape(2, 3)
        compare(answer(x), 2 * x, 1e-6, "B T", "y")

    return double


def result(body):
    return check("double", names(DOUBLE + body))


def seen(value):
    """A setting's value in a form that has one answer to ==."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return repr(value) if type(value).__module__ == "decimal" or "MT19937" in repr(value)[:20] else value


def state():
    return {setting.name: seen(setting.now()) for setting in restore.SETTINGS if setting.name != "loaded modules"}


def unlike(before):
    return [name for name, value in state().items() if not value == before[name]]


@pytest.mark.parametrize("end", ["return y", "raise KeyboardInterrupt"])
@pytest.mark.parametrize(("name", "code"), AFTERWARDS)
def test_settings_are_put_back_however_the_answer_ends(name, code, end):
    before, modules = state(), dict(sys.modules)
    told = result(f"    global mode; y = 2 * x; {code}\n    {end}")
    assert unlike(before) == [], str(told)
    assert sys.modules is python_state.MODULES and all(sys.modules[n] is m for n, m in modules.items())
    assert (float(told) == 1) is (end == "return y"), str(told)  # the comparison is not disturbed either


@pytest.mark.parametrize(("name", "code"), AFTERWARDS)
def test_each_row_changes_what_it_names(name, code):
    setting = next(setting for setting in restore.SETTINGS if setting.name == name)
    with restore.Kept():
        before = seen(setting.now())
        space = {}
        exec(f"{MODULES}\n{code}", space)
        assert not before == seen(setting.now())


def test_every_setting_has_a_row():
    here = {setting.name for setting in restore.SETTINGS if setting.now() is not python_state.AS_IT_IS}
    assert here == {name for name, _ in AFTERWARDS}


@pytest.mark.parametrize(("code", "expression"), PATCHES)
def test_replaced_functions_are_put_back_before_anything_is_compared(code, expression):
    def real():
        return eval(expression, dict(vars(builtins), **{name: sys.modules[name] for name in MODULES[7:].split(", ")}))

    before = real()
    assert float(result(f"    {code}\n    return 2 * x")) == 1 and real() is before
    assert float(result(f"    {code}\n    return x")) == 0 and real() is before
    assert real() is before


BEFOREHAND = (
    "torch.set_default_device('meta')",
    "torch.set_default_dtype(torch.float64)",
    "torch.set_grad_enabled(False)",
    "mode = torch.inference_mode(); mode.__enter__()",
    "torch.autocast('cpu').__enter__()",
    "torch.use_deterministic_algorithms(True)",
    "torch.set_float32_matmul_precision('medium')",
    "torch.set_flush_denormal(True)",
    "torch.nn.modules.module.register_module_forward_hook(lambda m, x, y: 0 * y)",
)


@pytest.mark.parametrize("code", BEFOREHAND)
@pytest.mark.parametrize("name", ["causal_mask", "masked_softmax", "mask_from"])
def test_a_right_answer_is_right_whatever_the_notebook_has_set(monkeypatch, name, code):
    monkeypatch.setattr(registry, "EXERCISES", COURSE)
    with restore.Kept():
        space = names(RIGHT[name])
        exec(code, {"torch": torch})
        before = state()
        told = check(name, space)
        assert float(told) == COURSE[name].points, str(told)
        assert unlike(before) == []  # and stays set


def test_a_tensor_on_another_device_is_told(course):
    assert "y is on meta (torch.strided); expected cpu (torch.strided)" in str(result("    return x.to('meta')"))


def test_torch_that_its_compiler_changed_is_left_as_it_is():
    """torch.compile, once loaded, replaces functions of torch by its own; undoing half of that would break it."""
    code = (
        "import torch; from helpers.checks import patches, restore\n"
        "functions = lambda: (torch.manual_seed, torch.nn.Module.__init__)\n"
        "first = functions()\n"
        "with restore.Kept(): torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2)); then = functions()\n"
        "assert first[0] is not then[0] and first[1] is not then[1]\n"
        "assert patches.put_torch_back() == [] and functions() == then"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_a_package_may_print_tensors_in_its_own_way(monkeypatch):
    monkeypatch.setattr(torch.Tensor, "__repr__", lambda tensor: "mine")
    assert float(result("    return 2 * x")) == 1 and repr(torch.ones(1)) == "mine"
