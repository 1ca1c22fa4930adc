"""Whether pods belong to an object, directly or through other objects.

Ownership is read upwards, from a pod to its owners, as the kinds between a custom resource and its pods are not known.
:meth:`Owners.verdict` is a pure function of what was read; :meth:`Owners.read` sends one request.

An owner that could not be read is unknown: it may belong to the object. An owner that was read is read again at
intervals while pods depend on it, as it may be adopted later, which no event of the pod shows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import trio

from dynkube._logs import get_logger
from dynkube.client._client import APIClient
from dynkube.errors import ClosedError, ConfigError, DynkubeError, Forbidden, InvalidInput
from dynkube.errors._evidence import Evidence, evidence_of, proves_deletion
from dynkube.meta import GVK, Unstructured
from dynkube.rest._backoff import Backoff

_log = get_logger("dynkube.pods")

_DEEPEST: Final = 20
_MOST_KNOWN: Final = 10_000
_INTERVAL: Final = 30.0  # seconds until an owner is read again
_GAP: Final = 0.5  # the same for each of many owners: at most two requests a second
_LONGEST_PAUSE: Final = 15.0  # seconds, twice that with jitter
_PARALLEL: Final = 8  # a server that does not respond for one kind must not delay the others


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The object whose pods are wanted.

    Attributes:
        uid: its UID.
        gvk: its kind.
        name: its name: an object that is created again with it takes its place.
        namespace: its namespace; ``""`` if it is cluster-scoped.
    """

    uid: str
    gvk: GVK
    name: str
    namespace: str

    def is_named_by(self, owner: Owner) -> bool:
        """Whether a reference is to an object of this kind and name."""
        same_place = self.namespace in {"", owner.namespace}
        same_kind = (owner.gvk.group, owner.gvk.kind) == (self.gvk.group, self.gvk.kind)
        return same_place and same_kind and owner.name == self.name


@dataclass(slots=True, kw_only=True, eq=False)
class Owner:
    """An object that owns pods, or owners of pods.

    Attributes:
        uid: its UID, as the reference has it.
        gvk: its kind.
        name: its name.
        namespace: that of the pods.
        references: its own owners; ``None`` until it was read.
        error: why the last request failed.
        failures: the number of requests that failed in a row.
        reading: whether it is being requested.
    """

    uid: str
    gvk: GVK
    name: str
    namespace: str
    backoff: Backoff
    references: Collection[Mapping[str, Any]] | None = None
    error: DynkubeError | None = None
    failures: int = 0
    reading: bool = False
    read_at: float = -math.inf
    retry_at: float = -math.inf

    def due(self, interval: float) -> float:
        """Return when it is to be requested, again if it was read ``interval`` seconds ago."""
        return self.retry_at if self.references is None or self.error is not None else self.read_at + interval

    @property
    def denied(self) -> bool:
        """Whether it could not be read because the user is not authorized to; a 401 concerns all requests instead."""
        return isinstance(self.error, Forbidden) and evidence_of(self.error) is Evidence.NOT_AUTHORIZED

    def __str__(self) -> str:
        return f"{self.gvk.kind} {self.name!r}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a pod belongs to the target.

    Attributes:
        belongs: ``None`` if that is not known.
        depends_on: the owners that decide it.
    """

    belongs: bool | None
    depends_on: tuple[Owner, ...] = ()

    @property
    def unread(self) -> tuple[Owner, ...]:
        """The owners that were not read yet."""
        return tuple(owner for owner in self.depends_on if owner.references is None)

    @property
    def reason(self) -> str:
        """Why it is not known; ``""`` before a request has failed."""
        failed = next((owner for owner in self.unread if owner.error is not None), None)
        return "" if failed is None else f"its owner {failed} cannot be read: {failed.error}"


@dataclass(slots=True)
class Owners:
    """Whether pods belong to an object.

    Args:
        api: sends the requests.
        target: the object; ``None`` if all pods belong.
    """

    api: APIClient
    target: Target | None
    _known: dict[str, Owner] = field(default_factory=dict)
    _failing: set[str] = field(default_factory=set)  # uids
    _targets: set[str] = field(default_factory=set)
    _limiter: trio.CapacityLimiter = field(default_factory=lambda: trio.CapacityLimiter(_PARALLEL))

    def verdict(self, references: Collection[Mapping[str, Any]], namespace: str) -> Verdict:
        """Return whether a pod belongs to the target, as far as it is known. Does no I/O.

        Args:
            references: the ownerReferences of the pod.
            namespace: its namespace.
        """
        if self.target is None:
            return Verdict(True)
        seen = dict[str, Owner]()
        for _ in range(_DEEPEST):
            above: list[Mapping[str, Any]] = []
            for each in references:
                uid = str(each.get("uid"))
                if uid == self.target.uid or uid in self._targets:
                    return Verdict(True)
                if uid not in seen and (owner := self._owner(each, uid, namespace)) is not None:
                    seen[uid] = owner
                    above += owner.references or ()
            references = above
        found = Verdict(False, tuple(seen.values()))
        return Verdict(None, found.depends_on) if found.unread else found

    def _owner(self, reference: Mapping[str, Any], uid: str, namespace: str) -> Owner | None:
        """Return the owner that a reference names; ``None`` for an invalid one."""
        if (known := self._known.get(uid)) is not None:
            return known
        try:
            gvk, name = GVK.parse(str(reference["apiVersion"]), str(reference["kind"])), str(reference["name"])
        except (InvalidInput, KeyError):
            return None
        backoff = Backoff(cap=_LONGEST_PAUSE, random=self.api.random)
        self._known[uid] = owner = Owner(uid=uid, gvk=gvk, name=name, namespace=namespace, backoff=backoff)
        return owner

    @staticmethod
    def interval(number: int) -> float:
        """Return after how many seconds each of ``number`` owners is read again."""
        return max(_INTERVAL, _GAP * number)

    def forget_others(self, needed: Mapping[str, Owner]) -> None:
        """Forget owners of which no pod depends, if there are many."""
        if len(self._known) > _MOST_KNOWN:
            self._known = dict(needed)
            self._failing.intersection_update(needed)

    async def read(self, owner: Owner) -> None:
        """Request an owner, and remember its own owners, or why it could not be read.

        Raises:
            ClosedError: no owner can be read. So does ConfigError.
        """
        owner.reading = True
        try:
            async with self._limiter:
                found = await self._request(owner)
        except (ConfigError, ClosedError):
            raise
        except DynkubeError as error:
            self._failed(owner, error)
        else:
            owner.references, owner.error, owner.failures = found, None, 0
            self._failing.discard(owner.uid)
            owner.read_at = trio.current_time()
        finally:
            owner.reading = False

    async def _request(self, owner: Owner) -> Collection[Mapping[str, Any]]:
        resource = self.api.resource(owner.gvk)
        served = await resource.resolve()
        try:
            found = await resource.get(owner.name, namespace=owner.namespace if served.namespaced else None)
        except DynkubeError as error:
            if not proves_deletion(error):
                raise
            return ()
        if found.uid != owner.uid:  # the one that owns the pod was deleted
            return ()
        if self.target is not None and self.target.is_named_by(owner):  # it was deleted, and created again
            self._targets.add(owner.uid)
        return references_of(found)

    def _failed(self, owner: Owner, error: DynkubeError) -> None:
        """Note a failure, and schedule a retry, so that all failing owners together keep a limited rate."""
        now = trio.current_time()
        owner.error, owner.failures = error, owner.failures + 1
        self._failing.add(owner.uid)
        pause = owner.backoff.next(now)
        if owner.denied:  # rights change rarely
            pause = max(pause, _LONGEST_PAUSE)
        owner.retry_at = now + max(pause, _GAP * len(self._failing))
        if owner.failures == 1:
            _log.warning("%s, an owner of pods, cannot be read, and is requested again: %s", owner, error)


def references_of(obj: Unstructured) -> list[Mapping[str, Any]]:
    """Return the ownerReferences of an object."""
    return list(obj.get("metadata", {}).get("ownerReferences") or ())
