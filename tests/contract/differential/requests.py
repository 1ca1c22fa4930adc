"""Requests as values: printed as the code that creates them, with placeholders that are replaced when they are sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.contract.cluster import APPLY, JSON, MERGE, STRATEGIC, Cluster, Response

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA_ONLY = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
METADATA_LIST_ONLY = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
#: Names of constants for media types, used in printed scripts.
MEDIA_TYPES = {"MERGE": MERGE, "JSON": JSON, "STRATEGIC": STRATEGIC, "APPLY": APPLY}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request; :func:`request` creates it, and ``repr()`` returns the call of :func:`request`.

    Placeholders in braces, anywhere in ``body`` and ``params``, have different values on each server (see
    :class:`Memory`).

    Attributes:
        method: the HTTP method.
        target: ``resource``, ``resource/name`` or ``resource/name/subresource``.
        body: JSON, or a string that is sent unchanged; ``None`` for no body.
        content_type: the media type of the body.
        params: the query.
        user: the user to impersonate; ``""`` for none.
        accept: the Accept header; ``""`` for JSON.
    """

    method: Method
    target: str
    body: Any = None
    content_type: str = "application/json"
    params: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    accept: str = ""

    def __repr__(self) -> str:
        parts = [repr(self.method), repr(self.target)]
        if self.body is not None:
            parts.append(repr(self.body))
        named = {media_type: name for name, media_type in MEDIA_TYPES.items()}
        if self.content_type != "application/json":
            parts.append(f"content_type={named.get(self.content_type, repr(self.content_type))}")
        parts += [f"{name}={value!r}" for name in ("user", "accept") if (value := getattr(self, name))]
        parts += [f"{name}={value!r}" for name, value in self.params.items()]
        return f"request({', '.join(parts)})"


def request(
    method: Method,
    target: str,
    body: Any = None,
    *,
    content_type: str = "application/json",
    user: str = "",
    accept: str = "",
    **params: str,
) -> Request:
    """Return a request; ``params`` are the query."""
    return Request(
        method=method, target=target, body=body, content_type=content_type, user=user, accept=accept, params=params
    )


@dataclass(slots=True)
class Memory:
    """The values of placeholders, from the responses of one server.

    ``{ns}`` is the namespace, ``{group}`` the API group. ``{rv}`` and ``{uid}`` are those of the request's object, as
    last received; ``{old}`` is its first resourceVersion. ``{list}`` is the resourceVersion of the latest list of any
    kind, ``{continue}`` its continue token. Values that were not received yet are empty.
    """

    cluster: Cluster
    _known: dict[str, dict[str, str]] = field(default_factory=dict)
    _listed: dict[str, str] = field(default_factory=dict)

    def fill_in(self, request: Request) -> tuple[Any, dict[str, str]]:
        """Return the body and the query of ``request`` for this server."""
        values = {"{ns}": self.cluster.namespace, "{group}": self.cluster.group}
        values |= {f"{{{placeholder}}}": self._listed.get(placeholder, "") for placeholder in ("list", "continue")}
        known = self._known.get(_object_key(request), {})
        values |= {f"{{{placeholder}}}": known.get(placeholder, "") for placeholder in ("rv", "old", "uid")}
        return _substitute(request.body, values), {
            name: _substitute(value, values) for name, value in request.params.items()
        }

    def named(self, text: str) -> str:
        """Return ``text`` with the namespace and the group in place of their placeholders."""
        return text.replace("{ns}", self.cluster.namespace).replace("{group}", self.cluster.group)

    def record(self, request: Request, response: Response) -> None:
        """Record the values in a response."""
        metadata = response.body.get("metadata") if isinstance(response.body, dict) else None
        if response.code >= 300 or not isinstance(metadata, dict) or "dryRun" in request.params:
            return
        version = str(metadata.get("resourceVersion", ""))
        if "items" in response.body:
            self._listed = {"list": version, "continue": metadata.get("continue", "")}
        elif "uid" in metadata and version:
            key = f"{_plural(request.target)}/{metadata['name']}"
            first = self._known.get(key, {}).get("old", version)
            self._known[key] = {"rv": version, "old": first, "uid": metadata["uid"]}


async def send(request: Request, cluster: Cluster, memory: Memory) -> Response:
    """Send a request to one server."""
    body, params = memory.fill_in(request)
    resource, _, rest = request.target.partition("/")
    name, _, subresource = memory.named(rest).partition("/")
    headers = {"Impersonate-User": memory.named(request.user)} if request.user else {}
    if request.accept:
        headers["Accept"] = request.accept
    path = cluster.path(f"{resource}/{subresource}" if subresource else resource, name)
    try:
        response = await cluster.call(
            request.method, path, params=params, body=body, content_type=request.content_type, headers=headers
        )
    except Exception as error:  # the embedded server raises its internal errors
        return Response(code=500, headers={}, body={"crashed": repr(error)})
    memory.record(request, response)
    return response


def _object_key(request: Request) -> str:
    """Return plural and name of the request's object; a create has its name in the body."""
    _, _, rest = request.target.partition("/")
    name = rest.partition("/")[0]
    if not name and isinstance(request.body, dict) and isinstance(request.body.get("metadata"), dict):
        name = str(request.body["metadata"].get("name", ""))
    return f"{_plural(request.target)}/{name}"


def _plural(target: str) -> str:
    """Return ``widgets`` for ``widgets.v2/a/status``: all versions have the same objects."""
    return target.partition("/")[0].partition(".")[0]


def _substitute(value: Any, values: Mapping[str, str]) -> Any:
    match value:
        case str():
            if "{" in value:
                for placeholder, substitute in values.items():
                    value = value.replace(placeholder, substitute)
            return value
        case dict():
            return {_substitute(name, values): _substitute(inner, values) for name, inner in value.items()}
        case list():
            return [_substitute(item, values) for item in value]
        case _:
            return value
