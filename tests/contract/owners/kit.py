"""Sequences of writes by several managers to one Widget, and the resulting spec and owners of fields.

Fields are written like ``list[a].value``, where ``a`` is the value of the key, or the item of a set. Owners are written
as ``one`` if the manager ``one`` has applied, and otherwise as ``one:Update``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from dynkube.errors import ApplyConflict
from tests.contract.cluster import APPLY, Cluster
from tests.contract.objects import JSONObject, owners, version

TEXT: JSONObject = {"type": "string"}
TEXTS: JSONObject = {"type": "object", "additionalProperties": TEXT}
PRESERVED = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def struct(**fields: JSONObject) -> JSONObject:
    """Return the schema of an object with these fields."""
    return {"type": "object", "properties": fields}


def keyed(item: JSONObject, *keys: str, required: Sequence[str] | None = None) -> JSONObject:
    """Return the schema of a list of type map with these keys."""
    items = {**item, "required": list(keys if required is None else required)}
    return {"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


def set_of(item: JSONObject) -> JSONObject:
    """Return the schema of a list of type set."""
    return {"type": "array", "items": item, "x-kubernetes-list-type": "set"}


def atomic(schema: JSONObject) -> JSONObject:
    """Return ``schema`` as that of an atomic map."""
    return {**schema, "x-kubernetes-map-type": "atomic"}


# No int-or-string: before 1.22 servers ignored a schema with such a field.
SPEC = {
    "text": TEXT,
    "other": TEXT,
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "set": set_of(TEXT),
    "numbers": set_of({"type": "number"}),
    "array": {"type": "array", "items": TEXT},
    "list": keyed(struct(name=TEXT, value=TEXT, more=TEXT), "name"),
    "ports": keyed(
        struct(port={"type": "integer"}, protocol={**TEXT, "default": "TCP"}, name=TEXT),
        "port",
        "protocol",
        required=["port"],
    ),
    "lists": keyed(struct(name=TEXT, values=set_of(TEXT)), "name"),
    "maps": keyed(struct(name=TEXT, values=TEXTS), "name"),
    "pairs": keyed(atomic(struct(name=TEXT, value=TEXT)), "name"),
    "map": TEXTS,
    "mapOfLists": {"type": "object", "additionalProperties": set_of(TEXT)},
    "mapOfMaps": {"type": "object", "additionalProperties": TEXTS},
    "struct": struct(a=TEXT, b=TEXT, inner=struct(c=TEXT, d=TEXT)),
    "atom": atomic(struct(a=TEXT, b=TEXT)),
    "open": {**PRESERVED, "properties": {"known": TEXT}},
}


def served(spec: JSONObject | None = None, name: str = "v1", **more: Any) -> JSONObject:
    """Return a version of a CRD with this schema of ``spec``."""
    properties = {"spec": struct(**(SPEC if spec is None else spec)), "status": PRESERVED}
    return version(name, schema={"openAPIV3Schema": struct(**properties)}, **more)


@dataclass(frozen=True, slots=True)
class Apply:
    """``manager`` applies ``spec``; ``conflicts`` are the expected conflicts: the owner of each field."""

    manager: str
    spec: JSONObject
    conflicts: Mapping[str, str] | None = None
    force: bool = False
    version: str = "v1"


def force(manager: str, spec: JSONObject, version: str = "v1") -> Apply:
    """Return an apply that takes over fields of other managers."""
    return Apply(manager, spec, force=True, version=version)


@dataclass(frozen=True, slots=True)
class Update:
    """``manager`` replaces the spec by an update; creates the Widget if it is missing."""

    manager: str
    spec: JSONObject
    version: str = "v1"


async def play(cluster: Cluster, steps: Sequence[Apply | Update]) -> JSONObject:
    """Perform ``steps``, and return the resulting object."""
    for step in steps:
        resource, body = f"widgets.{step.version}", cluster.widget(api_version=step.version, spec=step.spec)
        params = {"fieldManager": step.manager}
        if isinstance(step, Update):
            there = await cluster.call("GET", cluster.path(resource, "w"))
            if there.code == 200:
                await cluster.update(resource, {**there.body, "spec": step.spec}, params=params)
            else:
                await cluster.create(resource, body, params=params)
        elif step.conflicts is None:
            await cluster.apply(resource, body, step.manager, force=step.force)
        else:
            with pytest.raises(ApplyConflict) as caught:
                await cluster.apply(resource, body, step.manager)
            assert _conflicts(caught.value) == step.conflicts
    return await cluster.get("widgets.v1", "w")


def _conflicts(error: ApplyConflict) -> dict[str, str]:
    """Return the owner of each conflicting field: ``{"text": "one"}``."""
    return {
        cause.field.removeprefix(".spec."): cause.message.removeprefix("conflict with ")
        .partition(" using")[0]
        .strip('"')
        for cause in error.causes
    }


def owned(obj: JSONObject, part: str = "spec") -> dict[str, set[str]]:
    """Return the fields of ``part`` of an object by owner."""
    found = {manager: set(_fields(fields.get(f"f:{part}", {}))) for manager, fields in owners(obj).items()}
    return {manager: fields for manager, fields in found.items() if fields}


def field_sets(expected: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the fields of each owner, which are separated by spaces, as sets, for comparison with :func:`owned`."""
    return {manager: set(fields.split()) for manager, fields in expected.items()}


def _fields(node: JSONObject, path: str = "") -> Iterator[str]:
    if path and (not node or "." in node):
        yield path
    for element, child in node.items():
        if element != ".":
            yield from _fields(child, f"{path}{_readable(element)}".removeprefix("."))


def _readable(element: str) -> str:
    kind, text = element[:2], element[2:]
    if kind == "f:":
        return f".{text}"
    value = json.loads(text)
    values = value.values() if isinstance(value, dict) else [value]
    return f"[{','.join(map(str, values))}]"


async def applied(cluster: Cluster, resource: str, body: JSONObject, manager: str, **params: str) -> tuple[int, Any]:
    """Apply ``body``, and return the code and the body of the response."""
    path = cluster.path(resource, body["metadata"]["name"])
    response = await cluster.call(
        "PATCH", path, body=body, content_type=APPLY, params={"fieldManager": manager, **params}
    )
    return response.code, response.body
