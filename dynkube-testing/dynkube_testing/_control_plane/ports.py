"""Free loopback ports outside of the ephemeral port range."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from dynkube.errors import ControlPlaneError

LOOPBACK = "127.0.0.1"
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_ATTEMPTS = 200


def free_port(rng: random.Random) -> int:
    """Return a random free port on the loopback address.

    It is outside of the ephemeral port range. Otherwise a client that keeps reconnecting to a stopped server could get
    the server's port as its source port, connect to itself, and so block the port for the server.

    Raises:
        ControlPlaneError: No free port was found.
    """
    lowest, highest = _ephemeral_range()
    choices = [port for port in range(15_000, 65_000) if not lowest <= port <= highest] or list(range(15_000, 65_000))
    for _ in range(_ATTEMPTS):
        port = rng.choice(choices)
        if is_free(port):
            return port
    raise ControlPlaneError(f"found no free port on {LOOPBACK} in {_ATTEMPTS} attempts")


def is_free(port: int) -> bool:
    """Return whether a port is free now; another process may take it at any time."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        # Like the servers, ignore connections of an earlier run in the state TIME_WAIT.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def _ephemeral_range() -> tuple[int, int]:
    try:
        lowest, highest = _EPHEMERAL.read_text(encoding="ascii").split()
    except (OSError, ValueError):  # not Linux: the range recommended by IANA
        return 49_152, 65_535
    return int(lowest), int(highest)
