"""The parts of the cache of a collection: one list and watch, of one namespace or of all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from dynkube.errors import DynkubeError
from dynkube.informers._parts.part import Owner, Part
from dynkube.informers._reflector.counters import ReflectorStatistics
from dynkube.informers._states import Phase, State


class Parts(Protocol):
    """The parts of a cache, while its resource is served."""

    def __iter__(self) -> Iterator[Part]:
        """Iterate over the parts in use."""
        ...

    @property
    def state(self) -> State:
        """The state of all together."""
        ...

    @property
    def known(self) -> bool:
        """Whether the content of each is that of the cluster."""
        ...

    @property
    def statistics(self) -> ReflectorStatistics:
        """The counters of all together."""
        ...

    @property
    def resource_version(self) -> str:
        """The version up to which everything is known; ``""`` before the first list."""
        ...

    def version_of(self, namespace: str) -> str | None:
        """Return the version up to which a namespace is known; ``None`` if its objects may not be listed."""
        ...

    def lacks(self, namespace: str) -> bool:
        """Return whether a namespace is known not to be watched."""
        ...

    def state_changed(self) -> None:
        """Handle that the state of a part has changed."""
        ...

    def listed(self, part: Part) -> None:
        """Handle that a complete list of a part was published."""
        ...

    def start(self) -> None:
        """List and watch, or list again, as the resource is newly served."""
        ...

    def stop(self) -> None:
        """End all lists and watches. The objects stay."""
        ...

    def clear(self) -> None:
        """Drop all objects, as the resource is not served any more."""
        ...

    async def refused(self, part: Part, exc: DynkubeError, asked: float) -> bool:
        """Handle that a part may not be listed.

        Args:
            part: the part.
            exc: the refusal.
            asked: when the list was begun.

        Returns:
            Whether that is normal, so that it is not a failure.
        """
        ...


class OnePart:
    """The only part of a cache: all namespaces or one, or a cluster-scoped resource."""

    __slots__ = ("_namespace", "_owner", "_part", "_started")

    def __init__(self, owner: Owner, namespace: str | None) -> None:
        self._owner = owner
        self._namespace = namespace
        self._part: Part | None = None  # created when the resource is served, as an absent one must take little memory
        self._started = False

    def __iter__(self) -> Iterator[Part]:
        return iter(() if self._part is None else (self._part,))

    @property
    def state(self) -> State:
        """The state of the part."""
        return self._part.state if self._part is not None else State(Phase.SYNCING, "Listing")

    @property
    def known(self) -> bool:
        """Whether the objects were listed."""
        return self._part is not None and self._part.known

    @property
    def statistics(self) -> ReflectorStatistics:
        """The counters of the part."""
        return self._part.statistics if self._part is not None else ReflectorStatistics()

    @property
    def resource_version(self) -> str:
        """The last version received; ``""`` before the first list."""
        return self._part.cache.resource_version if self._part is not None else ""

    def version_of(self, namespace: str) -> str | None:
        """Return the last version received."""
        return self.resource_version

    def lacks(self, namespace: str) -> bool:
        """Return ``False``: what is watched is in the key of the cache."""
        return False

    def state_changed(self) -> None:
        """Show the state."""
        self._owner.show_state()

    def listed(self, part: Part) -> None:
        """Do nothing: the owner settles."""

    def start(self) -> None:
        """List and watch."""
        if self._part is None:
            self._part = Part(self._owner, self._namespace)
        # List from etcd if the CRD was deleted before, as a watch cache may still have the objects of the old CRD.
        self._part.start(consistent=self._started)
        self._started = True

    def stop(self) -> None:
        """End the list or watch."""
        if self._part is not None:
            self._part.stop()

    def clear(self) -> None:
        """Drop all objects."""
        if self._part is not None:
            self._part.cache.publish(self._part.cache.emptied())

    async def refused(self, part: Part, exc: DynkubeError, asked: float) -> bool:
        """Return ``False``: it is a failure, and the objects that are known are kept."""
        return False
