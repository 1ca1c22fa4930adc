"""Ports of the loopback that nobody uses, and nobody will be given by chance."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from dynkube.errors import ControlPlaneError

LOOPBACK = "127.0.0.1"
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_ATTEMPTS = 200


def free_port(rng: random.Random) -> int:
    """A port that can be listened on just now.

    It is outside of the range that outgoing connections get theirs from. Inside, clients that keep trying to reach a
    server that is down would sooner or later be given its own port, meet themselves there, and keep it from coming
    back.

    Raises:
        ControlPlaneError: None was found.
    """
    lowest, highest = _ephemeral_range()
    choices = [port for port in range(15_000, 65_000) if not lowest <= port <= highest] or list(range(15_000, 65_000))
    for _ in range(_ATTEMPTS):
        port = rng.choice(choices)
        if is_free(port):
            return port
    raise ControlPlaneError(f"found no free port on {LOOPBACK} in {_ATTEMPTS} attempts")


def is_free(port: int) -> bool:
    """Whether a port can be listened on just now. What is true for an instant only: somebody else may be faster."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        # As the servers do: connections of an earlier run that linger do not count.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def _ephemeral_range() -> tuple[int, int]:
    try:
        lowest, highest = _EPHEMERAL.read_text(encoding="ascii").split()
    except (OSError, ValueError):  # not Linux: the range that IANA recommends
        return 49_152, 65_535
    return int(lowest), int(highest)
