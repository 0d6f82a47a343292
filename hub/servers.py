"""A server on this machine: a free port for it, and waiting until it answers."""

import socket
import time
import urllib.request


def free_port():
    """The number of a port that nothing listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(address, process, log, seconds=60):
    """The first answer of `process`'s server at `address`. Raises TimeoutError with the end of the file `log` if none comes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            return urllib.request.urlopen(address, timeout=2)
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"nothing answered at {address}:\n{log.read_text()[-3000:]}")
