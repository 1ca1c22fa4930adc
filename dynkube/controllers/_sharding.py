"""Which of the objects this process reconciles, if several processes share them."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from random import Random
from typing import Final, Protocol

import trio

from dynkube._client import Client
from dynkube._logs import get_logger
from dynkube._server_text import word
from dynkube.controllers._controller_ring import STATE_LABEL, ControllerRing, shard_election
from dynkube.controllers._leader_election import LeaderElector
from dynkube.controllers._watches import Watch
from dynkube.meta import HashShard, LabelSelector, Unstructured

READY: Final = "ready"  # the value of STATE_LABEL with which a shard gets objects

_log: Final = get_logger("dynkube.controllers")


class Sharding(Protocol):
    """The part of the objects that this process reconciles."""

    def watched(self, watch: Watch, *, reconciled: bool) -> Watch:
        """Return a watch restricted to this part, if its objects are sharded.

        Args:
            watch: what a controller watches.
            reconciled: whether these are the objects that it reconciles, rather than others.
        """
        ...

    def reconciles(self, obj: Unstructured) -> bool:
        """Return whether this process reconciles an object of the cache of a restricted watch."""
        ...

    def handover(self, obj: Unstructured) -> dict[str, object] | None:
        """Return the merge patch by which this process gives an object up; ``None`` if it has nothing to give up.

        To be sent while no reconcile of the object is running, and none can start.
        """
        ...

    @property
    def problem(self) -> str:
        """Why no objects are assigned to this process; ``""`` if none is known."""
        ...


class RingShard:
    """A shard of a ring, while it runs.

    Args:
        ring: the settings.
        client: an open client.
        rng: for jitter.
        now: the time for timestamps.

    Raises:
        InvalidInput: the name of the shard cannot be the name of a Lease.
    """

    def __init__(self, ring: ControllerRing, client: Client, *, rng: Random, now: Callable[[], datetime]) -> None:
        self._ring = ring
        self._shard = shard = ring.shard or socket.gethostname()
        self._selected = LabelSelector.parse({ring.shard_label: shard}).requirements
        self.elector = LeaderElector(client, shard_election(ring, shard), rng=rng, now=now)
        """Holds the shard's Lease."""

    def watched(self, watch: Watch, *, reconciled: bool) -> Watch:
        """Return a watch of the objects with the shard's label: of the reconciled and the ``controlled`` resources."""
        if not reconciled and not (watch.maps_to_owner and watch.resource in tuple(self._ring.controlled)):
            return watch
        given = LabelSelector.parse(watch.label_selector).requirements
        return replace(watch, label_selector=str(LabelSelector((*given, *self._selected))))

    def reconciles(self, obj: Unstructured) -> bool:
        """Return whether an object is assigned to this shard, and not drained."""
        return obj.labels.get(self._ring.shard_label) == self._shard and self._ring.drain_label not in obj.labels

    def handover(self, obj: Unstructured) -> dict[str, object] | None:
        """Return the patch that removes both labels of a drained object.

        The sharder, an admission webhook, assigns the object to another shard in the same request.
        """
        if obj.labels.get(self._ring.shard_label) != self._shard or self._ring.drain_label not in obj.labels:
            return None
        labels = {self._ring.shard_label: None, self._ring.drain_label: None}
        # With the resourceVersion: a cache that lags may show the labels of an earlier assignment.
        return {"metadata": {"resourceVersion": obj.resource_version, "labels": labels}}

    @property
    def problem(self) -> str:
        """Whether the sharder has not seen this shard, as far as its Lease shows."""
        lease = self.elector._lease
        if lease is None or not self.elector.status.leading:
            return ""
        state = lease.labels.get(STATE_LABEL)
        if state == READY:
            return ""
        if state is None:
            return (
                f"no sharder has seen the Lease of shard {self._shard} (it has no label {STATE_LABEL}), so no objects "
                "are assigned to it: install kubernetes-controller-sharding, and create ControllerRing "
                f"{self._ring.name}"
            )
        return (
            f"the sharder considers shard {self._shard} '{word(state)}', so it may assign its objects to others: if "
            "this lasts, compare the clocks of both machines"
        )

    async def warn_unless_ready(self) -> None:
        """Log a warning if the sharder has not seen this shard within the duration of its Lease."""
        await trio.sleep(self._ring.lease_duration)
        if problem := self.problem:
            _log.warning("%s", problem)


class HashSharding:
    """A part of the objects by a hash, for as long as the process runs.

    Args:
        shard: the part.
    """

    problem: Final = ""

    def __init__(self, shard: HashShard) -> None:
        self._shard = shard

    def watched(self, watch: Watch, *, reconciled: bool) -> Watch:
        """Return a watch of this part of the reconciled objects; an owned object has another hash than its owner."""
        return replace(watch, shard=self._shard) if reconciled else watch

    def reconciles(self, obj: Unstructured) -> bool:
        """Return ``True``: the cache has only the objects of this part."""
        return True

    def handover(self, obj: Unstructured) -> None:
        """Return ``None``: an object stays in its part."""
