"""A join under test: two informers, and one async handler for both, which fails at its first event."""

from __future__ import annotations

import trio

from dynkube import GVR, Unstructured
from dynkube.informers import Join
from dynkube.meta._object import Key


class Joined:
    """A join of informers, each of one namespace, named like it.

    Args:
        gvr: the resource.
        join: the join, not entered yet.
    """

    def __init__(self, gvr: GVR, join: Join) -> None:
        self.gvr = gvr
        self.join = join
        self.folded: dict[Key, Unstructured] = {}
        """The objects of which the handler got more adds than deletes."""
        self._failed = False
        join.add_handler(on_add=self._added, on_update=self._updated, on_delete=self._deleted, on_error=self._ignore)

    async def _added(self, cluster: str, obj: Unstructured) -> None:
        self.folded[obj.key] = obj
        await self._fail_once()

    async def _updated(self, cluster: str, old: Unstructured, new: Unstructured) -> None:
        self.folded[new.key] = new
        await self._fail_once()

    async def _deleted(self, cluster: str, obj: Unstructured) -> None:
        del self.folded[obj.key]
        await self._fail_once()

    async def _fail_once(self) -> None:
        await trio.lowlevel.checkpoint()
        if not self._failed:
            self._failed = True
            raise ValueError("the first event always fails")

    def _ignore(self, exc: Exception, event: object) -> None:
        """Do nothing: the failure is intended."""

    def check(self) -> None:
        """Check that the events add up to what reads show."""
        shown = {obj.object.key: obj.object for obj in self.join.list()}
        assert self.folded == shown, f"the handler of the join got the events of {self.folded}, and reads show {shown}"
