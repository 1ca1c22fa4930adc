"""The API by which tests send requests: verbs on resources by plural, in a namespace and API group of the test."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
import trio

from dynkube.errors import APIError, Conflict, NotFound, Status, TooManyRequests
from tests.contract.events import GIVE_UP, Events
from tests.contract.objects import CRDS, JSONObject, version
from tests.contract.resources import Resource, builtin

MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response with any status."""

    code: int
    headers: Mapping[str, str]
    body: Any
    warnings: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Cluster:
    """Calls on one API server.

    The verbs use the test's ``namespace`` by default; ``namespace=""`` lists all namespaces. Error responses are raised
    as :class:`dynkube.errors.APIError`, except by :meth:`call`, which returns them.

    Attributes:
        http: the client, for other requests.
        namespace: the test's namespace.
        group: the API group of the test's CRDs.
        version: the server's version, major and minor.
    """

    http: httpx2.AsyncClient
    namespace: str
    group: str
    version: tuple[int, int]
    headers: dict[str, str] = field(default_factory=dict)
    resources: dict[str, Resource] = field(default_factory=builtin)
    leftovers: list[str] = field(default_factory=list)

    # ── requests ──────────────────────────────────────────────────────────────────────────

    async def call(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send a request and return any response; ``body`` is encoded as JSON unless it is a string or bytes."""
        content = body if body is None or isinstance(body, str | bytes) else json.dumps(body)
        sent = {**self.headers, **({} if content is None else {"Content-Type": content_type}), **(headers or {})}
        query = dict(params) if params else None  # an empty query would replace the path's query
        return _to_response(await self.http.request(method, path, params=query, content=content, headers=sent))

    async def request(self, method: str, path: str, **options: Any) -> JSONObject:
        """Send a request and return the response's document.

        Raises:
            APIError: it is an error response.
        """
        response = await self.call(method, path, **options)
        if response.code >= 400:
            raise _error_of(response, f"{method} {path}")
        assert isinstance(response.body, dict), response
        return response.body

    def path(self, resource: str, name: str = "", namespace: str | None = None) -> str:
        """Return the path of ``resource`` (``pods``, ``pods/status``), by default in the test's namespace."""
        plural, _, subresource = resource.partition("/")
        found = self.resources[plural]
        return found.path(self.namespace if namespace is None else namespace, name, subresource)

    async def create(
        self, resource: str, body: object, name: str = "", *, namespace: str | None = None, **options: Any
    ) -> JSONObject:
        """Create an object; ``name`` is only for subresources, such as ``serviceaccounts/token``."""
        created = await self.request("POST", self.path(resource, name, namespace), body=body, **options)
        if "/" not in resource and not self.resources[resource].namespaced and "name" in created.get("metadata", {}):
            self.leftovers.append(self.path(resource, created["metadata"]["name"]))
        return created

    async def get(self, resource: str, name: str, *, namespace: str | None = None, **options: Any) -> JSONObject:
        return await self.request("GET", self.path(resource, name, namespace), **options)

    async def update(
        self, resource: str, body: JSONObject, *, namespace: str | None = None, **options: Any
    ) -> JSONObject:
        path = self.path(resource, body["metadata"]["name"], namespace)
        return await self.request("PUT", path, body=body, **options)

    async def patch(
        self,
        resource: str,
        name: str,
        body: object,
        content_type: str = MERGE,
        *,
        namespace: str | None = None,
        **options: Any,
    ) -> JSONObject:
        path = self.path(resource, name, namespace)
        return await self.request("PATCH", path, body=body, content_type=content_type, **options)

    async def apply(
        self, resource: str, body: JSONObject, manager: str, *, force: bool = False, **options: Any
    ) -> JSONObject:
        params = {"fieldManager": manager, "force": str(force).lower(), **options.pop("params", {})}
        return await self.patch(resource, body["metadata"]["name"], body, APPLY, params=params, **options)

    async def delete(self, resource: str, name: str, *, namespace: str | None = None, **options: Any) -> JSONObject:
        return await self.request("DELETE", self.path(resource, name, namespace), **options)

    async def delete_all(self, resource: str, *, namespace: str | None = None, **params: str) -> JSONObject:
        return await self.request("DELETE", self.path(resource, namespace=namespace), params=params)

    async def list_of(self, resource: str, *, namespace: str | None = None, **params: str) -> JSONObject:
        return await self.request("GET", self.path(resource, namespace=namespace), params=params)

    async def names(self, resource: str, *, namespace: str | None = None, **params: str) -> list[str]:
        found = await self.list_of(resource, namespace=namespace, **params)
        return [item["metadata"]["name"] for item in found["items"]]

    def watch(
        self, resource: str, *, namespace: str | None = None, **params: str
    ) -> AbstractAsyncContextManager[Events]:
        """Open a watch; returns when the server has responded. See :meth:`stream`."""
        return self.stream(self.path(resource, namespace=namespace), {"watch": "1", **params})

    @asynccontextmanager
    async def stream(
        self, path: str, params: Mapping[str, str], *, accept: str = "application/json"
    ) -> AsyncIterator[Events]:
        """Open a watch by its path.

        Raises:
            APIError: the server responds with an error.
        """
        headers = {**self.headers, "Accept": accept, "Accept-Encoding": "identity"}
        async with self.http.stream("GET", path, params=dict(params), headers=headers, timeout=None) as response:
            if response.status_code >= 400:
                await response.aread()
                raise _error_of(_to_response(response), f"GET {path}")
            chunks = aiter(response.stream)  # type: ignore[arg-type]  # typed for the sync half as well
            assert isinstance(chunks, AsyncGenerator)
            async with aclosing(chunks):  # closing aiter_raw() would leave the generator under it suspended
                yield Events(chunks)

    # ── CRDs ──────────────────────────────────────────────────────────────────────────────

    def crd(self, plural: str = "widgets", kind: str = "Widget", scope: str = "Namespaced", **spec: Any) -> JSONObject:
        """Return a CustomResourceDefinition in the test's group."""
        names = {"plural": plural, "kind": kind}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{self.group}"},
            "spec": {"group": self.group, "scope": scope, "names": names, "versions": [version()], **spec},
        }

    async def create_crd(self, crd: JSONObject | None = None) -> JSONObject:
        """Create a CRD (by default that of Widgets), wait until it is served, and return it as it is then.

        Afterwards ``widgets`` means its first served version, and ``widgets.v2`` its version v2.
        """
        created = await self.create(CRDS, self.crd() if crd is None else crd)
        self.register_crd(created)
        established = await self._backdated(await self.wait_for(CRDS, created, _established))
        await self.until_served(created["spec"]["names"]["plural"])
        return established

    async def _backdated(self, established: JSONObject) -> JSONObject:
        """Set the time at which a CRD was established to one long ago.

        A real server delays creates for two seconds after that time, until the other servers of its cluster serve the
        CRD too; each test would wait for that.
        """
        past = {"Established": {"lastTransitionTime": "2020-01-01T00:00:00Z"}}
        entries = [{**entry, **past.get(entry["type"], {})} for entry in established["status"]["conditions"]]
        metadata = {"resourceVersion": established["metadata"]["resourceVersion"]}
        body = {"metadata": metadata, "status": {"conditions": entries}}
        with suppress(Conflict):  # another condition was set meanwhile
            return await self.patch(f"{CRDS}/status", established["metadata"]["name"], body)
        return established

    async def delete_crd(self, plural: str = "widgets") -> None:
        """Delete a CRD, and wait until it is gone: a real server deletes its objects first."""
        name = f"{plural}.{self.group}"
        found = await self.get(CRDS, name)
        selected = {
            "fieldSelector": f"metadata.name={name}",
            "resourceVersion": found["metadata"]["resourceVersion"],
        }
        async with self.watch(CRDS, **selected) as events:
            await self.delete(CRDS, name)
            while (await events.next())["type"] != "DELETED":
                pass

    def register_crd(self, crd: JSONObject) -> None:
        """Add the resources of a CRD: ``PLURAL`` is its first served version, ``PLURAL.VERSION`` that version."""
        spec = crd["spec"]
        plural, namespaced = spec["names"]["plural"], spec["scope"] == "Namespaced"
        for entry in reversed([entry for entry in spec["versions"] if entry["served"]]):
            group_version = f"{spec['group']}/{entry['name']}"
            resource = Resource(group_version=group_version, plural=plural, namespaced=namespaced)
            self.resources[plural] = self.resources[f"{plural}.{entry['name']}"] = resource

    def widget(self, name: str = "w", api_version: str = "v1", **fields: Any) -> JSONObject:
        """Return an object of the CRD of Widgets."""
        return {"apiVersion": f"{self.group}/{api_version}", "kind": "Widget", "metadata": {"name": name}, **fields}

    # ── waiting ───────────────────────────────────────────────────────────────────────────

    async def wait_for(self, resource: str, obj: JSONObject, condition: Callable[[JSONObject], bool]) -> JSONObject:
        """Wait until ``condition`` is true of an object, from the given version on, and return it as it is then."""
        if condition(obj):
            return obj
        async with self._watch_one(resource, obj) as events:
            while True:
                latest: JSONObject = (await events.next())["object"]
                if condition(latest):
                    return latest

    async def wait_gone(self, resource: str, obj: JSONObject) -> JSONObject:
        """Wait until an object that is being deleted is gone, and return its last version."""
        async with self._watch_one(resource, obj) as events:
            event = await events.next()
            while event["type"] != "DELETED":
                event = await events.next()
            last: JSONObject = event["object"]
            return last

    async def until(self, condition: Callable[[], Awaitable[bool]]) -> None:
        """Poll until ``condition`` returns true; only for conditions without an event.

        For example, a real server serves the paths of a CRD some milliseconds after watches show the CRD.
        """
        with trio.move_on_after(GIVE_UP):
            while not await condition():  # noqa: ASYNC110 - there is no event to wait for
                await trio.sleep(0.01)
            return
        raise AssertionError(f"this condition did not become true: {condition.__qualname__}")

    async def until_served(self, resource: str) -> None:
        """Wait for the paths of a resource and for its watch cache: until then responses are 404, then 429."""

        async def served() -> bool:
            try:
                async with self.watch(resource):
                    return True
            except (NotFound, TooManyRequests):
                return False

        await self.until(served)

    async def until_not_served(self, resource: str) -> None:
        """Wait until the paths of a resource respond with 404."""

        async def unknown() -> bool:
            return (await self.call("GET", self.path(resource), params={"limit": "1"})).code == 404

        await self.until(unknown)

    def _watch_one(self, resource: str, obj: JSONObject) -> AbstractAsyncContextManager[Events]:
        metadata = obj["metadata"]
        return self.watch(
            resource, fieldSelector=f"metadata.name={metadata['name']}", resourceVersion=metadata["resourceVersion"]
        )

    # ── users, and cleaning up ────────────────────────────────────────────────────────────

    def acting_as(self, user: str, group: str = "") -> Cluster:
        """Return the same cluster with requests that impersonate another user."""
        headers = {"Impersonate-User": user, **({"Impersonate-Group": group} if group else {})}
        return replace(self, headers=headers)

    async def clean_up(self) -> None:
        """Delete the cluster-scoped objects that the test created, the last one first."""
        for path in reversed(self.leftovers):
            if f"/{CRDS}/" in path:
                await self._release_objects((await self.call("GET", path)).body.get("spec"))
            await self.call("DELETE", path)

    async def _release_objects(self, spec: JSONObject | None) -> None:
        """Remove the finalizers of a CRD's objects: they would keep a real server's few CRD workers busy for ever."""
        served = [entry["name"] for entry in spec["versions"] if entry["served"]] if spec else []
        if spec is None or not served:
            return
        found = Resource(
            group_version=f"{spec['group']}/{served[0]}",
            plural=spec["names"]["plural"],
            namespaced=spec["scope"] == "Namespaced",
        )
        listed: JSONObject = {"items": []}
        with suppress(APIError):  # its names may not have been accepted
            listed = await self.request("GET", found.path(""))
        for metadata in [item["metadata"] for item in listed["items"]]:
            if metadata.get("finalizers"):
                path = found.path(metadata.get("namespace", ""), metadata["name"])
                await self.call("PATCH", path, body={"metadata": {"finalizers": None}}, content_type=MERGE)


def _warning(header: str) -> str:
    """Return the text of a ``Warning`` header."""
    return header.removeprefix('299 - "').removesuffix('"').replace('\\"', '"')


def _to_response(response: httpx2.Response) -> Response:
    is_json = response.content and response.headers.get("Content-Type", "").startswith("application/json")
    return Response(
        code=response.status_code,
        headers=response.headers,
        body=response.json() if is_json and response.content else response.text,
        warnings=[_warning(header) for header in response.headers.get_list("Warning")],
    )


def _error_of(response: Response, request: str) -> APIError:
    """Return the error for an error response; a body that is not an object (``404 page not found``) is its message."""
    given = response.body if isinstance(response.body, dict) else {"message": response.body}
    return APIError.from_status(Status.from_mapping(given, code=response.code), request=request)


def _established(crd: JSONObject) -> bool:
    entries = crd.get("status", {}).get("conditions") or []
    return any(entry["type"] == "Established" and entry["status"] == "True" for entry in entries)
