"""What the handles of a pod for all threads, and what they open, have in common."""

from __future__ import annotations

from typing import TypeVar

from dynkube import pods
from dynkube._portal.facade import Facade
from dynkube._portal.held import Held, Start
from dynkube._portal.thread import TrioThread
from dynkube.errors import ClosedError, DynkubeError

I = TypeVar("I")  # noqa: E741  # the inner, async object


class PodFacade(Facade[pods.Pod]):
    """One pod of a cluster, by name."""

    __slots__ = ("_start",)

    def __init__(self, inner: pods.Pod, thread: TrioThread, start: Start) -> None:
        super().__init__(inner, thread)
        self._start = start

    @property
    def name(self) -> str:
        """The pod's name."""
        return self._inner.name

    @property
    def namespace(self) -> str:
        """The pod's namespace."""
        return self._inner.namespace


class Opened(Facade[I]):
    """What an async context manager yields, while it is held open by a task in the trio thread."""

    _held: Held[I]
    _value: I | None = None  # until it is opened

    @property
    def _inner(self) -> I:  # type: ignore[override]  # which is set once, by the base class
        if self._value is None:
            raise ClosedError(f"this {type(self).__name__} is not open: use it in a with block")
        return self._value

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, not open>" if self._value is None else repr(self._value)


class ProcessFacade(Opened[pods.Process]):
    """A command in a container, or a connection to what runs in it."""

    @property
    def protocol(self) -> str:
        """``"v5.channel.k8s.io"``, or ``"v4.channel.k8s.io"``, in which stdin cannot be closed."""
        return self._inner.protocol

    @property
    def exit_code(self) -> int | None:
        """The exit code; ``None`` while the process runs, and if it is not known."""
        return self._inner.exit_code


class PortForwardFacade(Opened[pods.PortForward]):
    """A listener whose connections go to a port of a pod."""

    @property
    def address(self) -> str:
        """The address that it listens on."""
        return self._inner.address

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._inner.port

    @property
    def connections(self) -> int:
        """How many connections there were."""
        return self._inner.connections

    @property
    def active(self) -> int:
        """How many are open."""
        return self._inner.active

    @property
    def errors(self) -> int:
        """How many have failed."""
        return self._inner.errors

    @property
    def last_error(self) -> DynkubeError | None:
        """Why the last of these failed; ``None`` if none has."""
        return self._inner.last_error


class PortStreamFacade(Opened[pods.PortStream]):
    """A connection to a port of a pod."""

    @property
    def port(self) -> int:
        """The port."""
        return self._inner.port
