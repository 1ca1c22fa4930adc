"""The Go types of built-in kinds: which type a field has, and where the fields of some types occur."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._kinds.schemas import Schema, builtin_schemas

_PREFIX = "#/components/schemas/"
# Where types are that are not in k8s.io/api, by group.
_ELSEWHERE = {"meta": "apimachinery.pkg.apis", "apiregistration": "kube-aggregator.pkg.apis"}
QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"


@dataclass(frozen=True, slots=True)
class FieldType:
    """The type of a field.

    Attributes:
        name: The published name of the type, or of the type of its items (``io.k8s.api.core.v1.PodSpec``); ``""`` for
            scalars.
        many: ``"items"`` for a list, ``"additionalProperties"`` for a map, as in the schema; ``""`` for other fields.
        by_value: Whether the field is a struct and not a pointer to one, so that it is never absent.
    """

    name: str = ""
    many: str = ""
    by_value: bool = False


_SCALAR = FieldType()


def type_of(kind: Kind) -> str:
    """Return the type of the objects of a built-in kind."""
    package = kind.gvr.group.partition(".")[0] or "core"
    return published(f"{package}.{kind.gvr.version}.{kind.kind}")


def stored_type_of(kind: Kind) -> str:
    """Return the type of a built-in kind's objects in the version in which they are stored here."""
    if kind.content is None or kind.stored_as is None:
        return type_of(kind)
    stored = kind.stored_as
    return published(f"{stored.group.partition('.')[0] or 'core'}.{stored.version}.{stored.kind}")


def published(short: str) -> str:
    """Return the published name of a type that the tables name as ``core.v1.PodSpec``."""
    return f"io.k8s.{_ELSEWHERE.get(short.partition('.')[0], 'api')}.{short}"


@cache
def fields_of(name: str) -> dict[str, FieldType]:
    """Return the fields of a type by name; empty if there is no such type."""
    properties = builtin_schemas().definitions.get(name, {}).get("properties", {})
    return {field: _field_type(schema) for field, schema in properties.items()}


def field_type(owner: str, field: str) -> FieldType:
    """Return the type of a field; that of a scalar if there is no such field."""
    return fields_of(owner).get(field, _SCALAR)


def _field_type(schema: Schema) -> FieldType:
    for many in ("items", "additionalProperties"):
        if isinstance(schema.get(many), dict):
            return FieldType(_target(schema[many]), many)
    name = _target(schema)
    struct = "properties" in builtin_schemas().definitions.get(name, {})
    return FieldType(name, by_value=struct and schema.get("default") == {})


def _target(schema: Schema) -> str:
    target = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ())), "")
    return str(target).removeprefix(_PREFIX)


def reaching(chosen: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return whether a type is chosen, or has a field, at any depth, of a type that is."""
    found: dict[str, bool] = {}

    def reaches(name: str) -> bool:
        if name not in found:
            found.update((each, True) for each in _contained(name) if chosen(each))
            found[name] = any(found.get(each, False) for each in _contained(name))
        return found[name]

    return reaches


def _contained(name: str) -> Iterator[str]:
    """Yield a type and all types of its fields, at any depth."""
    seen, waiting = {name}, [name]
    while waiting:
        yield (current := waiting.pop())
        new = {field.name for field in fields_of(current).values() if field.name} - seen
        seen |= new
        waiting.extend(new)
