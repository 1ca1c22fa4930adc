"""Listeners: handlers of all kinds, and consumers of ``events()``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol

import trio

from dynkube import Added, Deleted, Unstructured, Updated
from dynkube.errors import ClosedError
from dynkube.meta._object import Key
from tests.informers.folding import EventChecker
from tests.informers.model.ledger import Ledger
from tests.informers.model.oracle import Oracle
from tests.informers.model.watched import Watched

KINDS: Final = ("plain", "slow", "stuck", "raising", "registering", "leaving", "filtering", "changing", "stream")
_FEW = 2  # how many events of a handler change its own informer


class Stage(Protocol):
    """The effects that a handler may have on the world around it."""

    released: trio.Event
    ever_seen: set[Key]
    """The keys of all objects that ever existed: no handler can have more events waiting."""

    moves: int
    """Counts the changes of the objects that may be shown."""
    ledger: Ledger
    """The history of the server."""
    oracle: Oracle | None
    """Judges every event; ``None`` if events are not judged."""

    def listen(self, watched: Watched, kind: str) -> Listener:
        """Add another handler."""
        ...

    def set_filter(self, watched: Watched, expression: str) -> None:
        """Change a filter."""
        ...

    def change_letters(self, letters: str) -> None:
        """Change the letters that the predicate accepts."""
        ...


class Listener(EventChecker):
    """A handler, or a consumer of ``events()``, that checks its events and their timing against the promises.

    Args:
        stage: the world that it may affect.
        watched: the informer whose events it gets.
        kind: one of :data:`KINDS`. A ``stuck`` handler does not return before it is released.
    """

    def __init__(self, stage: Stage, watched: Watched, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.removed = False
        self.raised = 0
        self.ever_seen = stage.ever_seen
        self._stage = stage
        self.watched = watched
        self.refiltered = -1
        """The value of the world's ``moves`` since which only the filter was replaced, before its sync; -1 if not."""
        self._busy = False
        self.in_hand: Key | None = None
        """The key of the event in progress. A changed UID is two events, taken at once: the second may be next."""
        self._events = 0
        self._deletions = 0
        self._gone: dict[str, int] = {}  # UIDs that were reported as deleted, each with the moment of the ledger
        self._taken_late = 0  # events that a stream returned after it was cancelled
        self._scope = trio.CancelScope()
        watched.listeners.append(self)
        if kind != "stream":
            slow = kind in ("slow", "stuck")
            steps: list[Any] = [
                self._slowly(s) if slow else self._at_once(s) for s in (self.add, self.update, self.delete)
            ]
            self.handle = watched.informer.add_handler(
                on_add=steps[0], on_update=steps[1], on_delete=steps[2], on_error=self._failed, name=kind
            )

    def _failed(self, exc: Exception, event: object) -> None:
        if self.kind != "raising":
            self.wrong.append(f"{exc!r} in the handler of {event}")

    @property
    def ended(self) -> bool:
        # A task that was woken before it was cancelled still returns the event for which it was woken: one.
        return self.removed and (self.is_handler or self._taken_late > 1)

    def may_go_back(self, obj: Unstructured, newest: int) -> bool:
        return self._stage.ledger.may_follow(self.watched.gvr, str(newest), obj)

    def may_differ(self, obj: Unstructured) -> bool:
        known = self.folded.get(obj.key)
        if known is not None and known.api_version != obj.api_version and not self.watched.gvr.version:
            return True
        states = [stored for _, stored in self._stage.ledger.written(self.watched.gvr, obj)]
        return any(state != states[0] for state in states)

    @property
    def is_handler(self) -> bool:
        """Whether this is a handler and not the consumer of a stream."""
        return self.kind != "stream"

    def remove(self) -> None:
        """Remove the handler or cancel the stream; no further event may come."""
        if self.is_handler:
            self.handle.remove()
        else:
            self._scope.cancel()
        self.removed = True

    # ── receiving events ─────────────────────────────────────────────────────────────────────

    def _at_once(self, step: Callable[..., None]) -> Callable[..., None]:
        def handle(*objects: Unstructured) -> None:
            with self._handling(step, objects):
                self._affect_world()

        return handle

    def _slowly(self, step: Callable[..., None]) -> object:
        async def handle(*objects: Unstructured) -> None:
            with self._handling(step, objects):
                if self.kind == "slow":
                    await trio.sleep(7)
                else:
                    await self._stage.released.wait()

        return handle

    async def consume(self) -> None:
        """Consume ``events()`` until removed, or until the informer is closed."""
        with self._scope:
            async with self.watched.informer.events() as events:
                async for event in events:
                    self._take(event)

    def _take(self, event: Added | Updated | Deleted) -> None:
        self._taken_late += self.removed
        if isinstance(event, Updated):
            step: Callable[..., None] = self.update
            objects: tuple[Unstructured, ...] = (event.old, event.new)
        else:
            step, objects = (self.add if isinstance(event, Added) else self.delete), (event.object,)
        with self._handling(step, objects):
            pass

    @contextmanager
    def _handling(self, step: Callable[..., None], objects: tuple[Unstructured, ...]) -> Iterator[None]:
        self.expect(not self._busy, "a handler ran concurrently with itself")
        initial = self.is_handler and not self.handle.has_synced
        late = not initial and self.refiltered == self._stage.moves
        self.expect(not late, "it had synced before it was shown what the new filter shows")
        self._busy = True
        if self._stage.oracle is not None:
            deleted = step == self.delete
            self.wrong.extend(self._stage.oracle.event(self.watched, objects[-1], deleted=deleted))
            self._expect_no_return(objects[-1], deleted=deleted)
        try:
            self._events += 1
            self._deletions += step == self.delete
            self.in_hand = objects[-1].key
            step(*objects)
            self._check_reads(objects[-1], shown=step != self.delete)
            yield
        finally:
            self._busy = False
            self.in_hand = None
            if initial and self.handle.has_synced:
                self.wrong.append("it has synced while it was handling an initial event")

    def _expect_no_return(self, obj: Unstructured, *, deleted: bool) -> None:
        """Expect that an object that was deleted, and reported as deleted, is not shown again."""
        ledger, gvr = self._stage.ledger, self.watched.gvr
        if deleted:
            self._gone[obj.uid] = ledger.moment
        elif (since := self._gone.pop(obj.uid, None)) is not None:
            exists = any(state is not None for state in ledger.states_since(gvr, obj, since))
            self.expect(exists, f"{obj!r} came back, and has not existed since it was reported as deleted")

    def _check_reads(self, obj: Unstructured, *, shown: bool) -> None:
        """Check that reads from a handler agree with each other and are at least as recent as its event."""
        self.wrong.extend(self.watched.contradictions())
        now = self.watched.informer.get(obj.name, namespace=obj.namespace or None)
        if shown and now is not None and now.uid == obj.uid:
            behind = int(now.resource_version) < int(obj.resource_version)
            restored = behind and self._stage.ledger.may_follow(self.watched.gvr, obj.resource_version, now)
            self.expect(not behind or restored, f"reads are behind {obj!r}")

    def _affect_world(self) -> None:
        if self.kind == "raising":
            self.raised += 1
            raise ValueError("a handler of this kind always fails")
        if self.kind == "leaving" and (self._events == _FEW or self._deletions):
            self.remove()
        if self._events > _FEW:
            return
        if self.kind == "registering":
            self._stage.listen(self.watched, "plain")
        elif self.kind == "filtering":
            self._stage.set_filter(self.watched, "team" if self.watched.shown == "all" else "all")
        elif self.kind == "changing":
            self._stage.change_letters("b" if self._events == 1 else "ab")

    # ── having synced ────────────────────────────────────────────────────────────────────────

    async def wait_synced(self) -> bool:
        """Wait for the handler's initial sync; return ``False`` if it never syncs."""
        try:
            await self.handle.wait_synced()
        except ClosedError:
            return False
        return True

    def __repr__(self) -> str:
        return f"<{self.kind} listener on {self.watched.gvr}>"
