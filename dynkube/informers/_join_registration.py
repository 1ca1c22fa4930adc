"""``JoinRegistration``: one handler on the informers of several clusters, called for one event at a time."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial, wraps
from typing import Any, Final

import trio

from dynkube._bound import Bound
from dynkube.informers._informer import Informer
from dynkube.informers._views.handlers import Handler, OnError, Registration


class JoinRegistration(Bound):
    """One handler on all clusters of a join; created by :meth:`Join.add_handler`."""

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Awaitable[None] | None] | None],
        on_error: OnError,
        name: str,
        removed: Callable[[JoinRegistration], None],
    ) -> None:
        options: dict[str, Any] = {**functions, "on_error": on_error}
        Handler(**options)  # raises for a wrong argument
        self._functions: Final = {which: function for which, function in functions.items() if function is not None}
        self._on_error: Final[OnError] = on_error
        self._name = name
        self._on_removed = removed
        self._turn = trio.Lock()
        self._registrations: dict[Informer, tuple[str, Registration]] = {}
        self._removed = False

    @property
    def registrations(self) -> Mapping[str, Registration]:
        """The registration with the informer of each cluster now, by name, for statistics.

        Times of async functions contain the time in which they waited for those of other clusters.
        """
        return dict(tuple(self._registrations.values()))

    @property
    def backlog(self) -> int:
        """The number of objects with a pending event, in all clusters."""
        return sum(each.backlog for each in self.registrations.values())

    @property
    def has_synced(self) -> bool:
        """Whether the initial objects of each cluster have been handled."""
        return all(each.has_synced for each in self.registrations.values())

    def remove(self) -> None:
        """Remove the handler; it is not called any more after this returns. See :meth:`Registration.remove`."""
        if not self._removed:
            self._removed = True
            self._on_removed(self)
            for registration in self.registrations.values():
                registration.remove()

    def _attach(self, cluster: str, informer: Informer) -> None:
        bound: dict[str, Any] = {
            which: self._bound(cluster, informer, function) for which, function in self._functions.items()
        }
        name = f"{self._name} of {cluster}" if self._name else ""
        self._registrations[informer] = cluster, informer.add_handler(**bound, on_error=self._on_error, name=name)

    def _detach(self, informer: Informer) -> None:
        _, registration = self._registrations.pop(informer, ("", None))
        if registration is not None:
            registration.remove()

    async def _finish(self, informer: Informer) -> None:
        """Wait until the events of a cluster were handled."""
        _, registration = self._registrations.get(informer, ("", None))
        if registration is not None:
            await registration._task.wait_idle()

    def _ended(self, informer: Informer) -> bool:
        _, registration = self._registrations.get(informer, ("", None))
        return registration is None or registration._task.closed

    def _bound(
        self, cluster: str, informer: Informer, function: Callable[..., Awaitable[None] | None]
    ) -> Callable[..., Awaitable[None] | None]:
        """Return a function without the parameter ``cluster``, which never runs while another one of them does."""

        @wraps(function)
        def call(*args: object, **options: object) -> Awaitable[None] | None:
            bound = partial(function, cluster, *args, **options)
            if self._turn.locked():
                return self._call_later(informer, bound)
            self._turn.acquire_nowait()
            try:
                pending = bound()
            except BaseException:
                self._turn.release()
                raise
            if pending is not None and inspect.isawaitable(pending):
                return self._finish_call(pending)
            self._turn.release()
            return None

        return call

    async def _finish_call(self, pending: Awaitable[None]) -> None:
        try:
            await pending
        finally:
            self._turn.release()

    async def _call_later(self, informer: Informer, bound: Callable[[], Awaitable[None] | None]) -> None:
        async with self._turn:
            if self._ended(informer):  # removed while it waited
                return
            pending = bound()
            if pending is not None and inspect.isawaitable(pending):
                await pending

    def __repr__(self) -> str:
        return f"<JoinRegistration of {', '.join(sorted(self.registrations)) or 'no clusters'} backlog={self.backlog}>"
