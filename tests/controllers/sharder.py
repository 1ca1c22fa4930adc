"""The sharder of kubernetes-controller-sharding v1.0, for tests: it assigns the objects of one ring to shards.

Its two controllers (``pkg/controller/shardlease``, ``pkg/controller/sharder``) and its webhook run as one step a
second. Objects are assigned by the sum of the characters of their names instead of consistent hashing.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import trio

from dynkube_testing import APIServer
from tests.controllers.kit import START

PREFIX = "alpha.sharding.timebertt.dev/"


def wall_clock() -> datetime:
    """The clock of all processes and of the sharder."""
    return START + timedelta(seconds=trio.current_time())


class Sharder:
    """Assigns the widgets of a server to the shards of a ring, until cancelled."""

    def __init__(self, server: APIServer, ring: str = "widgets") -> None:
        self.server = server
        self.ring = ring
        self.shard_label = f"shard.{PREFIX}{ring}"
        self.drain_label = f"drain.{PREFIX}{ring}"
        self.drains = 0

    async def run(self) -> None:
        """Process all shards and objects once a second."""
        while True:
            self.sync()
            await trio.sleep(1)

    def sync(self) -> None:
        """Update the states of shards, and drain or assign each widget that is not on the desired shard."""
        leases = [
            lease for lease in self.server.list("leases") if labels(lease).get(PREFIX + "controllerring") == self.ring
        ]
        shards = sorted(lease["metadata"]["name"] for lease in leases if self.available(lease))
        if not shards:
            return
        for obj in self.server.list("widgets"):
            current, desired = labels(obj).get(self.shard_label), self.desired(obj, shards)
            if current in shards and current != desired:
                self.drain(obj)
            elif current != desired:
                self.assign(obj, desired, moved=current is not None)

    def desired(self, obj: dict[str, Any], shards: list[str]) -> str:
        """Return the shard to which an object should be assigned."""
        return shards[sum(map(ord, obj["metadata"]["name"])) % len(shards)]

    def available(self, lease: dict[str, Any]) -> bool:
        """Return whether a shard may get objects; label its Lease, and acquire it a full duration after its expiry."""
        spec = lease["spec"]
        age = (wall_clock() - datetime.fromisoformat(spec["renewTime"])).total_seconds()
        held, duration = spec.get("holderIdentity") == lease["metadata"]["name"], spec["leaseDurationSeconds"]
        state = "dead" if not held else "ready" if age < duration else "expired" if age < 2 * duration else "uncertain"
        if state == "uncertain":
            time = wall_clock().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            taken = {"holderIdentity": "shardlease-controller", "leaseDurationSeconds": 2 * duration, "renewTime": time}
            self.server.update(labelled({**lease, "spec": {**spec, **taken}}, {PREFIX + "state": state}))
        elif labels(lease).get(PREFIX + "state") != state:
            self.server.update(labelled(lease, {PREFIX + "state": state}))
        return state != "dead"

    def drain(self, obj: dict[str, Any]) -> None:
        """Ask the shard of an object to release it."""
        if self.drain_label not in labels(obj):
            self.drains += 1
            self.server.update(labelled(obj, {self.drain_label: "true"}))

    def assign(self, obj: dict[str, Any], shard: str, *, moved: bool) -> None:
        """Assign an object without a shard, as the webhook does, or one whose shard is not available."""
        changes: dict[str, str | None] = {self.shard_label: shard, **({self.drain_label: None} if moved else {})}
        self.server.update(labelled(obj, changes))


def labels(obj: dict[str, Any]) -> dict[str, str]:
    """Return the labels of an object."""
    found: dict[str, str] = obj["metadata"].get("labels") or {}
    return found


def labelled(obj: dict[str, Any], changes: dict[str, str | None]) -> dict[str, Any]:
    """Return the object with some labels changed; those that are ``None`` are removed."""
    changed = {name: value for name, value in {**labels(obj), **changes}.items() if value is not None}
    return {**obj, "metadata": {**obj["metadata"], "labels": changed}}
