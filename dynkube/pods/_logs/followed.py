"""The containers of a merged log, and their pods as the watch shows them."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeAlias

import trio

from dynkube.client._client import APIClient
from dynkube.meta import Unstructured
from dynkube.pods._logs.source import PodSource, State
from dynkube.rest._stream import ByteStream

_MOST_REASONS: Final = 20  # that are remembered as announced, until lines come
_INTERVAL: Final = 0.01  # seconds between two requests, so that a thousand containers are no burst


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerLog:
    """A container of a merged log.

    Attributes:
        pod: the pod's name.
        namespace: the pod's namespace.
        container: the container's name.
        state: ``"waiting"`` for the container, for one of ``max_streams``, or to repeat a request that has failed;
            ``"reading"``, ``"ended"`` or ``"failed"``.
        reason: why it waits, has ended or has failed.
    """

    pod: str
    namespace: str
    container: str
    state: State
    reason: str = ""


Announce: TypeAlias = Callable[[ContainerLog], None]
"""Called with each container whose log begins to be read, is not read for another reason, or ends; must not block."""


class Pace:
    """Spreads requests over time."""

    def __init__(self) -> None:
        self._next = 0.0

    async def wait(self) -> None:
        """Wait for the turn of a request."""
        now = trio.current_time()
        self._next = max(now, self._next + _INTERVAL)
        await trio.sleep_until(self._next)


class Slots:
    """The streams that may be open at once.

    Attributes:
        most: their number.
        waiting: how many containers wait for one.
    """

    def __init__(self, most: int) -> None:
        self.most: int = most
        self.waiting: int = 0
        self._semaphore = trio.Semaphore(most)

    @property
    def full(self) -> bool:
        """Whether the next container has to wait."""
        return self._semaphore.value == 0

    async def acquire(self) -> None:
        """Wait for a stream."""
        self.waiting += 1
        try:
            await self._semaphore.acquire()
        finally:
            self.waiting -= 1

    def release(self) -> None:
        """Give a stream back."""
        self._semaphore.release()


class FollowedContainer(PodSource):
    """A container whose pod is watched: its status comes from there, without a watch of its own.

    It has a slot while its log is read, and gives it back while it waits.

    Attributes:
        container: the container's name.
        state: what it does.
        reason: why it waits, has ended or has failed.
        started: whether its log is being read, or was: not before the container has started.
        gone: the pod was deleted.
        scope: the step that is being waited for.
    """

    def __init__(
        self, api: APIClient, pod: Unstructured, container: str, slots: Slots, pace: Pace, announce: Announce
    ) -> None:
        super().__init__(api, pod.name, pod.namespace, pod.uid)
        self._announce = announce
        self._announced: State = "waiting"
        self._reasons: deque[str] = deque(maxlen=_MOST_REASONS)  # that were announced since the last line
        self._slots = slots
        self._pace = pace
        self._latest: Unstructured | None = pod
        self._shown: Unstructured | None = pod  # just now by the watch; otherwise a look requests the pod
        self._changed = trio.Event()
        self._has_slot = False
        self.container: str = container
        self.state: State = "waiting"
        self.reason: str = ""
        self.started: bool = False
        self.gone: bool = False
        self.scope: trio.CancelScope | None = None

    def status(self) -> ContainerLog:
        """Return what it does."""
        return ContainerLog(
            pod=self.name, namespace=self.namespace, container=self.container, state=self.state, reason=self.reason
        )

    def note_state(self, state: State, reason: str = "") -> None:
        """Take note of what happens to the log, and announce it, unless that would repeat what was announced.

        A request that fails again and again for the same reason is announced once, although it may succeed between.
        """
        self.state, self.reason = state, reason
        repeated = reason in self._reasons if state == "waiting" else state == self._announced
        if repeated or (state == "waiting" and not reason):
            return
        self._announced = state
        if reason:
            self._reasons.append(reason)
        self._announce(self.status())

    def lines_came(self) -> None:
        """Take note of lines: reasons count as new ones from now on."""
        self._reasons.clear()

    def changed(self, pod: Unstructured) -> None:
        """Note a new status of the pod."""
        self._latest = pod
        if not self.started:
            self._shown = pod
        self._changed.set()

    def deleted(self) -> None:
        """Note that the pod was deleted."""
        self.gone, self._latest = True, None
        self._changed.set()

    async def read(self) -> Unstructured | None:
        """Return the pod as the watch has shown it just now, or request it."""
        pod, self._shown = self._shown, None
        self._changed = trio.Event()
        if pod is not None:
            await trio.lowlevel.checkpoint()
            return pod
        await self._pace.wait()
        return await super().read()

    async def wait_changed(self, pod: Unstructured) -> None:
        """Wait until the watch shows another status, without a slot."""
        self.give_back()
        await self._changed.wait()
        await self.take_slot()
        self._shown = self._latest

    async def take_slot(self) -> None:
        """Wait for one of the streams that may be open."""
        if not self._has_slot:
            await self._slots.acquire()
            self._has_slot = True

    def give_back(self) -> None:
        """Give the slot back, if it has one."""
        if self._has_slot:
            self._has_slot = False
            self._slots.release()

    def request_log(self, params: Mapping[str, str], *, follow: bool) -> AbstractAsyncContextManager[ByteStream]:
        """Return a request for a log, to be entered; it waits for one of the streams that may be open."""
        return self._paced(params, follow)

    @asynccontextmanager
    async def _paced(self, params: Mapping[str, str], follow: bool) -> AsyncIterator[ByteStream]:
        await self.take_slot()  # a wait for the pod that took too long has ended without one
        await self._pace.wait()
        async with super().request_log(params, follow=follow) as response:
            yield response
