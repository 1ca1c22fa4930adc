"""Fifty informers of several resources, and random writers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random

import httpx2
import trio

from dynkube import LIVE, Client, Filter, Informer, LabelFilter, NamespaceFilter, Unstructured
from dynkube.informers import InformerStatistics
from dynkube.meta._object import Key
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject
from tests.informers.folding import Subscription

SHARDS = 8
_BUILTIN = {"configmaps": "configmaps.v1", "secrets": "secrets.v1", "services": "services.v1"}
# Seconds; longer than the maximum delay between retries of an informer.
_RECOVERY = 100.0


@dataclass(kw_only=True)
class Fleet:
    """A cluster with objects in shards, and the informers that follow them."""

    cluster: Cluster
    members: list[Member] = field(default_factory=list)
    written: int = 0
    _progress: trio.Event = field(default_factory=trio.Event)

    @property
    def resources(self) -> dict[str, str]:
        custom = {plural: f"{plural}.v1.{self.cluster.group}" for plural in ("widgets", "gadgets")}
        return _BUILTIN | custom

    def body(self, plural: str, name: str, shard: int, **labels: str) -> JSONObject:
        """Return an object of one of the resources."""
        metadata = {"name": name, "labels": {"of": self.cluster.namespace, "shard": str(shard), **labels}}
        spec = {"services": {"spec": {"ports": [{"port": 80}]}}}.get(plural, {})
        kinds = {"configmaps": "ConfigMap", "secrets": "Secret", "services": "Service"}
        kind = kinds.get(plural) or plural.removesuffix("s").capitalize()
        version = "v1" if plural in kinds else f"{self.cluster.group}/v1"
        return {"apiVersion": version, "kind": kind, "metadata": metadata, **spec}

    # ── writers ──────────────────────────────────────────────────────────────────────────────

    async def write_for_ever(self, random: Random) -> None:
        """Create, change and delete random objects; failed writes are not retried."""
        while True:
            plural = random.choice(list(self.resources))
            shard = random.randrange(SHARDS)
            name = f"n{shard}-{random.randrange(4)}"
            with suppress(httpx2.HTTPError):  # the server is down
                await self._write(random, plural, name, shard)
            await trio.sleep(0.03)

    async def _write(self, random: Random, plural: str, name: str, shard: int) -> None:
        path, team = self.cluster.path(plural, name), random.choice("xy")
        what = random.choice(["put", "put", "put", "delete"])
        if what == "delete":
            response = await self.cluster.call("DELETE", path)
        else:
            body = self.body(plural, name, shard, team=team, at=str(self.written))
            response = await self.cluster.call("POST", self.cluster.path(plural), body=body)
            if response.code == 409:
                labels = {"metadata": {"labels": body["metadata"]["labels"]}}
                content_type = "application/merge-patch+json"
                response = await self.cluster.call("PATCH", path, body=labels, content_type=content_type)
        if response.code < 300:
            self.written += 1
            self._progress.set()

    async def wait_writes(self, count: int) -> None:
        """Wait until ``count`` more writes have succeeded."""
        goal = self.written + count
        while self.written < goal:
            self._progress = trio.Event()
            await self._progress.wait()

    # ── checks ───────────────────────────────────────────────────────────────────────────────

    def statistics(self) -> list[InformerStatistics]:
        """Return the current statistics of each informer."""
        return [member.informer.statistics() for member in self.members]

    async def check(self) -> None:
        """Assert that all informers show the server's objects, and sent valid events; writers must have stopped."""
        marks = [
            Unstructured(await self.cluster.create(plural, self.body(plural, f"mark-{shard}", shard, team="x")))
            for plural in self.resources
            for shard in range(SHARDS)
        ]
        with trio.fail_after(_RECOVERY):
            async with trio.open_nursery() as nursery:
                for member in self.members:
                    nursery.start_soon(member.wait_for, [mark for mark in marks if member.shows(mark)])
        for plural in self.resources:
            listed = (await self.cluster.list_of(plural, labelSelector=f"of={self.cluster.namespace}"))["items"]
            for item in listed:
                item.setdefault("kind", self.body(plural, "", 0)["kind"])
                item.setdefault("apiVersion", self.body(plural, "", 0)["apiVersion"])
            expected = [Unstructured(item) for item in listed]
            for member in self.members:
                if member.plural == plural:
                    member.check({obj.key: obj for obj in expected if member.shows(obj)})


@dataclass(kw_only=True)
class Member:
    """One informer of the fleet, and one handler of it."""

    plural: str
    kind: str
    informer: Informer
    subscription: Subscription
    shard: str | None = None
    team: str | None = None

    def shows(self, obj: Unstructured) -> bool:
        """Return whether the informer should show an object."""
        labels = obj.labels
        return (
            obj.kind == self.kind and self.shard in (None, labels["shard"]) and self.team in (None, labels.get("team"))
        )

    async def wait_for(self, marks: list[Unstructured]) -> None:
        """Wait until the informer is live and shows the objects, and its handler has seen them."""
        await self.informer.wait_state(LIVE)
        for mark in marks:
            await self.informer.wait_for(mark)
            await self.subscription.wait_for(mark.key)

    def check(self, expected: dict[Key, Unstructured]) -> None:
        """Assert that reads, the state built from events, and the index agree with a fresh list."""
        assert self.subscription.wrong == []
        listed = {obj.key: obj for obj in self.informer.list()}
        assert versions(listed) == versions(expected), self.informer
        assert self.subscription.folded == listed
        for team in ("x", "y"):
            found = {obj.key for obj in self.informer.by_index("team", team)}
            assert found == {key for key, obj in listed.items() if obj.labels.get("team") == team}
        stable = {key: count for key, count in self.subscription.event_counts.items() if key[1].startswith("stable")}
        assert set(stable.values()) == {1}, "untouched objects caused one event"


def versions(objects: dict[Key, Unstructured]) -> dict[Key, tuple[str, str]]:
    """Return the UID and the resourceVersion of each object."""
    return {key: (obj.uid, obj.resource_version) for key, obj in objects.items()}


@asynccontextmanager
async def launch(cluster: Cluster, client: Client) -> AsyncIterator[Fleet]:
    """Start ten informers for each of five resources: one for each shard, and two for all shards with filters."""
    await cluster.create_crd()
    await cluster.create_crd(cluster.crd("gadgets", "Gadget"))
    fleet = Fleet(cluster=cluster)
    for plural in fleet.resources:
        for number in range(SHARDS):
            await cluster.create(plural, fleet.body(plural, f"stable-{number}", number, team="x"))
    everything = f"of={cluster.namespace}"
    choices: list[tuple[str | None, str | None, Filter | None]] = [(str(n), None, None) for n in range(SHARDS)]
    choices += [(None, "x", LabelFilter("team=x")), (None, None, NamespaceFilter("!nobody-has-this"))]
    async with AsyncExitStack() as stack:
        for plural, resource in fleet.resources.items():
            for shard, team, chosen in choices:
                selector = everything if shard is None else f"{everything},shard={shard}"
                index = {"team": "{.metadata.labels.team}"}
                informer = client.informer(resource, label_selector=selector, filter=chosen, indexes=index)
                kind = fleet.body(plural, "", 0)["kind"]
                member = Member(
                    plural=plural,
                    kind=kind,
                    informer=informer,
                    subscription=Subscription(informer),
                    shard=shard,
                    team=team,
                )
                fleet.members.append(member)
                await stack.enter_async_context(informer)
        for member in fleet.members:
            await member.informer.wait_synced()
        yield fleet
