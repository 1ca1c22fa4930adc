"""The stage: an administrator who writes, a user with rights by RBAC, and that user's informers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import httpx2
import trio

import dynkube
from benchmarks.restarts.ledger import Ledger
from benchmarks.restarts.recorder import Answers, Findings, Recorder
from benchmarks.restarts.resources import CRDS, NAMESPACES, JSONObject, Origin, Resource, resources
from benchmarks.soak.api import API, open_api
from dynkube.errors import AlreadyExists, APIError, NotFound
from dynkube.meta import GVR
from dynkube.meta._object import Key
from dynkube.testing import ControlPlane

T = TypeVar("T")

_PATIENCE = 120.0  # seconds
_STARTING = {404, 429, 500, 503, 504}  # what an API server that has just started answers to requests that make sense
_GONE = {"DELETED", "ERROR"}  # an ERROR says that it has to be looked at again
_ASK_AGAIN = 0.1  # seconds; for what no event tells


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What to do.

    Attributes:
        kills: how often the API server is killed.
        informers: how many there are.
        crd_rights: whether their user may list and watch CRDs.
        etcd_every: with each kill of this number etcd is killed, too; 0 for never.
        longest_outage: an API server that is dead stays so for up to this many seconds before it is started.
        rest: seconds between an outage and most of the next ones. A watch that holds for ten seconds is healthy: after
            that an informer tries again soon when it fails, and else later and later, up to a minute.
        restores: how often etcd is restored from a backup after that.
        patience: seconds in which informers have to follow again.
        discovery_poll: the informers' setting of this name.
        seed: of all that is random here.
    """

    kills: int = 50
    informers: int = 50
    crd_rights: bool = True
    etcd_every: int = 5
    longest_outage: float = 6.0
    rest: float = 11.0
    restores: int = 1
    patience: float = 240.0
    discovery_poll: float = 30.0
    seed: int = 1


class Stage:
    """A cluster with the objects of one run: what the administrator does, noted in the ledger.

    Attributes:
        label: names the API group and the namespaces, which are the run's own.
        api: the administrator's requests.
        ledger: what was done.
        resources: all that is followed, served or not.
        recorders: of the user's informers.
    """

    def __init__(self, api: API, label: str) -> None:
        self.api = api
        self.label = label
        self.ledger = Ledger()
        self.resources = resources(f"{label}.example.com")
        self.namespaces = [f"{label}-{number}" for number in range(NAMESPACES)]
        self.recorders: list[Recorder] = []

    def places(self, resource: Resource) -> list[str]:
        """The namespaces of a resource's objects; ``[""]`` where they are in none."""
        return self.namespaces if resource.namespaced else [""]

    def served(self) -> list[Resource]:
        """The resources that are served now."""
        return [resource for resource in self.resources if self.ledger.serves(resource.gvr)]

    async def prepare(self) -> None:
        """Create namespaces, CRDs and the first objects, and find out what is served."""
        for name in self.namespaces:
            await self.api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        for resource in self.resources:
            if resource.origin is Origin.BUILT_IN:
                with suppress(NotFound):
                    await self.api.ask("GET", resource.path(), params={"limit": "1"})
                    self.ledger.defined(resource)
                    await self.create_stable(resource)
            elif resource.origin is Origin.STAYS:
                await self.define(resource)

    async def create_stable(self, resource: Resource) -> None:
        """Create the objects that are never written to again."""
        for namespace in self.places(resource):
            body = resource.body(f"{self.label}-stable", self.label, 0)
            with suppress(AlreadyExists):
                stored = await self.surely("POST", resource.path(namespace), body)
                self.ledger.objects[resource.gvr][_key(stored)] = stored["metadata"]["uid"]

    async def surely(self, method: str, path: str, body: JSONObject | None = None, **params: str) -> JSONObject:
        """One request about what is there, repeated until the API server has started far enough to know of it.

        Raises:
            APIError: the request makes no sense.
            trio.TooSlowError: there is no other answer for minutes.
        """
        return await _once_started(lambda: self.api.surely(method, path, body, params=params))

    # ── CRDs ─────────────────────────────────────────────────────────────────────────────────

    async def request_change(self, resource: Resource) -> None:
        """Ask once for the resource's CRD to be deleted, or to be created if it is not there.

        The server may die meanwhile: :meth:`undefine` or :meth:`define` finishes it.
        """
        with suppress(APIError, httpx2.HTTPError):
            if self.ledger.serves(resource.gvr):
                self.ledger.undefined(resource)
                await self.api.ask("DELETE", f"{CRDS}/{resource.gvr.crd_name}")
            else:
                await self.api.ask("POST", CRDS, resource.crd())

    async def define(self, resource: Resource) -> None:
        """Create the resource's CRD unless it is there, and wait until its objects are served."""
        with suppress(AlreadyExists):
            await self.surely("POST", CRDS, resource.crd())
        selected = {"fieldSelector": f"metadata.name={resource.gvr.crd_name}"}
        await _once_started(lambda: self.api.until(CRDS, selected, lambda _, crd: _established(crd)))
        await self.surely("GET", resource.path(), limit="1")
        self.ledger.defined(resource)
        await self.create_stable(resource)

    async def undefine(self, resource: Resource) -> None:
        """Delete the resource's CRD, and wait until it is gone, with its objects. The API server has to be ready."""
        self.ledger.undefined(resource)
        path = f"{CRDS}/{resource.gvr.crd_name}"
        with suppress(NotFound):
            await self.api.surely("DELETE", path)
            while True:  # a watch that begins where the server has forgotten what came next says so
                present = await self.api.surely("GET", path)
                selected = {"fieldSelector": f"metadata.name={resource.gvr.crd_name}"}
                selected["resourceVersion"] = present["metadata"]["resourceVersion"]
                await self.api.until(CRDS, selected, lambda kind, _: kind in _GONE)

    # ── objects ──────────────────────────────────────────────────────────────────────────────

    async def create(self, resource: Resource, key: Key, number: int = 0) -> None:
        """Create an object, and note its UID."""
        stored = await self.api.ask("POST", resource.path(key[0]), resource.body(key[1], self.label, number))
        self.ledger.objects[resource.gvr][key] = stored["metadata"]["uid"]
        self.ledger.writes["create"] += 1

    async def change(self, resource: Resource, key: Key, number: int) -> None:
        """Change an object."""
        body = {"metadata": {"annotations": {"number": str(number)}}}
        await self.api.ask("PATCH", resource.path(*key), body)
        self.ledger.writes["change"] += 1

    async def delete(self, resource: Resource, key: Key) -> None:
        """Delete an object; the ledger knows before the server does."""
        self.ledger.deleted.add(self.ledger.objects[resource.gvr].pop(key))
        await self.api.ask("DELETE", resource.path(*key))
        self.ledger.writes["delete"] += 1

    async def mark(self, resource: Resource, number: int) -> dict[Key, str]:
        """Write an object in each namespace; the resourceVersion of each."""
        versions = {}
        for namespace in self.places(resource):
            key, body = (namespace, f"{self.label}-mark"), resource.body(f"{self.label}-mark", self.label, number)
            try:
                stored = await self.surely("POST", resource.path(namespace), body)
            except AlreadyExists:
                stored = await self.surely("PATCH", resource.path(*key), body)
            self.ledger.objects[resource.gvr][key] = stored["metadata"]["uid"]
            versions[key] = stored["metadata"]["resourceVersion"]
        return versions

    async def content(self, resource: Resource) -> dict[Key, tuple[str, str]]:
        """UID and resourceVersion of each object that the server has, by a consistent list."""
        listed = await self.surely("GET", resource.path(), labelSelector=f"of={self.label}")
        return {_key(item): (item["metadata"]["uid"], item["metadata"]["resourceVersion"]) for item in listed["items"]}

    async def contents(self) -> dict[GVR, dict[Key, tuple[str, str]]]:
        """The same of all resources that are served."""
        return {resource.gvr: await self.content(resource) for resource in self.served()}

    def note(self, contents: Mapping[GVR, Mapping[Key, tuple[str, str]]]) -> None:
        """Take the server's content as the state: a write without an answer may or may not have taken effect."""
        self.ledger.settled({gvr: {key: uid for key, (uid, _) in found.items()} for gvr, found in contents.items()})

    # ── the user ─────────────────────────────────────────────────────────────────────────────

    async def grant(self, user: str, *, crd_rights: bool) -> None:
        """Let the user list and watch everything that is followed, and CRDs where ``crd_rights``."""
        rules = [_rule(resource.gvr.group, resource.gvr.resource) for resource in self.resources]
        if crd_rights:
            rules.append(_rule("apiextensions.k8s.io", "customresourcedefinitions"))
        root, metadata = "/apis/rbac.authorization.k8s.io/v1", {"metadata": {"name": user}}
        await self.api.ask("POST", f"{root}/clusterroles", {**metadata, "rules": rules})
        group = "rbac.authorization.k8s.io"
        role = {"roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": user}}
        subjects = [{"apiGroup": group, "kind": "User", "name": user}]
        await self.api.ask("POST", f"{root}/clusterrolebindings", {**metadata, **role, "subjects": subjects})

    async def clean_up(self, user: str) -> None:
        """Have CRDs deleted, with their objects, and the user's rights; namespaces stay, as they would for ever."""
        paths = [f"{CRDS}/{resource.gvr.crd_name}" for resource in self.resources]
        root = "/apis/rbac.authorization.k8s.io/v1"
        for path in (*paths, f"{root}/clusterroles/{user}", f"{root}/clusterrolebindings/{user}"):
            with suppress(NotFound):
                await self.api.ask("DELETE", path)

    async def wait_granted(self, user: API) -> None:
        """Wait until the rights count, which is some milliseconds later."""
        while True:
            with suppress(APIError):
                for resource in self.served():
                    await user.ask("GET", resource.path(), params={"limit": "1"})
                return
            await trio.sleep(_ASK_AGAIN)


async def _once_started(request: Callable[[], Awaitable[T]]) -> T:
    """The result of a request, repeated while it fails as requests do to an API server that has just started."""
    with trio.fail_after(_PATIENCE):
        while True:
            try:
                return await request()
            except APIError as error:
                if error.code not in _STARTING:
                    raise
            await trio.sleep(_ASK_AGAIN)
    raise AssertionError("unreachable")


def _rule(group: str, resource: str) -> JSONObject:
    return {"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]}


def _established(crd: JSONObject) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)


def _key(item: JSONObject) -> Key:
    return (item["metadata"].get("namespace", ""), item["metadata"]["name"])


@asynccontextmanager
async def open_stage(
    plane: ControlPlane, label: str, options: Options, findings: Findings, answers: Answers
) -> AsyncIterator[Stage]:
    """A stage on a control plane that runs, and the informers of its user, which have synced."""
    user = plane.add_user(f"{label}-user")
    async with AsyncExitStack() as stack:
        stage = Stage(await stack.enter_async_context(open_api(plane.endpoint)), label)
        await stage.prepare()
        await stage.grant(f"{label}-user", crd_rights=options.crd_rights)
        stack.push_async_callback(stage.clean_up, f"{label}-user")
        await stage.wait_granted(await stack.enter_async_context(open_api(user)))
        nursery = await stack.enter_async_context(trio.open_nursery())
        settings = dynkube.InformerSettings(random=Random(options.seed), discovery_poll=options.discovery_poll)
        client = dynkube.connect(kubeconfig=user.kubeconfig(), settings=settings, observers=[answers])
        await stack.enter_async_context(client)
        stage.recorders = [_recorder(client, stage, number, findings) for number in range(options.informers)]
        for recorder in stage.recorders:
            await stack.enter_async_context(recorder.informer)
            nursery.start_soon(recorder.follow_states)
        for recorder in stage.recorders:
            await recorder.informer.wait_synced()
        yield stage


def _recorder(client: dynkube.Client, stage: Stage, number: int, findings: Findings) -> Recorder:
    """One informer: the first ones follow each resource everywhere, the next ones in a namespace each."""
    turn, at = divmod(number, len(stage.resources))
    resource = stage.resources[at]
    namespace = stage.namespaces[(turn - 1) % NAMESPACES] if turn and resource.namespaced else None
    # Objects of built-in resources may be the server's own, or another run's.
    selector = f"of={stage.label}" if resource.origin is Origin.BUILT_IN else None
    informer = client.informer(resource.gvr, namespace=namespace, label_selector=selector)
    return Recorder(informer, resource, namespace, stage.ledger, findings)
