"""A handler that keeps the state implied by its events, and checks the promises P1 to P4 of informers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import trio

from dynkube import Informer, Unstructured
from dynkube.meta._object import Key


class EventChecker:
    """Keeps the state implied by the events of a handler or stream, and records violations of the promises."""

    def __init__(self) -> None:
        self.folded: dict[Key, Unstructured] = {}
        self.newest: dict[tuple[Key, str], int] = {}
        self.event_counts: Counter[Key] = Counter()
        self.wrong: list[str] = []
        self.progress = trio.Event()

    @property
    def ended(self) -> bool:
        """Whether no further event may come."""
        return False

    def may_go_back(self, obj: Unstructured, newest: int) -> bool:
        """Whether ``obj`` may come after ``newest``, a higher version of it, because a backup was restored."""
        return False

    def may_differ(self, obj: Unstructured) -> bool:
        """Whether its resourceVersion stands for several states, because a restore has rewound the revisions."""
        return False

    def expect(self, condition: bool, message: str) -> None:
        if not condition:
            self.wrong.append(message)
        elif self.ended:
            self.wrong.append("an event came after the end")

    def advance(self, obj: Unstructured) -> None:
        version, one = int(obj.resource_version), (obj.key, obj.uid)
        newest = self.newest.get(one, 0)
        self.expect(newest <= version or self.may_go_back(obj, newest), f"{obj!r} went back from version {newest}")
        self.newest[one] = version
        self.folded[obj.key] = obj
        self.event_counts[obj.key] += 1
        self.progress.set()

    def add(self, obj: Unstructured) -> None:
        self.expect(obj.key not in self.folded, f"{obj!r} was added twice")
        self.advance(obj)

    def update(self, old: Unstructured, new: Unstructured) -> None:
        self.expect(self.folded.get(new.key) == old, f"update of {new!r} from a state that was not shown")
        self.expect(old.uid == new.uid, f"update of {new!r} from another object")
        other = old.resource_version != new.resource_version or self.may_differ(new)
        self.expect(other, f"update of {new!r} without a change")
        self.advance(new)

    def delete(self, obj: Unstructured) -> None:
        self.expect(self.folded.pop(obj.key, None) == obj, f"{obj!r} was deleted in a state that was not shown")
        self.event_counts[obj.key] += 1
        self.progress.set()

    async def wait_for(self, key: Key) -> None:
        """Wait until an object with this key was delivered."""
        while key not in self.folded:
            await self.wait_event()

    async def wait_event(self) -> None:
        """Wait for the next event."""
        self.progress = trio.Event()
        await self.progress.wait()


class Subscription(EventChecker):
    """A handler that checks its events.

    Args:
        informer: the informer to subscribe to.
        pause: seconds that the handler takes for each event, as an async function; ``None`` for a plain function.
    """

    def __init__(self, informer: Informer, pause: float | None = None) -> None:
        super().__init__()
        self._pause = pause
        self._busy = False
        if pause is None:
            self.handle = informer.add_handler(on_add=self.add, on_update=self.update, on_delete=self.delete)
        else:
            slow: list[Any] = [self.slowly(step) for step in (self.add, self.update, self.delete)]
            self.handle = informer.add_handler(on_add=slow[0], on_update=slow[1], on_delete=slow[2])

    def slowly(self, step: Callable[..., None]) -> object:
        async def handle(*objects: Unstructured) -> None:
            self.expect(not self._busy, "a handler ran concurrently with itself")
            self._busy = True
            step(*objects)
            await trio.sleep(self._pause or 0)
            self._busy = False

        return handle

    @property
    def handle_closed(self) -> bool:
        return hasattr(self, "handle") and " removed " in repr(self.handle)

    @property
    def ended(self) -> bool:
        return self.handle_closed
