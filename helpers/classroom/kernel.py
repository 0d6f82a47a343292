"""What a kernel is told before it runs a submission: `exit()` raises, and memory has a limit. The kernel imports this."""

from ..checks import guard

kept = []  # the memory limit holds for as long as the kernel lives


def prepare():
    """Called once, in a kernel that has run nothing yet."""
    for limit in (guard.memory_limited(), guard.exits_replaced(get_ipython().user_ns)):  # noqa: F821 (IPython's)
        limit.__enter__()
        kept.append(limit)
