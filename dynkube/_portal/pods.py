"""What the handles of a pod for all threads, and what they open, have in common."""

from __future__ import annotations

from typing import TypeVar

from dynkube import pods
from dynkube._portal.facade import Facade
from dynkube._portal.held import Held, Start
from dynkube._portal.thread import TrioThread
from dynkube.errors import ClosedError

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
