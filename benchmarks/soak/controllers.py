"""Twenty controllers under faults: in the end every object is what it should be, and few writes were made for it.

    python -m benchmarks.soak controllers [--virtual-seconds 3600] [--seed 1]
    python -m benchmarks.soak controllers-cluster --folder FOLDER [--seconds 600] [--seed 1]

Each controller has a CRD of its own. Half of them apply what an object owns, half create and delete objects with
generated names; every third has a finalizer, and all set the status. Users change objects all the time, without faults.
"""

from __future__ import annotations

import base64
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final, Protocol, cast

import trio

import dynkube
from benchmarks.soak.api import API
from benchmarks.soak.clusters import Cluster
from benchmarks.soak.embedded import embedded
from benchmarks.soak.faults import FaultInjector
from benchmarks.soak.real import real
from benchmarks.soak.resources import JSONObject
from dynkube.controllers import Context, Controller, ObjectKey, run
from dynkube.errors import AlreadyExists, APIError, NotFound
from dynkube.meta import GVR
from dynkube_testing import APIServer, Cut, Disconnect, Refuse, RequestFacts
from dynkube_testing._asgi import ASGIApp, Receive, Scope, Send

COUNT: Final = 20
CRDS: Final = "customresourcedefinitions"
GROUP: Final = "fleet.example"
_NAMES: Final = tuple(f"site-{number}" for number in range(6))
_MOST: Final = 3  # objects that one owns
_WRITES: Final = ("create", "update", "patch", "delete")
_FINALIZER: Final = "fleet.example/clean"
_BOUND: Final = 2 * (_MOST + 3)
"""Most writes for each change of a user, on average: all children, the status, two for the finalizer, all repeated."""


class Users(Protocol):
    """Writes and reads without faults. Resources are plurals, with version and group."""

    async def create(self, resource: str, obj: JSONObject) -> None:
        """Create an object, unless it exists."""

    async def merge(self, resource: str, name: str, patch: JSONObject) -> None:
        """Change the spec of an object, if it exists."""

    async def delete(self, resource: str, name: str) -> None:
        """Delete an object, if it exists."""

    async def list(self, resource: str) -> list[JSONObject]:
        """Return the objects of a resource."""


class APIUsers:
    """Users of a real API server. A server that is starting responds with 503, 403 and 404: they try again."""

    def __init__(self, api: API) -> None:
        self._api = api

    async def create(self, resource: str, obj: JSONObject) -> None:
        """Create an object, unless it exists."""
        with suppress(AlreadyExists):
            await self._send("POST", _path(resource), obj)

    async def merge(self, resource: str, name: str, patch: JSONObject) -> None:
        """Change the spec of an object, if it exists."""
        with suppress(NotFound):
            await self._send("PATCH", f"{_path(resource)}/{name}", patch)

    async def delete(self, resource: str, name: str) -> None:
        """Delete an object, if it exists."""
        with suppress(NotFound):
            await self._send("DELETE", f"{_path(resource)}/{name}")

    async def list(self, resource: str) -> list[JSONObject]:
        """Return the objects of a resource."""
        while True:
            with suppress(NotFound):
                items: list[JSONObject] = (await self._send("GET", _path(resource)))["items"]
                return items
            await trio.sleep(0.5)

    async def _send(self, method: str, path: str, body: JSONObject | None = None) -> JSONObject:
        while True:
            try:
                return await self._api.request_until_done(method, path, body)
            except (AlreadyExists, NotFound):
                raise
            except APIError:
                await trio.sleep(0.5)


def _path(resource: str) -> str:
    gvr = GVR.parse(resource)
    root = f"/apis/{gvr.group}/{gvr.version}" if gvr.group else f"/api/{gvr.version}"
    return f"{root}/{gvr.resource}" if gvr.resource == CRDS else f"{root}/namespaces/default/{gvr.resource}"


class EmbeddedUsers:
    """Users of an embedded server, whose methods are not affected by faults."""

    def __init__(self, server: APIServer) -> None:
        self._server = server

    async def create(self, resource: str, obj: JSONObject) -> None:
        """Create an object, unless it exists."""
        with suppress(AlreadyExists):
            self._server.create(obj)

    async def merge(self, resource: str, name: str, patch: JSONObject) -> None:
        """Change the spec of an object, if it exists."""
        with suppress(NotFound):
            self._server.update({**self._server.get(resource, name), **patch})

    async def delete(self, resource: str, name: str) -> None:
        """Delete an object, if it exists."""
        with suppress(NotFound):
            self._server.delete(resource, name)

    async def list(self, resource: str) -> list[JSONObject]:
        """Return the objects of a resource."""
        return self._server.list(resource)


class Counted:
    """Counts the writes that arrive from the controllers, also those that a fault then prevents."""

    def __init__(self) -> None:
        self.writes: Counter[str] = Counter()

    async def apply(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if request.verb in _WRITES:
            self.writes[request.verb] += 1
        await app(scope, receive, send)


@dataclass(kw_only=True)
class Result:
    """What came of a run.

    Attributes:
        changes: what users have written.
        writes: what the controllers have written.
        faults: how often each kind of fault was injected.
        checks: how often everything was compared.
        wrong: what was not as it should be.
    """

    changes: Counter[str] = field(default_factory=Counter)
    writes: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    checks: int = 0
    objects: int = 0
    wrong: list[str] = field(default_factory=list)


def plural(number: int) -> str:
    """Return the plural of what a controller reconciles."""
    return f"sites{number}"


def sites(number: int) -> str:
    """Return the resource that a controller reconciles."""
    return f"{plural(number)}.v1.{GROUP}"


def definition(number: int) -> JSONObject:
    """Return the CRD of a controller."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema, "subresources": {"status": {}}}
    names = {
        "plural": plural(number),
        "singular": f"site{number}",
        "kind": f"Site{number}",
        "listKind": f"Site{number}List",
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural(number)}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


class Fleet:
    """The controllers, and what they have outside of the cluster.

    Args:
        result: counts the calls.
    """

    def __init__(self, result: Result) -> None:
        self._result = result
        self.external: dict[int, set[str]] = defaultdict(set)

    def controllers(self) -> list[Controller]:
        """Return all controllers."""
        return [self._controller(number) for number in range(COUNT)]

    def _controller(self, number: int) -> Controller:
        async def reconcile(ctx: Context, key: ObjectKey) -> None:
            self._result.calls += 1
            obj = ctx.get()
            if obj is None or obj.deletion_timestamp is not None:
                return
            if number % 3 == 0:
                self.external[number].add(obj.uid)
            await (apply_children(ctx, obj) if number % 2 else count_children(ctx, obj))
            await ctx.set_status(obj, {"size": obj["spec"]["size"]})

        async def clean_up(ctx: Context, key: ObjectKey) -> None:
            obj = ctx.get()
            if obj is not None:
                self.external[number].discard(obj.uid)

        return Controller(
            sites(number),
            reconcile,
            owns=["configmaps.v1"] if number % 4 < 2 else ["secrets.v1"],
            finalizer=(_FINALIZER, clean_up) if number % 3 == 0 else None,
            concurrency=1 + number % 3,
            timeout=60.0,
        )


def _child(obj: dynkube.Unstructured, name: dict[str, str], data: str) -> JSONObject:
    number = int(obj.kind.removeprefix("Site"))
    if number % 4 < 2:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": {"size": data}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": name, "stringData": {"size": data}}


async def apply_children(ctx: Context, obj: dynkube.Unstructured) -> None:
    """Apply what an object owns, by name."""
    head = f"{obj.kind.lower()}-{obj.name}"
    names = [{"name": f"{head}-{number}"} for number in range(obj["spec"]["replicas"])]
    await ctx.apply_owned([_child(obj, name, str(obj["spec"]["size"])) for name in names])


async def count_children(ctx: Context, obj: dynkube.Unstructured) -> None:
    """Create and delete objects, whose names the server generates, until there are as many as there should be."""
    present = sorted(ctx.owned(), key=lambda each: each.name)
    for _ in range(len(present), obj["spec"]["replicas"]):
        await ctx.create(_child(obj, {"generateName": f"{obj.kind.lower()}-{obj.name}-"}, "any"))
    for each in present[obj["spec"]["replicas"] :]:
        await ctx.delete(each)


class ControllerSoak:
    """One run.

    Args:
        cluster: the API server, and its faults.
        users: write without faults.
        client: of the controllers.
        seed: of changes and faults.
        report: prints a line.
    """

    def __init__(
        self, cluster: Cluster, users: Users, client: dynkube.Client, seed: int, report: Callable[[str], None]
    ) -> None:
        self.result = Result()
        self._cluster = cluster
        self._users = users
        self._client = client
        self._report = report
        self._fleet = Fleet(self.result)
        self._random = Random(f"{seed} controllers")
        self._counted = Counted()
        cluster.fault_target.inject(self._counted, duration=1e9)
        self._injector = FaultInjector(
            server=cluster.fault_target,
            resources=[*map(sites, range(COUNT)), "configmaps.v1", "secrets.v1"],
            random=self._random,
            others=[*cluster.extra_faults(self._random), (15, self._break_writes)],
            injected=self.result.faults,
        )

    async def run(
        self,
        *,
        seconds: float,
        every: float,
        pause: float,
        settle: float,
        quiet: float,
        collect_garbage: bool = False,
    ) -> Result:
        """Run for ``seconds``, with a check every ``every`` seconds.

        Args:
            seconds: of changes and faults.
            every: seconds between two checks.
            pause: seconds between two changes, on average.
            settle: seconds after the last fault in which everything has to be as it should be.
            quiet: seconds after that in which nothing may be written.
            collect_garbage: whether the server has no garbage collector.
        """
        for number in range(COUNT):
            await self._users.create(f"{CRDS}.v1.apiextensions.k8s.io", definition(number))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._run_controllers)
            if collect_garbage:
                nursery.start_soon(self._collect_garbage)
            spent = 0.0
            while spent < seconds and not self.result.wrong:
                with trio.move_on_after(every):
                    await self._disturb(pause)
                spent += every
                await self._check(settle, quiet)
            nursery.cancel_scope.cancel()
        return self.result

    async def _run_controllers(self) -> None:
        await run(self._client, *self._fleet.controllers(), events=False, random=Random(self._random.random()))

    # ── users and faults ─────────────────────────────────────────────────────────────────────

    async def _disturb(self, pause: float) -> None:
        while True:
            await trio.sleep(self._random.expovariate(1.0 / pause))
            if self._random.random() < 0.3:
                self._injector.inject()
            with trio.CancelScope(shield=True), suppress(APIError):
                await self._change()

    async def _change(self) -> None:
        random, number = self._random, self._random.randrange(COUNT)
        resource, name = sites(number), random.choice(_NAMES)
        what = random.choice(("create", "create", "change", "change", "change", "delete"))
        spec = {"replicas": random.randint(0, _MOST), "size": random.randrange(1000)}
        self.result.changes[what] += 1
        if what == "create":
            head = {"apiVersion": f"{GROUP}/v1", "kind": f"Site{number}"}
            await self._users.create(
                resource, {**head, "metadata": {"name": name, "namespace": "default"}, "spec": spec}
            )
        elif what == "change":
            await self._users.merge(resource, name, {"spec": spec})
        else:
            await self._users.delete(resource, name)

    def _break_writes(self) -> str:
        """Have some writes fail, or be carried out without a response."""
        effect = self._random.choice(
            (Refuse(409), Refuse(500), Refuse(503), Disconnect("reset"), Cut("reset", after_bytes=0))
        )
        verb = self._random.choice(("create", "patch", "patch", "delete"))
        self._injector._inject(effect, verb=verb, times=self._random.randint(1, 5))
        return f"writes: {type(effect).__name__}"

    # ── checks ───────────────────────────────────────────────────────────────────────────────

    async def _check(self, settle: float, quiet: float) -> None:
        """End all faults, and compare everything, once it had time to become what it should be."""
        self._injector.remove_faults()
        await self._cluster.end_faults()
        left, deadline = ["not looked yet"], trio.current_time() + settle
        while left and trio.current_time() < deadline:
            await trio.sleep(quiet / 4)
            left = [each async for each in self._unsettled()]
        before = self._counted.writes.total()
        await trio.sleep(quiet)
        extra = self._counted.writes.total() - before
        self.result.wrong += left or ([f"{extra} writes although nothing has changed"] if extra else [])
        self.result.writes, changes = self._counted.writes, self.result.changes.total()
        ratio = self.result.writes.total() / max(1, changes)
        if ratio > _BOUND:
            self.result.wrong.append(f"{ratio:.1f} writes for each change, of at most {_BOUND}")
        self.result.checks += 1
        self._report(
            f"{trio.current_time():9.0f} s  {changes} changes, {self.result.writes.total()} writes, "
            f"{ratio:.2f} for each, {self.result.calls} calls, {self.result.objects} objects, "
            f"{self.result.faults.total()} faults, {len(self.result.wrong)} wrong"
        )

    async def _owned(self) -> dict[str, list[JSONObject]]:
        """Return the objects with owners, by their UIDs."""
        owned: dict[str, list[JSONObject]] = defaultdict(list)
        for resource in ("configmaps.v1", "secrets.v1"):
            for each in await self._users.list(resource):
                for reference in each["metadata"].get("ownerReferences", ()):
                    owned[reference["uid"]].append(each)
        return owned

    async def _collect_garbage(self) -> None:
        """Delete what is owned by nothing, as kube-controller-manager does."""
        while True:
            await trio.sleep(1.0)
            owned = await self._owned()  # before the owners, so that each owner that exists is among these
            for number in range(COUNT):
                for site in await self._users.list(sites(number)):
                    owned.pop(site["metadata"]["uid"], None)
            for each in (each for children in owned.values() for each in children):
                resource = "secrets.v1" if "type" in each else "configmaps.v1"
                await self._users.delete(resource, each["metadata"]["name"])

    async def _unsettled(self) -> AsyncIterator[str]:
        owned = await self._owned()
        self.result.objects = sum(map(len, owned.values()))
        for number in range(COUNT):
            present = await self._users.list(sites(number))
            self.result.objects += len(present)
            for site in present:
                for what in _unsettled_site(number, site, owned.pop(site["metadata"]["uid"], [])):
                    yield f"{plural(number)} {site['metadata']['name']} {what}"
            if self._fleet.external[number] - {site["metadata"]["uid"] for site in present}:
                yield f"an object of {plural(number)} went without being cleaned up"
        for uid, children in owned.items():
            yield f"{len(children)} objects of {uid}, which is gone"


def _unsettled_site(number: int, site: JSONObject, children: list[JSONObject]) -> Iterator[str]:
    spec = site["spec"]
    if "deletionTimestamp" in site["metadata"]:
        yield "is not gone"
    elif len(children) != spec["replicas"]:
        yield f"owns {len(children)} objects instead of {spec['replicas']}"
    elif (site.get("status") or {}).get("size") != spec["size"]:
        yield f"has the status {site.get('status')} instead of the size {spec['size']}"
    elif number % 2 and any(_size_of(each) != str(spec["size"]) for each in children):
        yield f"owns objects that have not its size {spec['size']}"


def _size_of(child: JSONObject) -> str:
    data: dict[str, str] = child.get("data") or {}
    size = data.get("size", "")
    return base64.b64decode(size).decode() if "type" in child else size


async def run_embedded(seconds: float, every: float, seed: int, report: Callable[[str], None]) -> Result:
    """Run on an embedded server, in virtual time."""
    async with embedded(Random(seed)) as (cluster, client):
        users = EmbeddedUsers(cast("APIServer", cluster.fault_target))
        soak = ControllerSoak(cluster, users, client, seed, report)
        return await soak.run(seconds=seconds, every=every, pause=0.5, settle=1800.0, quiet=120.0)


async def run_real(
    folder: Path | None, seconds: float, every: float, seed: int, report: Callable[[str], None]
) -> Result:
    """Run on a control plane of its own, whose API server is killed now and then."""
    async with real(folder, Random(seed)) as (cluster, client):
        soak = ControllerSoak(cluster, APIUsers(cluster.api), client, seed, report)
        return await soak.run(seconds=seconds, every=every, pause=0.1, settle=240.0, quiet=10.0, collect_garbage=True)


def conclude(result: Result) -> int:
    """Print the result, and return the exit code."""
    print(f"changes: {dict(result.changes)}; writes: {dict(result.writes)}; calls: {result.calls}")
    print(f"faults: {dict(result.faults.most_common())}")
    for each in result.wrong[:40]:
        print(f"WRONG: {each}")
    return int(bool(result.wrong))
