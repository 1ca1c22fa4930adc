"""What may be waited for on an informer: the first truth, a phase, a write of one's own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from functools import partial

import trio

from dynkube.errors import ClosedError, InvalidInput
from dynkube.informers._reads import Reads
from dynkube.informers._states import Phase, State
from dynkube.meta import Unstructured, is_older


class Waits(Reads):
    """The waits of an :class:`Informer`. They belong in the event loop's thread; cancelled, they only stop waiting."""

    _closed: bool
    _entering: trio.Event | None
    """While it is being entered: set when that has ended, well or not."""

    @property
    def has_synced(self) -> bool:
        """Whether the initial truth was known and handled by every handler there was; once true, stays true."""
        return self._view.synced

    async def wait_synced(self) -> None:
        """Wait until the truth is known: the resource is absent, or its objects are here.

        Every handler registered before has handled them by then. While the server cannot be reached, or
        forbids listing, it waits: put a timeout around it (``trio.fail_after``) and look at :attr:`state`. Unlike
        client-go's ``WaitForCacheSync``, it does not wait for ever where the resource does not exist.

        Raises:
            ClosedError: the informer was not entered, or is closed, perhaps before that.
        """
        await self._until_entered()
        await self._view.settled.wait()
        if not self._view.synced:
            raise ClosedError("the informer was closed before it had synced")
        self._check_open()

    def _check_open(self) -> None:
        """Refuse what has no effect any more."""
        if self._closed or (self._shared is not None and self._shared.state.phase is Phase.STOPPED):
            raise ClosedError("this informer is closed, and nothing will change: make another one")

    async def _until_entered(self) -> None:
        """Wait while it is being entered. Refuse what would wait for ever, as nothing is followed yet."""
        while self._shared is None and self._entering is not None:
            await self._entering.wait()
        if self._shared is None and not self._closed:
            raise ClosedError(
                "this informer was not entered, so it follows nothing: use it inside "
                "'async with client.informer(...) as informer:'"
            )

    async def wait_state(self, *phases: Phase) -> State:
        """Wait until the phase is one of ``phases``, and return the state; at once if it is now.

        Raises:
            InvalidInput: no phase was given, or something that is none.
            ClosedError: the informer was not entered, or was closed while waiting for another phase.
        """
        if not phases or any(phase not in tuple(Phase) for phase in phases):
            known = ", ".join(Phase)
            raise InvalidInput(f"wait_state takes one or more of {known} (dynkube.LIVE, ...), not {phases!r}")
        while (state := self.state).phase not in phases:
            await self._progress(f"become {' or '.join(phases)}")
        await trio.lowlevel.checkpoint()
        return state

    async def _progress(self, awaited: str) -> None:
        """Wait until the state or the version of the cache changes, or it was entered."""
        shared = self._shared
        await self._until_entered()
        if self._shared is None or self._shared.state.phase is Phase.STOPPED:
            raise ClosedError(f"the informer is {self.state}, it will not {awaited}")
        if shared is not None:  # else there is a state to look at
            await shared.progress.wait()

    async def states(self) -> AsyncGenerator[State, None]:
        """The state now, then each other state as it comes: another phase, reason or message.

        Of states that pass while the consumer is busy only the newest is given. Ends after ``STOPPED`` when
        the informer is closed. Put ``contextlib.aclosing`` around it where the loop may be left early.
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
        """Wait until the cache has caught up with ``obj``, as a write returned it: read your writes.

        It returns once the cache holds that version or a newer one, or has followed the server's history up to
        there (the object may have been deleted since). Also if the resource is known to be absent since that write;
        otherwise an object in hand is evidence that its resource is served, and an informer that is ABSENT lists it.

        Cancelling stops the waiting alone. There is no deadline: put ``trio.fail_after`` around it.

        Raises:
            InvalidInput: ``obj`` has no resourceVersion, or the informer does not follow objects like it: it is of
                another API group, in another namespace, or the label selector does not match it.
            ClosedError: the informer was not entered, or was closed while waiting.
        """
        given: object = obj  # callers are not always type-checked
        if not isinstance(given, Unstructured) or not given.resource_version:
            raise InvalidInput(f"{obj!r} has no metadata.resourceVersion: pass what create, update or patch returned")
        self._check_followed(obj)
        if self._shared is not None and not self._shared.served:
            # The second message comes after the verdict that the first one may lead to.
            await self._shared.inbox.ask(partial(self._shared.object_seen, obj))
            await self._shared.inbox.ask(trio.lowlevel.checkpoint)
        while not self._caught_up(obj):
            await self._progress("catch up")
        await trio.lowlevel.checkpoint()

    def _check_followed(self, obj: Unstructured) -> None:
        """Refuse to wait for what this informer never gets."""
        shared = self._shared
        if shared is None:
            return
        key = shared.key
        group = obj.api_version.rpartition("/")[0]
        if group != key.gvr.group:
            raise InvalidInput(f"{obj!r} is of the API group {group!r}: this informer follows {key.gvr}")
        if key.namespace is not None and obj.namespace != key.namespace:
            raise InvalidInput(f"{obj!r} is in namespace {obj.namespace!r}: this informer follows {key.namespace!r}")
        left = shared.snapshot.get(obj.key) is not None or self._caught_up(obj)  # it matched before that write
        if not (key.label_selector.matches(obj.labels) or left):
            raise InvalidInput(
                f"{obj!r} does not match the informer's label_selector {str(key.label_selector)!r}: it never comes"
            )

    def _caught_up(self, obj: Unstructured) -> bool:
        shared = self._shared
        if shared is None:
            return False
        known = shared.snapshot.get(obj.key)
        if known is not None and known.uid == obj.uid and not is_older(known.resource_version, obj.resource_version):
            return True
        seen = shared.resource_version
        return shared.absent or (seen != "" and not is_older(seen, obj.resource_version))
