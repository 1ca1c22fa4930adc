"""Sequences of writes by several managers to one Widget, and what comes of them: its spec, and who owns what of it.

Fields are written down like ``list[a].value``, where ``a`` is the value of the key, or of the item of a set. Who owns
is ``one`` where ``one`` applied, and ``one:Update`` otherwise.
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
    """The schema of an object with these fields."""
    return {"type": "object", "properties": fields}


def keyed(item: JSONObject, *keys: str, required: Sequence[str] | None = None) -> JSONObject:
    """The schema of a list that merges by ``keys``."""
    items = {**item, "required": list(keys if required is None else required)}
    return {"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(keys)}


def unique(item: JSONObject) -> JSONObject:
    """The schema of a set."""
    return {"type": "array", "items": item, "x-kubernetes-list-type": "set"}


def whole(schema: JSONObject) -> JSONObject:
    """``schema`` of a map that is one value."""
    return {**schema, "x-kubernetes-map-type": "atomic"}


# Nothing that is int-or-string: before 1.22 a schema with one such field did not count at all.
SPEC = {
    "text": TEXT,
    "other": TEXT,
    "number": {"type": "number"},
    "flag": {"type": "boolean"},
    "set": unique(TEXT),
    "numbers": unique({"type": "number"}),
    "array": {"type": "array", "items": TEXT},
    "list": keyed(struct(name=TEXT, value=TEXT, more=TEXT), "name"),
    "ports": keyed(
        struct(port={"type": "integer"}, protocol={**TEXT, "default": "TCP"}, name=TEXT),
        "port",
        "protocol",
        required=["port"],
    ),
    "lists": keyed(struct(name=TEXT, values=unique(TEXT)), "name"),
    "maps": keyed(struct(name=TEXT, values=TEXTS), "name"),
    "pairs": keyed(whole(struct(name=TEXT, value=TEXT)), "name"),
    "map": TEXTS,
    "mapOfLists": {"type": "object", "additionalProperties": unique(TEXT)},
    "mapOfMaps": {"type": "object", "additionalProperties": TEXTS},
    "struct": struct(a=TEXT, b=TEXT, inner=struct(c=TEXT, d=TEXT)),
    "atom": whole(struct(a=TEXT, b=TEXT)),
    "open": {**PRESERVED, "properties": {"known": TEXT}},
}


def served(spec: JSONObject | None = None, name: str = "v1", **more: Any) -> JSONObject:
    """A version of a definition whose objects have this ``spec``."""
    properties = {"spec": struct(**(SPEC if spec is None else spec)), "status": PRESERVED}
    return version(name, schema={"openAPIV3Schema": struct(**properties)}, **more)


@dataclass(frozen=True, slots=True)
class Apply:
    """``manager`` applies ``spec``; ``refused`` are the conflicts that it meets: who has which field."""

    manager: str
    spec: JSONObject
    refused: Mapping[str, str] | None = None
    force: bool = False
    version: str = "v1"


def force(manager: str, spec: JSONObject, version: str = "v1") -> Apply:
    """An apply that takes what others own."""
    return Apply(manager, spec, force=True, version=version)


@dataclass(frozen=True, slots=True)
class Update:
    """``manager`` replaces the spec."""

    manager: str
    spec: JSONObject
    version: str = "v1"


async def play(cluster: Cluster, steps: Sequence[Apply | Update]) -> JSONObject:
    """Carry out ``steps``, and give the object as it is then."""
    for step in steps:
        resource, body = f"widgets.{step.version}", cluster.widget(api_version=step.version, spec=step.spec)
        params = {"fieldManager": step.manager}
        if isinstance(step, Update):
            there = await cluster.call("GET", cluster.path(resource, "w"))
            if there.code == 200:
                await cluster.update(resource, {**there.body, "spec": step.spec}, params=params)
            else:
                await cluster.create(resource, body, params=params)
        elif step.refused is None:
            await cluster.apply(resource, body, step.manager, force=step.force)
        else:
            with pytest.raises(ApplyConflict) as caught:
                await cluster.apply(resource, body, step.manager)
            assert _conflicts(caught.value) == step.refused
    return await cluster.get("widgets.v1", "w")


def _conflicts(error: ApplyConflict) -> dict[str, str]:
    """Which fields who has: ``{"text": "one"}``."""
    return {
        cause.field.removeprefix(".spec."): cause.message.removeprefix("conflict with ")
        .partition(" using")[0]
        .strip('"')
        for cause in error.causes
    }


def owned(obj: JSONObject, part: str = "spec") -> dict[str, set[str]]:
    """The fields of ``part`` of an object by who owns them."""
    found = {who: set(_fields(fields.get(f"f:{part}", {}))) for who, fields in owners(obj).items()}
    return {who: fields for who, fields in found.items() if fields}


def words(expected: Mapping[str, str]) -> dict[str, set[str]]:
    """What :func:`owned` is compared with: the fields of each, with blanks between them."""
    return {who: set(fields.split()) for who, fields in expected.items()}


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
    """Code and body of whatever an apply is answered."""
    path = cluster.path(resource, body["metadata"]["name"])
    answer = await cluster.call(
        "PATCH", path, body=body, content_type=APPLY, params={"fieldManager": manager, **params}
    )
    return answer.code, answer.body
