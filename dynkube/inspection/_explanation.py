"""``explain``: the fields of a kind, from the server's OpenAPI v3, else from the schema of its CRD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import msgspec
import trio

from dynkube._displayable import Displayable, text_without_heading
from dynkube.client._client import APIClient
from dynkube.discovery import APIResource
from dynkube.errors import AmbiguousMatch, InvalidInput, NoMatch, NotFound, ProtocolError
from dynkube.errors._evidence import proves_deletion
from dynkube.inspection._openapi import openapi_document, openapi_index, openapi_path, schemas_of
from dynkube.inspection._schemas import Schema, SchemaField, Schemas
from dynkube.meta import GVR, GroupVersion
from dynkube.meta._arguments import brief
from dynkube.rest import Answer

_CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


@dataclass(frozen=True, slots=True)
class Explanation(Displayable):
    """A kind, or a field of it, with its text and its fields; prints as text.

    Attributes:
        resource: the resource of the kind.
        path: the names of the fields on the way; empty for the kind itself.
        type: the type of the last of them, as kubectl writes it: ``"[]Container"``.
        description: its text; empty if the server has none.
        enum: its allowed values, if they are restricted.
        fields: its fields, sorted by name.
    """

    resource: APIResource
    path: tuple[str, ...]
    type: str
    description: str
    enum: tuple[object, ...]
    fields: tuple[SchemaField, ...]

    def __str__(self) -> str:
        return text_without_heading(self)


async def explain(api: APIClient, what: str, api_version: str | None, *, recursive: bool) -> Explanation:
    """Return the explanation of a kind or of one of its fields."""
    resource, path = await _parsed(api, what, api_version)
    document = await _document(api, resource)

    def read(answer: Answer) -> Explanation | None:
        try:
            schemas = Schemas(schemas_of(answer))
            root = schemas.of_kind(resource.gvk)
            return None if root is None else _explained(schemas, root, resource, path, recursive)
        except msgspec.MsgspecError as exc:
            raise ProtocolError(f"{answer.request}: not an OpenAPI v3 document: {exc}") from exc

    if document is not None:  # in a thread: documents of some megabytes would block the loop
        found = await trio.to_thread.run_sync(read, document)
        if found is not None:
            return found
    # An old server, or a CRD that is so new that the server has not published its schema yet.
    return _explained(Schemas({}), await _schema_of_crd(api, resource), resource, path, recursive)


async def _parsed(api: APIClient, what: str, api_version: str | None) -> tuple[APIResource, tuple[str, ...]]:
    """Return the resource, and the path of fields below it."""
    given: object = what  # callers are not always type-checked
    parts = given.strip().removesuffix(".").split(".") if isinstance(given, str) else []
    if not parts or not all(parts):
        raise InvalidInput(f"cannot explain {brief(given)}: pass a resource and fields, such as 'deploy.spec.template'")
    if api_version is not None:
        version = GroupVersion.parse(api_version)
        group = f".{version.group}" if version.group else "."
        return await api.mapper.resolve(f"{parts[0]}.{version.version}{group}"), tuple(parts[1:])
    try:
        best: APIResource | None = await api.mapper.resolve(parts[0])  # discovers again what is not known
    except AmbiguousMatch:
        best = None
    below = ".".join(parts[1:])
    for each in (await api.mapper.load()).resources_for(parts[0]):
        group = each.gvr.group
        for prefix in (group, f"{each.gvr.version}.{group}") if group else ():
            if f"{below}.".startswith(f"{prefix}."):
                return each, tuple(parts[1 + len(prefix.split(".")) :])
    return best or await api.mapper.resolve(parts[0]), tuple(parts[1:])


async def _document(api: APIClient, resource: APIResource) -> Answer | None:
    """Return the OpenAPI v3 document of the resource's group-version; ``None`` if the server has none."""
    index = await openapi_index(api)
    url = None if index is None else index.get(openapi_path(resource.gvr.group_version))
    return None if url is None else await openapi_document(api, url)


async def _schema_of_crd(api: APIClient, resource: APIResource) -> Schema:
    """Return the schema of a custom resource, from its CRD.

    Raises:
        NoMatch: the resource has no CRD, or that has no schema.
        NotFound: it is not known whether it has a CRD.
    """
    without = "the server sent no OpenAPI v3 schema of it, as before Kubernetes 1.24, or while it starts"
    try:
        definition = await api.resource(_CRDS).get(f"{resource.gvr.resource}.{resource.gvr.group}")
    except (NotFound, NoMatch) as exc:
        if isinstance(exc, NotFound) and not proves_deletion(exc):
            raise
        raise NoMatch(f"{resource} cannot be explained: {without}, and no CRD defines it") from exc
    versions: Sequence[Mapping[str, object]] = definition.jsonpath("{.spec.versions[*]}")
    for each in versions:
        schema = each.get("schema")
        found = schema.get("openAPIV3Schema") if isinstance(schema, Mapping) else None
        if each.get("name") == resource.gvr.version and isinstance(found, Mapping):
            return found
    raise NoMatch(f"{resource} cannot be explained: {without}, and its CRD has no schema")


def _explained(
    schemas: Schemas, schema: Schema, resource: APIResource, path: tuple[str, ...], recursive: bool
) -> Explanation:
    for position, name in enumerate(path):
        inner = schemas.follow(schema, name)
        if inner is None:
            raise InvalidInput(_no_field(schemas, schema, resource, path, position))
        schema = inner
    enum = schema.get("enum")
    return Explanation(
        resource=resource,
        path=path,
        type=schemas.type_of(schema) if path else resource.kind,
        description=schemas.description(schema),
        enum=tuple(enum) if isinstance(enum, list) else (),
        fields=schemas.fields(schema, recursive=recursive),
    )


def _no_field(schemas: Schemas, schema: Schema, resource: APIResource, path: tuple[str, ...], position: int) -> str:
    where = ".".join((resource.kind, *path[:position]))
    names = schemas.names(schema)
    near = get_close_matches(path[position], names, 3) or names[:20]
    hint = f"did you mean {', '.join(near)}?" if near else "it has no fields"
    return f"{where} has no field {path[position]!r}: {hint}"
