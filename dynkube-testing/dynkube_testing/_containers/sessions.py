"""Connections to containers, as the functions of a test see them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import trio

from dynkube_testing._calls.api import JSONObject

_SIZES: Final = 64  # of a terminal that wait to be read; older ones are dropped


class TerminalSizes:
    """The sizes of the client's terminal, in order."""

    def __init__(self) -> None:
        self._send, self._receive = trio.open_memory_channel[tuple[int, int]](_SIZES)

    def add(self, columns: int, rows: int) -> None:
        """Add a size; the oldest one is dropped if many have not been read."""
        if self._receive.statistics().current_buffer_used == _SIZES:
            self._receive.receive_nowait()
        self._send.send_nowait((columns, rows))

    async def next(self) -> tuple[int, int]:
        """Wait for the next size."""
        return await self._receive.receive()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ContainerSession:
    """A command that a client runs in a container (``kubectl exec``), or its connection to one (``kubectl attach``).

    Attributes:
        pod: The pod, decoded.
        container: The container's name.
        command: The command and its arguments; empty for ``attach``.
        tty: Whether the client has a terminal; then nothing can be written to ``stderr``.
        stdin: What the client sends; at the end at once if it sends nothing. It ends when the client closes its stdin,
            which only clients with ``v5.channel.k8s.io`` (Kubernetes 1.30) can tell.
        stdout: Where to write output. Writing blocks while the client does not read. It is discarded if the client did
            not request it.
        stderr: Where to write errors, likewise.
    """

    pod: JSONObject
    container: str
    command: tuple[str, ...]
    tty: bool
    stdin: trio.abc.ReceiveStream
    stdout: trio.abc.SendStream
    stderr: trio.abc.SendStream
    _sizes: TerminalSizes

    async def next_size(self) -> tuple[int, int]:
        """Wait until the client's terminal has got a size, and return its columns and rows.

        Clients with a terminal send its size at first and after each change.
        """
        return await self._sizes.next()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PortConnection:
    """A connection that a client forwards to a port of a pod (``kubectl port-forward``).

    Attributes:
        pod: The pod, decoded.
        port: The port's number.
        stream: The connection: what the client sends can be received, and what is sent reaches the client. The stream
            ends when the client closes its connection. It is closed when the function returns.
    """

    pod: JSONObject
    port: int
    stream: trio.abc.HalfCloseableStream


Output: TypeAlias = int | str | bytes | None
"""What a function that plays a command returns: the exit code, or output (with exit code 0), or ``None`` for 0."""

SessionFunction: TypeAlias = Callable[[ContainerSession], Output | Awaitable[Output]]
PortFunction: TypeAlias = Callable[[PortConnection], Awaitable[None]]
