"""The entries of ``metadata.managedFields``: managers and fields they own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias, cast

from dynkube.errors import InvalidInput, InvalidObject
from dynkube.fields._set import FieldSet
from dynkube.meta import JSONObject
from dynkube.meta._arguments import a_type

Operation: TypeAlias = Literal["Apply", "Update"]
"""How a manager came to own fields: by server-side apply, or by any other write."""


@dataclass(frozen=True, slots=True)
class Manager:
    """A manager of fields of an object.

    Attributes:
        name: The field manager.
        operation: ``"Apply"``, or ``"Update"`` for all other writes. One name may have both.
        subresource: The subresource written through, such as ``"status"``; ``""`` for the object itself.
        api_version: The API version that the manager wrote in, which determines the names of its fields.
        time: When its ownership or values last changed, if known.
    """

    name: str
    operation: Operation
    subresource: str = ""
    api_version: str = ""
    time: datetime | None = None

    @property
    def since(self) -> str:
        """The time as a string in the API's format; ``""`` if it is not known."""
        return "" if self.time is None else self.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def __str__(self) -> str:
        through = f" through {self.subresource}" if self.subresource else ""
        return f"{self.name} ({self.operation}{through})"


@dataclass(frozen=True, slots=True)
class ManagedFieldsEntry:
    """One entry: a manager and the fields it owns."""

    manager: Manager
    fields: FieldSet

    def to_json(self) -> JSONObject:
        """Encode as in ``metadata.managedFields``."""
        manager = self.manager
        entry: JSONObject = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": manager.api_version,
        }
        if manager.time is not None:
            entry["time"] = manager.since
        entry |= {"fieldsType": "FieldsV1", "fieldsV1": self.fields.to_fields_v1()}
        if manager.subresource:
            entry["subresource"] = manager.subresource
        return entry


def managed(obj: Mapping[str, Any]) -> tuple[ManagedFieldsEntry, ...]:
    """Return the entries of an object's ``metadata.managedFields``.

    They are in the object's order; the result is empty if the object has no managedFields.

    Args:
        obj: An object as read from a server.

    Raises:
        InvalidObject: An entry cannot be parsed.
        InvalidInput: ``obj`` is not an object.
    """
    return tuple(entry_from_json(raw, f"managedFields[{index}]") for index, raw in enumerate(raw_entries(obj)))


def raw_entries(obj: Mapping[str, Any]) -> list[Any]:
    """Return the list ``metadata.managedFields`` unparsed; empty if it has none."""
    if not isinstance(obj, Mapping):
        raise InvalidInput(f"expected one object as read from the server, not {a_type(obj)}")
    metadata = obj.get("metadata")
    raw = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    if raw is None:
        return []
    if not isinstance(raw, list):
        raise InvalidObject(f"metadata.managedFields is {_kind(raw)}, not a list")
    return raw


def entry_from_json(raw: object, where: str) -> ManagedFieldsEntry:
    """Parse one entry; ``where`` is its location, for the message."""
    if not isinstance(raw, Mapping):
        raise InvalidObject(f"{where} is {_kind(raw)}, not an object")
    operation = raw.get("operation")
    if operation not in ("Apply", "Update"):
        raise InvalidObject(f"{where}.operation is {operation!r}, expected 'Apply' or 'Update'")
    if raw.get("fieldsType") != "FieldsV1":
        raise InvalidObject(f"{where}.fieldsType is {raw.get('fieldsType')!r}; only FieldsV1 is supported")
    manager = Manager(
        name=_text(raw, "manager", where),
        operation=cast("Operation", operation),
        subresource=_text(raw, "subresource", where),
        api_version=_text(raw, "apiVersion", where),
        time=_time(_text(raw, "time", where), where),
    )
    try:
        fields = FieldSet.from_fields_v1(raw.get("fieldsV1") or {})
    except InvalidObject as error:
        raise InvalidObject(f"{where}, of {manager}: {error}") from error
    return ManagedFieldsEntry(manager, fields)


def _text(raw: Mapping[str, Any], name: str, where: str) -> str:
    value = raw.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidObject(f"{where}.{name} is {_kind(value)}, not a string")
    return value


def _time(text: str, where: str) -> datetime | None:
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidObject(f"{where}.time is {text!r}, which is not a timestamp: {error}") from error
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _kind(value: object) -> str:
    return f"{value!r} ({type(value).__name__})"
