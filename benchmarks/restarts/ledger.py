"""What was really done on the server, so that what handlers are called with can be held to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import trio

from benchmarks.restarts.resources import Resource
from dynkube.meta import GVR
from dynkube.meta._object import Key


@dataclass(slots=True, eq=False)
class Ledger:
    """Which resources are served, which objects are there, and which were deleted.

    Attributes:
        objects: the UID of each object that is there, by resource.
        deleted: UIDs of objects of which the deletion was requested, or that a restored backup does not have.
        served_since: the resources that are served, on trio's clock.
        writes: how many writes succeeded, by verb.
    """

    objects: dict[GVR, dict[Key, str]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    served_since: dict[GVR, float] = field(default_factory=dict)
    writes: Counter[str] = field(default_factory=Counter)

    def defined(self, resource: Resource) -> None:
        """The resource is served from here on."""
        self.served_since[resource.gvr] = trio.current_time()
        self.objects.setdefault(resource.gvr, {})

    def undefined(self, resource: Resource) -> None:
        """The resource is about to go, with its objects. No write to it may be on its way."""
        self.served_since.pop(resource.gvr, None)
        self.deleted |= set(self.objects.pop(resource.gvr, {}).values())

    def serves(self, gvr: GVR) -> bool:
        """Whether the server serves a resource, and has for some time."""
        return gvr in self.served_since

    def settled(self, objects: Mapping[GVR, Mapping[Key, str]]) -> None:
        """The server has exactly these: what became of requests without an answer is known now."""
        self.objects = {gvr: dict(uids) for gvr, uids in objects.items()}
        self.deleted -= {uid for uids in objects.values() for uid in uids.values()}

    def rewind(self, objects: Mapping[GVR, Mapping[Key, str]]) -> None:
        """The server is being restored from a backup with these: later ones go, and deleted ones come back."""
        self.deleted |= {uid for uids in self.objects.values() for uid in uids.values()}
        self.settled(objects)
