"""Objects that expressions of mutating policies make, such as ``Object.spec{replicas: 3}`` and ``JSONPatch{...}``."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping

from dynkube_testing._schemas.cel import celtypes as types
from dynkube_testing._schemas.cel.celtypes import Type
from dynkube_testing._schemas.cel.literals import Duration, Timestamp
from dynkube_testing._schemas.cel.standard import to_string
from dynkube_testing._schemas.cel.values import Value

OBJECT, PATCH = Type("struct", "Object"), Type("struct", "JSONPatch")
_PATCH_FIELDS = {**dict.fromkeys(("op", "from", "path"), types.STRING), "value": types.DYN}


class Made(dict[str, Value]):
    """An object that an expression has made, with the name of its type."""

    __slots__ = ("name",)

    def __init__(self, name: str, fields: Mapping[str, Value]) -> None:
        super().__init__(fields)
        self.name = name


def made_type(name: str) -> Type | None:
    """Return the type ``Object``, one of its fields such as ``Object.spec``, or ``JSONPatch``; ``None`` for others."""
    is_object = name == OBJECT.name or name.startswith(f"{OBJECT.name}.")
    return Type("struct", name) if is_object or name == PATCH.name else None


def made_field(struct: str, name: str) -> Type | None:
    """Return the type of a field of one of these types; ``None`` if it has none of that name."""
    if struct == PATCH.name:
        return _PATCH_FIELDS.get(name)
    return types.DYN if made_type(struct) is not None else None


def misnamed(value: Value, path: str) -> Iterator[str]:
    """Yield why objects in ``value``, which is at ``path``, have another type than their fields."""
    if isinstance(value, Made):
        if value.name != path:
            expected = f'expected "{path}", which matches field name path from root Object type'
            yield f'unexpected type name "{value.name}", {expected}'
        for name, content in value.items():
            yield from misnamed(content, f"{path}.{name}")
    elif isinstance(value, dict | list):
        for content in value.values() if isinstance(value, dict) else value:
            yield from misnamed(content, path)


def as_json(value: Value) -> Value:
    """Return a value of an expression as JSON."""
    if isinstance(value, dict):
        return {str(name): as_json(content) for name, content in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return to_string(value) if isinstance(value, Duration | Timestamp) else value
