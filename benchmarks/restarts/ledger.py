"""A record of the objects and resources on the server, with which the events of handlers are compared."""

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
    """The served resources, the existing objects, and the deleted ones.

    Attributes:
        objects: the UID of each existing object, by resource.
        deleted: UIDs of objects of which the deletion was requested, or that a restored backup does not have.
        served_since: the times, on trio's clock, since which resources are served.
        writes: how many writes succeeded, by verb.
    """

    objects: dict[GVR, dict[Key, str]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    served_since: dict[GVR, float] = field(default_factory=dict)
    writes: Counter[str] = field(default_factory=Counter)

    def add_resource(self, resource: Resource) -> None:
        """Record that a resource is served from now on."""
        self.served_since[resource.gvr] = trio.current_time()
        self.objects.setdefault(resource.gvr, {})

    def remove_resource(self, resource: Resource) -> None:
        """Record that a resource is about to be deleted, with its objects. No write to it may be in flight."""
        self.served_since.pop(resource.gvr, None)
        self.deleted |= set(self.objects.pop(resource.gvr, {}).values())

    def serves(self, gvr: GVR) -> bool:
        """Return whether a resource is recorded as served."""
        return gvr in self.served_since

    def set_objects(self, objects: Mapping[GVR, Mapping[Key, str]]) -> None:
        """Record that the server has exactly these objects, also those of requests that got no response."""
        self.objects = {gvr: dict(uids) for gvr, uids in objects.items()}
        self.deleted -= {uid for uids in objects.values() for uid in uids.values()}

    def rewind(self, objects: Mapping[GVR, Mapping[Key, str]]) -> None:
        """Record that the server is being restored from a backup with these objects.

        Newer objects are deleted, and deleted ones exist again.
        """
        self.deleted |= {uid for uids in self.objects.values() for uid in uids.values()}
        self.set_objects(objects)
