"""torch's settings that a learner's code can change: how each is read and set, and what a check needs it to be."""

import sys
from contextlib import suppress

import torch
from torch import backends
from torch.nn.modules import module as modules
from torch.overrides import _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils import _device
from torch.utils import _python_dispatch as dispatch

from .python_state import Same, Setting

GUARDS = []  # inference mode is left by a guard that must outlive the check: freed, it would bring the mode back
HOOKS = [name for name in vars(modules) if name.startswith("_global_") and isinstance(getattr(modules, name), dict)]


def read_modes():
    """Default device and function modes live on one stack, and the default device in two more places."""
    context = getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
    return Same(context, _device.CURRENT_DEVICE, *_get_current_function_mode_stack())


def write_modes(value):
    torch._GLOBAL_DEVICE_CONTEXT.device_context, _device.CURRENT_DEVICE, *stack = value.values
    for _ in _get_current_function_mode_stack():
        _pop_mode()
    for mode in stack:
        _push_mode(mode)


def pop_dispatch_modes(depth):
    while dispatch._len_torch_dispatch_stack() > depth:
        dispatch._pop_mode()


def write_inference(enabled):
    GUARDS.append(torch._C._InferenceMode(enabled))


def read_autocast():
    kinds = ("cpu", "cuda")
    on = tuple((kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind)) for kind in kinds)
    return on, torch.is_autocast_cache_enabled()


def write_autocast(value):
    for kind, enabled, dtype in value[0]:
        torch.set_autocast_enabled(kind, enabled)
        torch.set_autocast_dtype(kind, dtype)
    torch.set_autocast_cache_enabled(value[1])
    torch.clear_autocast_cache()


def no_autocast():
    return tuple((kind, False, dtype) for kind, _, dtype in read_autocast()[0]), True


def flushes():
    """Whether this thread takes the smallest numbers for 0; torch can set this and not tell it."""
    return sys.float_info.min * 0.5 == 0


def attributes(*places):
    """(read, write) of flags that are attributes; those that this version of torch lacks are left out."""
    have = []
    for owner, names in places:
        for name in names.split():
            with suppress(Exception):
                getattr(owner, name)
                have.append((owner, name))

    def write(values):
        for (owner, name), value in zip(have, values):
            if getattr(owner, name) != value:
                setattr(owner, name, value)

    return lambda: [getattr(owner, name) for owner, name in have], write


def read_attention():
    cuda = backends.cuda
    return tuple(getattr(cuda, f"{kind}_sdp_enabled")() for kind in KERNELS), backends.mha.get_fastpath_enabled()


def write_attention(value):
    for kind, enabled in zip(KERNELS, value[0]):
        getattr(backends.cuda, f"enable_{kind}_sdp")(enabled)
    backends.mha.set_fastpath_enabled(value[1])


KERNELS = [kind for kind in ("flash", "mem_efficient", "math", "cudnn") if hasattr(backends.cuda, f"enable_{kind}_sdp")]
PRECISION = attributes(
    (backends, "fp32_precision"),
    (
        backends.cuda.matmul,
        "fp32_precision allow_fp16_reduced_precision_reduction allow_bf16_reduced_precision_reduction",
    ),
    (backends.cudnn, "enabled benchmark deterministic fp32_precision"),
    (backends.mkldnn, "enabled deterministic fp32_precision"),
    (backends.mkldnn.matmul, "fp32_precision"),
    (backends.mkldnn.conv, "fp32_precision"),
    (backends.mkldnn.rnn, "fp32_precision"),
    (backends.opt_einsum, "enabled strategy"),
    (backends.quantized, "engine"),
)


def read_deterministic():
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    return torch.are_deterministic_algorithms_enabled(), warns, torch.utils.deterministic.fill_uninitialized_memory


def write_deterministic(value):
    torch.use_deterministic_algorithms(value[0], warn_only=value[1])
    torch.utils.deterministic.fill_uninitialized_memory = value[2]


def write_hooks(value):
    for name, hooks in value.items():
        kept = getattr(modules, name)
        kept.clear()
        kept.update(hooks)


def read_print_options():
    return dict(vars(torch._tensor_str.PRINT_OPTS))


SETTINGS = [  # in the order in which they are put back
    Setting("dispatch modes", dispatch._len_torch_dispatch_stack, pop_dispatch_modes),
    Setting("default device, function modes", read_modes, write_modes, Same(None, None)),
    Setting("default dtype", torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    Setting("inference mode", torch.is_inference_mode_enabled, write_inference, False),
    Setting("grad mode", torch.is_grad_enabled, torch._C._set_grad_enabled, True),
    Setting("autocast", read_autocast, write_autocast, no_autocast()),
    Setting("deterministic algorithms", read_deterministic, write_deterministic, (False, False, True)),
    Setting("matmul precision", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "highest"),
    Setting("precision flags", *PRECISION),
    Setting("attention kernels", read_attention, write_attention),
    Setting("denormal numbers", flushes, torch.set_flush_denormal, False),
    Setting("anomaly mode", lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
            lambda value: torch.set_anomaly_enabled(*value), (False, True)),
    Setting("global module hooks", lambda: {name: dict(getattr(modules, name)) for name in HOOKS}, write_hooks,
            {name: {} for name in HOOKS}),
    Setting("threads", torch.get_num_threads, torch.set_num_threads, 1),
    Setting("torch print options", read_print_options, lambda value: vars(torch._tensor_str.PRINT_OPTS).update(value)),
    Setting("warnings always", torch.is_warn_always_enabled, torch.set_warn_always),
]  # fmt: skip
