"""``wait_for``: watch a single object until a condition holds.

If the condition is not met in time, the error describes the last state seen.
"""

from __future__ import annotations

import math

import trio

from dynkube.client._availability import has_definition
from dynkube.client._conditions import Absent, Condition
from dynkube.client._objects import namespace_of_one
from dynkube.client._options import Selection
from dynkube.client._target import Target
from dynkube.client._watch.opening import open_watch
from dynkube.client._watch.stream import Watch
from dynkube.errors import DeadlineExceeded, InvalidInput, NotFound
from dynkube.meta import Added, Deleted, FieldSelector, Modified, Unstructured
from dynkube.meta._arguments import is_seconds


async def wait_for(
    target: Target, name: str, condition: Condition, namespace: str | None, timeout: float | None
) -> Unstructured | None:
    """Wait until the condition holds, and return the object."""
    if not name:
        raise InvalidInput("name is empty: pass the name of the object to wait for")
    if timeout is not None and not is_seconds(timeout):
        raise InvalidInput(f"timeout must be a positive number of seconds, or None for no deadline, not {timeout!r}")
    seconds = math.inf if timeout is None else timeout
    waiting = _Waiting(condition)
    with trio.move_on_after(seconds):
        default = target.session.namespace
        resource, namespace = await target.resolve_for(
            lambda found: namespace_of_one(found, namespace, default=default)
        )
        try:
            await waiting.until(target, name, namespace)
        except NotFound:  # the objects do not exist any more either, if the resource is gone in all its versions
            gone = isinstance(condition, Absent) and waiting.uninstalled
            if not gone or await has_definition(target, resource.gvr):
                raise
        return waiting.last
    where = f" in namespace {namespace!r}" if namespace else ""
    raise DeadlineExceeded(
        f"{target.spec} {name!r}{where} was not {waiting.condition} within {seconds:g} s; "
        f"last seen: {waiting.explain()}"
    )


class _Waiting:
    """State of one wait: the condition and the object as last seen."""

    def __init__(self, condition: Condition) -> None:
        self.condition = condition
        self.present: Unstructured | None = None
        self.last: Unstructured | None = None  # kept after the object was deleted
        self.uninstalled: bool = False
        """Whether the watch has ended, as it was confirmed that its resource is not served in any version."""
        self._asked = False

    async def until(self, target: Target, name: str, namespace: str | None) -> None:
        """Return once the condition holds."""
        selection = Selection(field_selector=FieldSelector.parse({"metadata.name": name}))
        async with open_watch(target, namespace, selection, resource_version=None, bookmarks=False) as events:
            self._asked = True
            if not events.pending and self._see(None):
                return
            try:
                await self._follow(events)
            finally:
                self.uninstalled = events._is_uninstalled

    async def _follow(self, events: Watch) -> None:
        async for event in events:
            match event:
                case Added(obj) | Modified(obj) if self._see(obj):
                    return
                case Deleted() if self._see(None):
                    return

    def _see(self, obj: Unstructured | None) -> bool:
        holds = self.condition.holds(obj)
        self.present = obj
        if obj is not None and not (holds and isinstance(self.condition, Absent)):
            self.last = obj
        return holds

    def explain(self) -> str:
        """Describe the last state seen."""
        return self.condition.seen(self.present) if self._asked else "nothing, the server did not respond"
