"""``PortForward``: a listener on this machine whose connections go to a port of a pod."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf
from typing import Final

import trio

from dynkube._bound import Bound
from dynkube._logs import get_logger
from dynkube._nursery import OwnedNursery
from dynkube.errors import ConfigError, DynkubeError, Forbidden, PodError
from dynkube.pods._ports import open_port
from dynkube.pods._target import PodTarget

_log = get_logger("dynkube.pods")

_READ_BYTES: Final = 64 << 10
_AT_ONCE: Final = 200  # connections; further ones wait
# Seconds of silence after which a connection ends whose client has closed its side. One that has got an answer has most
# likely left, as HTTP clients do; one that still waits for its answer has only finished sending.
_SILENCE_AFTER_ANSWER: Final = 1.0
_SILENCE_BEFORE_ANSWER: Final = 30.0


class PortForward(Bound):
    """A listener whose connections go to a port of a pod; from :meth:`Pod.port_forward`.

    A connection that fails is closed, counted in ``errors``, logged, and kept in ``last_error``; the listener goes on.
    The protocol cannot pass on that one side is closed. So a client that has closed its side gets what the pod sends,
    until the pod is silent for a second, or for 30 seconds if it has sent nothing since the client's last data.

    Attributes:
        address: the address that it listens on.
        port: the port that it listens on.
        connections: how many connections there were.
        active: how many are open.
        errors: how many have failed.
        last_error: why the last of these failed; ``None`` if none has.
    """

    def __init__(self, target: PodTarget, pod_port: int, address: str, port: int) -> None:
        self.address: str = address
        self.port: int = port
        self.connections: int = 0
        self.active: int = 0
        self.errors: int = 0
        self.last_error: DynkubeError | None = None
        self._target = target
        self._pod_port = pod_port
        self._turn = trio.Semaphore(_AT_ONCE)

    async def _serve(self, local: trio.SocketStream) -> None:
        self.connections += 1
        self.active += 1
        try:
            async with self._turn, open_port(self._target, self._pod_port) as remote:
                await _splice(local, remote)
        except DynkubeError as error:
            self.errors += 1
            self.last_error = error
            _log.warning("a connection to %s was not forwarded to %s: %s", self, self._target, error)
        finally:
            self.active -= 1
            await trio.aclose_forcefully(local)

    def __repr__(self) -> str:
        return f"<PortForward {self}: {self.active} of {self.connections} connections open, {self.errors} failed>"

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


async def _splice(local: trio.abc.Stream, remote: trio.abc.Stream) -> None:
    """Pass on what comes from either side, until the pod closes the connection, or the client has left."""
    waiting = trio.CancelScope()  # around the wait for the pod
    sent_all = False  # whether the client has closed its side
    answered = False  # whether the pod has sent something since the client has

    def patience() -> float:
        if not sent_all:
            return inf
        return _SILENCE_AFTER_ANSWER if answered else _SILENCE_BEFORE_ANSWER

    async def send() -> None:
        nonlocal sent_all, answered
        try:
            while data := await local.receive_some(_READ_BYTES):
                answered = False
                await remote.send_all(data)
        except trio.BrokenResourceError:
            nursery.cancel_scope.cancel()  # the client has reset its connection
        except DynkubeError:
            return  # the pod has closed the connection; receive_some() raises the reason
        sent_all = True
        waiting.deadline = trio.current_time() + patience()

    async with OwnedNursery() as nursery:
        nursery.start_soon(send)
        while True:
            with trio.CancelScope(deadline=trio.current_time() + patience()) as waiting:
                data = await remote.receive_some(_READ_BYTES)
            if waiting.cancelled_caught or not data:
                return
            try:
                await local.send_all(data)
                answered = True
            except trio.BrokenResourceError:  # the client has left
                return


@asynccontextmanager
async def open_port_forward(target: PodTarget, port: int, local_port: int, address: str) -> AsyncIterator[PortForward]:
    """Listen, and forward connections; leaving the block ends them."""
    await _check_runs(target)
    try:
        listeners = await trio.open_tcp_listeners(local_port, host=address)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on address={address!r}, local_port={local_port}: {error}; use another one, or local_port=0 "
            "for any free port"
        ) from error
    if local_port == 0:  # a name may have several addresses, and each listener has got another port
        for other in listeners[1:]:
            await other.aclose()
        del listeners[1:]
    forward = PortForward(target, port, address, listeners[0].socket.getsockname()[1])
    async with OwnedNursery() as nursery:
        nursery.start_soon(trio.serve_listeners, forward._serve, listeners)
        yield forward


async def _check_runs(target: PodTarget) -> None:
    """Raise an error if the pod does not exist or is not running; a user who may not read it learns that later."""
    try:
        view = await target.view()
    except Forbidden:
        return
    if view is not None and (why := view.not_running()):
        raise PodError(f"{target}: its ports cannot be forwarded: {why}")
