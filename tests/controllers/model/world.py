"""Plays a script: a server, its users, the processes, the faults, and the oracle that judges them all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any, Final

import trio

from dynkube.controllers import ObjectKey
from dynkube.controllers._work_queue import MAX_OVERTAKING
from dynkube.errors import APIError, NoMatch
from dynkube_testing import APIServer, Fault, Lag
from tests.controllers.model.effects import EFFECTS, WRITES, Recorded, Slow, WithoutFinalizers
from tests.controllers.model.history import SENT, content, run_of
from tests.controllers.model.oracle import Oracle
from tests.controllers.model.processes import Process
from tests.controllers.model.shapes import ELECTION, NAMESPACES, Shape
from tests.informers.kit import crd, namespace

_SETTLE: Final = 900.0
"""Seconds after the last fault in which everything has to be as it should be."""
_LOOK: Final = 20.0
_NOTICED: Final = 100.0
"""Seconds after a fault in which a client may not notice at once that a resource is back."""
_SHOWN: Final = 120.0
"""Seconds after which watches that lag, or are silent without an end, have shown what was written last."""
_QUIET: Final = 60.0
"""Seconds in which nothing happens after that."""


class World:
    """The state of a script, and its steps: each public method is one."""

    def __init__(self, shape: Shape, server: APIServer, nursery: trio.Nursery, seed: int) -> None:
        self.shape = shape
        self.server = server
        self.oracle = Oracle(server, shape)
        server._engine.storage.listen(lambda group, change: self._lease_written(group))
        self.processes = [Process(name, self.oracle, nursery, seed) for name in ("one", "two")[: shape.processes]]
        self._faults: list[Fault] = []
        self._crds_disturbed = -1.0
        server.inject(Recorded(self.oracle))

    def _lease_written(self, group: str) -> None:
        if not group.startswith("leases."):
            return
        write = self.oracle.history.writes[-1]
        run = run_of(write.author)
        holder = "" if write.after is None else content(write.after)["spec"].get("holderIdentity") or ""
        self.oracle.note(f"the lease is held by {holder or 'nobody'}")
        if run is not None and holder == f"{run.process}-{run.number}":
            run.renewed = SENT.get()

    # ── users ────────────────────────────────────────────────────────────────────────────────

    def put(self, where: str, name: str, replicas: int, size: int, team: str) -> None:
        """Create or change an object that is reconciled."""
        metadata = {"name": name, "namespace": where, "labels": {"team": team}}
        obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata}
        spec = {"replicas": replicas, "size": size}
        with suppress(APIError, NoMatch):
            try:
                stored = self.server.get("widgets", name, where)
            except APIError:
                self.server.create({**obj, "spec": spec})
                return
            metadata = {**stored["metadata"], "labels": {**stored["metadata"].get("labels", {}), "team": team}}
            self.server.update({**stored, "metadata": metadata, "spec": spec})

    async def resize(self, where: str, name: str, numbers: list[int], pause: float) -> None:
        """Change several times how many objects one owns."""
        for size, replicas in enumerate(numbers):
            self.put(where, name, replicas, size, "x")
            await trio.sleep(pause)

    def delete(self, where: str, name: str) -> None:
        """Delete an object that is reconciled."""
        with suppress(APIError, NoMatch):
            self.server.delete("widgets", name, where)

    def replace(self, where: str, name: str, replicas: int) -> None:
        """Delete an object, and create another one with its name."""
        self.delete(where, name)
        self.put(where, name, replicas, 1, "x")

    def delete_child(self, number: int) -> None:
        """Delete one of the objects that are owned."""
        if (child := self._child(number)) is not None:
            with suppress(APIError, NoMatch):
                self.server.delete(self.shape.owned, child[1], child[0])

    def change_child(self, number: int) -> None:
        """Change the content of an owned object."""
        if (child := self._child(number)) is not None:
            with suppress(APIError, NoMatch):
                stored = self.server.get(self.shape.owned, child[1], child[0])
                field = "spec" if self.shape.owned == "widgets" else "data"
                self.server.update(
                    {**stored, field: {**stored.get(field, {}), "size": -1 if field == "spec" else "no"}}
                )

    def _child(self, number: int) -> tuple[str, str] | None:
        live = self.oracle.history.live[self.shape.owned] if self.shape.owned else {}
        owned = sorted(key for key, version in live.items() if version.owners)
        return owned[number % len(owned)] if owned else None

    def secret(self, where: str, name: str, parent: str, value: str) -> None:
        """Create or change a secret that is mapped to an object."""
        labels = {"parent": parent, "value": value}
        obj = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": where, "labels": labels}}
        try:
            self.server.create(obj)
        except APIError:
            self.server.update(obj)

    def forget_secret(self, where: str, name: str) -> None:
        """Delete a secret."""
        with suppress(APIError):
            self.server.delete("secrets", name, where)

    def install(self, plural: str) -> None:
        """Create a CRD."""
        with suppress(APIError):
            self.server.create(with_status(plural))

    def uninstall(self, plural: str) -> None:
        """Delete a CRD."""
        with suppress(APIError):
            self.server.delete("customresourcedefinitions", f"{plural}.example.com")

    def reinstall(self, plural: str) -> None:
        """Delete a CRD, and create it again at once."""
        self.uninstall(plural)
        self.install(plural)

    def restore(self, seconds: float) -> None:
        """Delete the CRD of the owned objects, and restore it with them, as from a backup; their list is slow."""
        live = self.oracle.history.live["gadgets"]
        if self.shape.owned != "gadgets" or not self.oracle.server_serves("gadgets"):
            return
        before = [self.server.get("gadgets", name, where) for where, name in live]
        self.reinstall("gadgets")
        self._inject(Slow(3.0), resource="gadgets", when=lambda each: each.verb in ("list", "watch"), duration=seconds)
        for obj in before:
            metadata = {each: obj["metadata"].get(each) for each in ("name", "namespace", "labels", "ownerReferences")}
            self.server.create({**obj, "metadata": {each: value for each, value in metadata.items() if value}})
        self.oracle.restored = max(trio.current_time(), self._crds_disturbed)

    # ── time and processes ───────────────────────────────────────────────────────────────────

    async def wait(self, seconds: float) -> None:
        """Let time pass."""
        await trio.sleep(seconds)

    def start(self, number: int) -> None:
        """Start a process."""
        self._process(number).start()

    async def stop(self, number: int) -> None:
        """Stop a process."""
        await self._process(number).stop()

    async def kill(self, number: int) -> None:
        """Kill a process."""
        await self._process(number).kill()

    def _process(self, number: int) -> Process:
        return self.processes[number % len(self.processes)]

    # ── faults ───────────────────────────────────────────────────────────────────────────────

    def lag(self, resource: str, seconds: float, duration: float) -> None:
        """Have the watches of a resource lag behind."""
        self._disturb(resource)
        self._inject(Lag(seconds), verb="watch", resource=self._named(resource), duration=duration)
        self.end_watches(resource, "clean")

    def fail(self, effect: str, resource: str, verb: str, times: int, skip: int) -> None:
        """Have some requests fail."""
        self._disturb(resource)
        verbs = WRITES if verb == "write" else (verb,)
        self._inject(
            EFFECTS[effect](),
            resource=self._named(resource),
            when=lambda request: request.verb in verbs,
            times=times,
            skip=skip,
            duration=100.0,
        )

    def lose_response(self, effect: str, resource: str, seconds: float) -> None:
        """Have a write be carried out without a response, while the watch that would show it lags behind."""
        self.lag(resource, seconds, 30.0)
        self.fail(effect, resource, "write", 1, 0)

    def outage(self, effect: str, seconds: float) -> None:
        """Have all requests fail for some time."""
        self._disturb()
        self._inject(EFFECTS[effect](), when=lambda request: request.verb != "watch", duration=seconds)

    async def restart(self, seconds: float) -> None:
        """Restart the API server."""
        self._disturb()
        await self.server.restart(seconds)

    def end_watches(self, resource: str, how: str) -> None:
        """End the open watches of a resource."""
        self._disturb(resource)
        with suppress(NoMatch):
            self.server.end_watches(self._named(resource), how)  # type: ignore[arg-type]

    def compact(self) -> None:
        """Compact the history, so that watches that resume get 410."""
        self._disturb()
        self.server.compact()
        self.server.end_watches(None, "cut")

    def strip_finalizers(self, seconds: float) -> None:
        """Have a webhook remove finalizers."""
        self._inject(WithoutFinalizers(), resource="widgets", duration=seconds)

    def lose_lease(self, how: str) -> None:
        """Delete the lease, take it, or have it not be written."""
        if self.shape.processes == 1:
            return
        if how in EFFECTS:
            self._inject(EFFECTS[how](), resource="leases", duration=ELECTION.lease_duration + 10)
            return
        self.oracle.tampered = trio.current_time() + ELECTION.renew_deadline + 1
        with suppress(APIError):
            if how == "delete":
                self.server.delete("leases", ELECTION.name)
            else:
                lease = self.server.get("leases", ELECTION.name)
                self.server.update({**lease, "spec": {**lease["spec"], "holderIdentity": "somebody"}})

    def _disturb(self, resource: str = "customresourcedefinitions") -> None:
        if resource == "customresourcedefinitions":
            self._crds_disturbed = trio.current_time() + _NOTICED

    def _named(self, resource: str) -> str:
        return {"child": self.shape.owned or "secrets"}.get(resource, resource)

    def _inject(self, effect: Any, **matching: Any) -> None:
        self._faults.append(self.server.inject(effect, **matching))

    # ── the end ──────────────────────────────────────────────────────────────────────────────

    async def settle(self) -> None:
        """End all faults, and check that everything becomes and stays as it should be."""
        for fault in self._faults:
            fault.remove()
        for plural in ("widgets", "gadgets"):
            self.install(plural)
        for process in self.processes:
            process.start()
        self.oracle.note("settling")
        left = ["not looked yet"]
        deadline = trio.current_time() + _SETTLE
        while left and trio.current_time() < deadline and not self.oracle.wrong:
            await trio.sleep(_LOOK)
            late = [f"{process.name} has not synced" for process in self.processes if not process.synced]
            left = late or self.oracle.unsettled(self._runs())
        for each in left:
            self.oracle.violation(f"after {_SETTLE:g} s {each}")
        if not left:
            await self._stays_quiet()

    async def _stays_quiet(self) -> None:
        await trio.sleep(_SHOWN)
        calls, writes = len(self.oracle.calls), len(self.oracle.history.writes)
        await trio.sleep(_QUIET)
        made = [each for each in self.oracle.history.writes[writes:] if each.resource in self.shape.watched]
        if made:
            self.oracle.violation(f"{len(made)} writes although nothing has changed, such as: {made[0]}")
        called = len(self.oracle.calls) - calls
        keys = len({each.key for each in self.oracle.calls[calls:]})
        interval = self.shape.interval
        if called > (0 if interval is None else keys * 2 * (_QUIET / interval + 1)):
            self.oracle.violation(f"{called} calls of {keys} keys although nothing has changed")
        for each in self.oracle.unsettled(self._runs()):
            self.oracle.violation(f"at the end {each}")
        if interval is not None:
            work = self.shape.pause * len(self.oracle.history.live["widgets"]) / self.shape.concurrency
            overtaken = MAX_OVERTAKING if work > interval / 2 else 0.0
            self._check_called_again(1.2 * interval + _LOOK + overtaken)

    def _check_called_again(self, seconds: float) -> None:
        recent = {each.key for each in self.oracle.calls if each.began > trio.current_time() - seconds}
        for key, version in self.oracle.history.live["widgets"].items():
            if self.shape.reconciles(key[0], version.labels) and ObjectKey(*key) not in recent:
                self.oracle.violation(f"widget {key} was not reconciled again within {seconds:g} s")

    def _runs(self) -> list[Any]:
        return [each.run for each in self.processes if each.run is not None]


def with_status(plural: str) -> dict[str, Any]:
    """Return a CRD with the subresource status."""
    found = crd(plural)
    for version in found["spec"]["versions"]:
        version["subresources"] = {"status": {}}
    return found


@asynccontextmanager
async def opened(shape: Shape, seed: int) -> AsyncIterator[World]:
    """Run a server, and start the processes."""
    async with APIServer(random=Random(seed), audit_limit=10, watch_list=shape.streaming) as server:
        for name in NAMESPACES[1:]:
            server.create(namespace(name))
        async with trio.open_nursery() as nursery:
            world = World(shape, server, nursery, seed)
            yield world
            for process in world.processes:
                await process.stop()
