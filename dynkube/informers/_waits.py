"""The waits of an informer: for the initial sync, a phase, or a write."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial

import trio

from dynkube.errors import ClosedError, InvalidInput
from dynkube.informers._reads import Reads
from dynkube.informers._states import Phase, State
from dynkube.meta import Unstructured
from dynkube.meta._arguments import brief


class Waits(Reads):
    """The waits of an :class:`Informer`, for the event loop's thread.

    Cancellation only stops the waiting.
    """

    __slots__ = ("_closed", "_entering")

    _closed: bool
    _entering: trio.Event | None
    """Exists while the informer is being entered; set when that has succeeded or failed."""

    @property
    def has_synced(self) -> bool:
        """Whether every handler has handled the initial sync; stays true then."""
        return self._view.synced

    async def wait_synced(self) -> None:
        """Wait for the initial sync.

        The sync is complete when the initial list is complete, or the resource is known to be absent, and every handler
        registered before that has handled the initial objects. Unlike client-go's ``WaitForCacheSync``, this returns if
        the resource does not exist. It does not return while the server is unreachable or forbids listing: put
        ``trio.fail_after`` around it, and read :attr:`state` for the reason. Of a set of namespaces those where listing
        is forbidden count as synced, and those that are too many (``TooManyNamespaces``) as not synced. Cancellation
        only stops the waiting.

        Raises:
            ClosedError: the informer was not entered, or was closed before or while waiting.
        """
        await self._until_entered()
        await self._view.settled.wait()
        if not self._view.synced:
            raise ClosedError("the informer was closed before its initial sync")
        self._check_open()

    def _check_open(self) -> None:
        """Raise ClosedError if the informer is closed."""
        if self._closed or (self._shared is not None and self._shared.state.phase is Phase.STOPPED):
            raise ClosedError("this informer is closed: create another one with client.informer(...)")

    async def _until_entered(self) -> None:
        """Wait while the informer is being entered.

        Raises:
            ClosedError: the informer was not entered.
        """
        while self._shared is None and self._entering is not None:
            await self._entering.wait()
        if self._shared is None and not self._closed:
            raise ClosedError(
                "this informer was not entered: use it inside 'async with client.informer(...) as informer:'"
            )

    async def wait_state(self, *phases: Phase) -> State:
        """Wait until the phase is one of ``phases``, and return the state.

        Cancellation only stops the waiting.

        Args:
            *phases: one or more phases.

        Raises:
            InvalidInput: no phase was given, or an argument is not a :class:`Phase`.
            ClosedError: the informer was not entered, or was closed while waiting for another phase.
        """
        if not phases or any(phase not in tuple(Phase) for phase in phases):
            known = ", ".join(Phase)
            raise InvalidInput(f"wait_state requires one or more of {known} (dynkube.LIVE, ...), not {phases!r}")
        while (state := self.state).phase not in phases:
            await self._progress(f"become {' or '.join(phases)}")
        await trio.lowlevel.checkpoint()
        return state

    async def _progress(self, awaited: str) -> None:
        """Wait until the state or the cache changes, or the informer was entered."""
        shared = self._shared
        await self._until_entered()
        if self._shared is None or self._shared.state.phase is Phase.STOPPED:
            raise ClosedError(f"the informer is {self.state}, it will not {awaited}")
        if shared is not None:  # else it was entered just now: the caller looks at its state first
            await shared.progress.wait()

    async def states(self) -> AsyncGenerator[State, None]:
        """Iterate over states: the current one, then each new one.

        A state is new if its phase, reason or message changed. If several states pass while the consumer is busy, only
        the newest is yielded. The iteration ends after ``STOPPED``, when the informer is closed. Use
        ``contextlib.aclosing`` if the loop may be left early.
        """
        shown: State | None = None
        while True:
            state = self.state
            if state != shown:
                shown = state
                yield state
            elif self._shared is None or state.phase is Phase.STOPPED:
                await trio.lowlevel.checkpoint()
                return
            else:
                await self._shared.progress.wait()

    async def wait_for(self, obj: Unstructured) -> None:
        """Wait until the cache has caught up with a write (read your writes).

        Returns once the cache has this version of the object or a newer one, or has reached its resourceVersion (the
        object may have been deleted since). Also returns if the resource is known to have become absent after the
        write. An informer that is ABSENT because of an older observation starts to list the resource, as the write was
        only possible while the resource was served.

        There is no timeout: put ``trio.fail_after`` around it. Cancellation only stops the waiting. Of an informer of a
        set of namespaces, it returns at once for an object in a namespace where listing is forbidden, and not at all
        for one in a namespace that is not watched because too many others are.

        Args:
            obj: the object as create, update or patch returned it.

        Raises:
            InvalidInput: ``obj`` has no resourceVersion, or the informer does not watch such objects: it has another
                API group or namespace, or does not match the label selector; or its namespace is not in the set, or
                leaves it meanwhile.
            ClosedError: the informer was not entered, or was closed while waiting.
        """
        given: object = obj  # callers are not always type-checked
        if not isinstance(given, Unstructured) or not given.resource_version:
            raise InvalidInput(
                f"{brief(given)} has no metadata.resourceVersion: pass what create, update or patch returned"
            )
        await self._until_entered()
        self._check_followed(obj)
        proven = False
        while True:
            shared = self._shared  # None once it is closed
            if shared is not None and not shared.served and not proven:
                # Also if the resource became absent while this waited: that may be an older observation than the write,
                # as of a CRD that was deleted, and installed again together with the object.
                proven = True
                await shared.inbox.ask(partial(shared.object_seen, obj))
            elif shared is not None and shared.caught_up(obj):
                break
            elif shared is not None and shared.lacks(obj.namespace):
                raise InvalidInput(f"{obj!r} is in namespace {obj.namespace!r}, which is not in the informer's set")
            else:
                await self._progress("catch up")
        await trio.lowlevel.checkpoint()

    def _check_followed(self, obj: Unstructured) -> None:
        """Raise InvalidInput for an object that this informer never receives."""
        shared = self._shared
        if shared is None:
            return
        key = shared.key
        group = obj.api_version.rpartition("/")[0]
        if group != key.gvr.group:
            raise InvalidInput(f"{obj!r} is of the API group {group!r}: this informer follows {key.gvr}")
        if key.namespace is not None and obj.namespace != key.namespace:
            raise InvalidInput(f"{obj!r} is in namespace {obj.namespace!r}: this informer follows {key.namespace!r}")
        if key.shard is not None and not key.shard.matches(obj):
            raise InvalidInput(f"{obj!r} is not in the informer's shard {key.shard!r}: it is never in the cache")
        left = shared.snapshot.get(obj.key) is not None or shared.caught_up(obj)  # it matched before that write
        if not (key.label_selector.matches(obj.labels) or left):
            raise InvalidInput(
                f"{obj!r} does not match the informer's label_selector {str(key.label_selector)!r}: "
                "it is never in the cache"
            )
