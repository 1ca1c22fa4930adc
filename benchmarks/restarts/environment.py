"""The environment of a run: an administrator's writes, a user with RBAC permissions, and the user's informers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import httpx2
import trio

import dynkube
from benchmarks.restarts.ledger import Ledger
from benchmarks.restarts.recorder import Findings, Recorder, Responses
from benchmarks.restarts.resources import CRDS, NAMESPACES, JSONObject, Origin, Resource, resources
from benchmarks.soak.api import API, open_api
from dynkube.errors import AlreadyExists, APIError, NotFound
from dynkube.meta import GVR
from dynkube.meta._object import Key
from dynkube_testing import ControlPlane, Endpoint

T = TypeVar("T")

_TIMEOUT = 120.0  # seconds
_STARTING = {404, 429, 500, 503, 504}  # status codes of an API server that has just started, for valid requests
_GONE = {"DELETED", "ERROR"}  # after an ERROR the object is read again
_POLL = 0.1  # seconds; for states without an event


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of a run.

    Attributes:
        kills: how often the API server is killed.
        informers: the number of informers.
        crd_rights: whether their user may list and watch CRDs.
        sets: the number of informers of sets of namespaces; their user has rights by namespace.
        newcomers: the number of informers that are opened whenever the API server begins to respond.
        pause_etcd: seconds for which etcd is paused at that moment, in turn.
        etcd_every: every kill of this number includes etcd; 0: etcd is not killed.
        longest_outage: the maximum of seconds after which a killed API server is started again.
        rest: seconds between most outages. A watch that lasts for ten seconds is healthy: if it fails after that, the
            informer retries soon; otherwise it backs off, up to a minute.
        restores: how often etcd is restored from a backup after the kills.
        patience: seconds in which informers have to recover.
        discovery_poll: the setting of the informers.
        seed: the seed of all random choices.
    """

    kills: int = 50
    informers: int = 50
    crd_rights: bool = True
    sets: int = 0
    newcomers: int = 0
    pause_etcd: Sequence[float] = ()
    etcd_every: int = 5
    longest_outage: float = 6.0
    rest: float = 11.0
    restores: int = 1
    patience: float = 240.0
    discovery_poll: float = 30.0
    seed: int = 1


class Environment:
    """A cluster with the objects of one run; records the administrator's writes in the ledger.

    Attributes:
        label: a unique name for the run's API group and namespaces.
        api: sends requests as the administrator.
        ledger: the record of writes.
        resources: the resources that informers follow, served or not.
        recorders: the user's informers, with their records.
    """

    def __init__(self, api: API, label: str) -> None:
        self.api = api
        self.label = label
        self.ledger = Ledger()
        self.resources = resources(f"{label}.example.com")
        self.namespaces = [f"{label}-{number}" for number in range(NAMESPACES)]
        self.recorders: list[Recorder] = []
        self.users: list[Endpoint] = []
        """Users for further clients: one who may read CRDs, unless that was turned off, and one who may not."""

    @property
    def stable(self) -> str:
        """The name of the objects that never change."""
        return f"{self.label}-stable"

    def namespaces_of(self, resource: Resource) -> list[str]:
        """Return the namespaces of a resource's objects; ``[""]`` if it is cluster-scoped."""
        return self.namespaces if resource.namespaced else [""]

    def served(self) -> list[Resource]:
        """Return the resources that are served now."""
        return [resource for resource in self.resources if self.ledger.serves(resource.gvr)]

    async def prepare(self) -> None:
        """Create namespaces, CRDs and the first objects, and record which resources are served."""
        for name in self.namespaces:
            metadata = {"name": name, "labels": {"of": self.label}}
            await self.api.request("POST", "/api/v1/namespaces", {"metadata": metadata})
        for resource in self.resources:
            if resource.origin is Origin.BUILT_IN:
                with suppress(NotFound):
                    await self.api.request("GET", resource.path(), params={"limit": "1"})
                    self.ledger.add_resource(resource)
                    await self.create_stable(resource)
            elif resource.origin is Origin.PERMANENT:
                await self.create_crd(resource)

    async def create_stable(self, resource: Resource) -> None:
        """Create the objects that never change."""
        for namespace in self.namespaces_of(resource):
            body = resource.body(self.stable, self.label, 0)
            with suppress(AlreadyExists):
                stored = await self.request_until_done("POST", resource.path(namespace), body)
                self.ledger.objects[resource.gvr][_key(stored)] = stored["metadata"]["uid"]

    async def request_until_done(
        self, method: str, path: str, body: JSONObject | None = None, **params: str
    ) -> JSONObject:
        """Send a request about an existing object, and repeat it until the API server has started completely.

        Raises:
            APIError: the request is invalid.
            trio.TooSlowError: the API server did not start in time.
        """
        return await _retry_while_starting(lambda: self.api.request_until_done(method, path, body, params=params))

    # ── CRDs ─────────────────────────────────────────────────────────────────────────────────

    async def request_crd_change(self, resource: Resource) -> None:
        """Send one request that deletes the resource's CRD, or creates it if it does not exist.

        The server may be killed meanwhile: :meth:`delete_crd` or :meth:`create_crd` completes the change.
        """
        with suppress(APIError, httpx2.HTTPError):
            if self.ledger.serves(resource.gvr):
                self.ledger.remove_resource(resource)
                await self.api.request("DELETE", f"{CRDS}/{resource.gvr.crd_name}")
            else:
                await self.api.request("POST", CRDS, resource.crd())

    async def create_crd(self, resource: Resource) -> None:
        """Create the resource's CRD unless it exists, and wait until the resource is served."""
        try:
            await self.request_until_done("POST", CRDS, resource.crd())
        except AlreadyExists:
            # A server killed between the conditions NamesAccepted and Established goes on only when its informer
            # sees an update: a resync after five minutes, or this one (crdHandler in customresource_handler.go).
            await self._touch(resource)
        selected = {"fieldSelector": f"metadata.name={resource.gvr.crd_name}"}
        await _retry_while_starting(lambda: self.api.watch_until(CRDS, selected, lambda _, crd: _established(crd)))
        await self.request_until_done("GET", resource.path(), limit="1")
        self.ledger.add_resource(resource)
        await self.create_stable(resource)

    async def _touch(self, resource: Resource) -> None:
        path, body = f"{CRDS}/{resource.gvr.crd_name}", {"metadata": {"annotations": {"touched": "true"}}}
        await self.request_until_done("PATCH", path, body)

    async def delete_crd(self, resource: Resource) -> None:
        """Delete the resource's CRD with its objects, and wait until it is gone. The API server has to be ready."""
        self.ledger.remove_resource(resource)
        path = f"{CRDS}/{resource.gvr.crd_name}"
        with suppress(NotFound):
            await self.api.request_until_done("DELETE", path)
            while True:  # again if the resourceVersion of the watch has expired
                present = await self.api.request_until_done("GET", path)
                selected = {"fieldSelector": f"metadata.name={resource.gvr.crd_name}"}
                selected["resourceVersion"] = present["metadata"]["resourceVersion"]
                await self.api.watch_until(CRDS, selected, lambda kind, _: kind in _GONE)

    # ── objects ──────────────────────────────────────────────────────────────────────────────

    async def create(self, resource: Resource, key: Key, number: int = 0) -> None:
        """Create an object, and record its UID."""
        stored = await self.api.request("POST", resource.path(key[0]), resource.body(key[1], self.label, number))
        self.ledger.objects[resource.gvr][key] = stored["metadata"]["uid"]
        self.ledger.writes["create"] += 1

    async def change(self, resource: Resource, key: Key, number: int) -> None:
        """Change an object."""
        body = {"metadata": {"annotations": {"number": str(number)}}}
        await self.api.request("PATCH", resource.path(*key), body)
        self.ledger.writes["change"] += 1

    async def delete(self, resource: Resource, key: Key) -> None:
        """Delete an object, and record that before the request."""
        self.ledger.deleted.add(self.ledger.objects[resource.gvr].pop(key))
        await self.api.request("DELETE", resource.path(*key))
        self.ledger.writes["delete"] += 1

    async def mark(self, resource: Resource, number: int) -> dict[Key, str]:
        """Write a marker object in each namespace, and return the resourceVersions."""
        versions = {}
        for namespace in self.namespaces_of(resource):
            key, body = (namespace, f"{self.label}-mark"), resource.body(f"{self.label}-mark", self.label, number)
            try:
                stored = await self.request_until_done("POST", resource.path(namespace), body)
            except AlreadyExists:
                stored = await self.request_until_done("PATCH", resource.path(*key), body)
            self.ledger.objects[resource.gvr][key] = stored["metadata"]["uid"]
            versions[key] = stored["metadata"]["resourceVersion"]
        return versions

    async def content(self, resource: Resource) -> dict[Key, tuple[str, str]]:
        """Return UID and resourceVersion of each object on the server, by a consistent list."""
        listed = await self.request_until_done("GET", resource.path(), labelSelector=f"of={self.label}")
        return {_key(item): (item["metadata"]["uid"], item["metadata"]["resourceVersion"]) for item in listed["items"]}

    async def contents(self) -> dict[GVR, dict[Key, tuple[str, str]]]:
        """Return the content of all resources that are served."""
        return {resource.gvr: await self.content(resource) for resource in self.served()}

    def record(self, contents: Mapping[GVR, Mapping[Key, tuple[str, str]]]) -> None:
        """Record the server's content: a write without a response may or may not have taken effect."""
        self.ledger.set_objects({gvr: {key: uid for key, (uid, _) in found.items()} for gvr, found in contents.items()})

    # ── the user ─────────────────────────────────────────────────────────────────────────────

    async def grant(self, user: str, *, crd_rights: bool) -> None:
        """Allow the user to list and watch all resources, and CRDs if ``crd_rights`` is true."""
        rules = [_rule(resource.gvr.group, resource.gvr.resource) for resource in self.resources]
        if crd_rights:
            rules.append(_rule("apiextensions.k8s.io", "customresourcedefinitions"))
        await self._bind(user, rules)

    async def grant_namespaces(self, user: str, *, crd_rights: bool) -> None:
        """Allow the user to list and watch namespaces, and all resources in each namespace of the run."""
        rules = [_rule("", "namespaces")]
        if crd_rights:
            rules.append(_rule("apiextensions.k8s.io", "customresourcedefinitions"))
        await self._bind(user, rules)
        rules = [_rule(resource.gvr.group, resource.gvr.resource) for resource in self.resources]
        for namespace in self.namespaces:
            await self._bind(user, rules, namespace)

    async def _bind(self, user: str, rules: list[JSONObject], namespace: str = "") -> None:
        """Create a role of these rules, and bind it to the user: in a namespace, or in the cluster."""
        root, metadata = "/apis/rbac.authorization.k8s.io/v1", {"metadata": {"name": user}}
        path, prefix = (f"{root}/namespaces/{namespace}/", "") if namespace else (f"{root}/", "Cluster")
        await self.api.request("POST", f"{path}{prefix.lower()}roles", {**metadata, "rules": rules})
        group = "rbac.authorization.k8s.io"
        role = {"roleRef": {"apiGroup": group, "kind": f"{prefix}Role", "name": user}}
        subjects = [{"apiGroup": group, "kind": "User", "name": user}]
        await self.api.request(
            "POST", f"{path}{prefix.lower()}rolebindings", {**metadata, **role, "subjects": subjects}
        )

    async def clean_up(self, users: Iterable[str]) -> None:
        """Delete the CRDs and the users' cluster roles. Namespaces remain: without controllers they stay for ever."""
        paths = [f"{CRDS}/{resource.gvr.crd_name}" for resource in self.resources]
        root = "/apis/rbac.authorization.k8s.io/v1"
        paths += [f"{root}/{kind}/{user}" for user in users for kind in ("clusterroles", "clusterrolebindings")]
        for path in paths:
            with suppress(NotFound):
                await self.api.request("DELETE", path)

    async def wait_granted(self, user: API) -> None:
        """Wait until the permissions take effect, which takes some milliseconds."""
        while True:
            with suppress(APIError):
                for resource in self.served():
                    await user.request("GET", resource.path(), params={"limit": "1"})
                return
            await trio.sleep(_POLL)


async def _retry_while_starting(request: Callable[[], Awaitable[T]]) -> T:
    """Return the result of a request, repeated while it fails in a way that is typical of a starting API server."""
    with trio.fail_after(_TIMEOUT):
        while True:
            try:
                return await request()
            except APIError as error:
                if error.code not in _STARTING:
                    raise
            await trio.sleep(_POLL)
    raise AssertionError("unreachable")


def _rule(group: str, resource: str) -> JSONObject:
    return {"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]}


def _established(crd: JSONObject) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any((each["type"], each["status"]) == ("Established", "True") for each in conditions)


def _key(item: JSONObject) -> Key:
    return (item["metadata"].get("namespace", ""), item["metadata"]["name"])


@asynccontextmanager
async def open_environment(
    plane: ControlPlane, label: str, options: Options, findings: Findings, responses: Responses
) -> AsyncIterator[Environment]:
    """Prepare an environment on a running control plane, with informers that have synced."""
    user, tenant, outsider = (f"{label}-{name}" for name in ("user", "tenant", "outsider"))
    async with AsyncExitStack() as stack:
        env = Environment(await stack.enter_async_context(open_api(plane.endpoint)), label)
        await env.prepare()
        stack.push_async_callback(env.clean_up, [user, tenant, outsider])
        await env.grant(user, crd_rights=options.crd_rights)
        await env.grant(outsider, crd_rights=False)
        await env.grant_namespaces(tenant, crd_rights=options.crd_rights)
        env.users = [plane.add_user(name) for name in (user, outsider)]
        for endpoint in env.users:
            await env.wait_granted(await stack.enter_async_context(open_api(endpoint)))
        client = await stack.enter_async_context(_client(env.users[0], options, responses))
        env.recorders = [_recorder(client, env, number, findings) for number in range(options.informers)]
        if options.sets:
            client = await stack.enter_async_context(_client(plane.add_user(tenant), options, responses))
            env.recorders += [_set_recorder(client, env, number, findings) for number in range(options.sets)]
        nursery = await stack.enter_async_context(trio.open_nursery())
        for recorder in env.recorders:
            await stack.enter_async_context(recorder.informer)
            nursery.start_soon(recorder.follow_states)
        for recorder in env.recorders:
            await recorder.informer.wait_synced()
            if recorder.served:
                recorder.check_synced(env.stable)
        yield env


def _client(user: Endpoint, options: Options, responses: Responses) -> dynkube.Client:
    settings = dynkube.InformerSettings(random=Random(options.seed), discovery_poll=options.discovery_poll)
    return dynkube.connect(kubeconfig=user.kubeconfig(), settings=settings, observers=[responses])


def _recorder(client: dynkube.Client, env: Environment, number: int, findings: Findings) -> Recorder:
    """Return one informer: the first ones follow each resource in all namespaces, the next ones in one namespace.

    Every third of the latter has selectors, which select all objects of the run.
    """
    turn, at = divmod(number, len(env.resources))
    resource = env.resources[at]
    namespace = env.namespaces[(turn - 1) % NAMESPACES] if turn and resource.namespaced else None
    selects = turn > 0 and number % 3 == 0
    # Built-in resources may have objects of the server, or of other runs.
    labels = f"of={env.label}" if resource.origin is Origin.BUILT_IN or selects else None
    fields = f"metadata.name!={env.label}-none" if selects else None
    informer = client.informer(resource.gvr, namespace=namespace, label_selector=labels, field_selector=fields)
    return Recorder(informer, resource, namespace, env.ledger, findings, name=" with selectors" if selects else "")


def _set_recorder(client: dynkube.Client, env: Environment, number: int, findings: Findings) -> Recorder:
    """Return one informer of a set of namespaces: by their names, or by labels; every other one with selectors."""
    namespaced = [each for each in env.resources if each.namespaced and each.origin is not Origin.NEVER]
    resource, by_label, selects = namespaced[number // 4 % len(namespaced)], number % 2 == 1, number // 2 % 2 == 1
    labels = f"of={env.label}" if resource.origin is Origin.BUILT_IN or selects else None
    informer = client.informer(
        resource.gvr,
        namespaces={"of": env.label} if by_label else env.namespaces,
        label_selector=labels,
        field_selector=f"metadata.name!={env.label}-none" if selects else None,
    )
    name = f" in a set by {'labels' if by_label else 'names'}{', with selectors' if selects else ''}"
    return Recorder(informer, resource, None, env.ledger, findings, name=name)
