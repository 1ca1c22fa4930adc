"""Collection of validation errors, and helpers for the fields of untyped objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dynkube.errors import StatusCause
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming

IMMUTABLE = "field is immutable"
NOT_NEGATIVE = "must be greater than or equal to 0"
PORT_RANGE = "must be between 1 and 65535, inclusive"


class BuiltinFindings:
    """The status causes found so far, in the order in which they are reported."""

    def __init__(self) -> None:
        self.causes: list[StatusCause] = []

    def required(self, field: str, detail: str = "") -> None:
        """Report a missing field."""
        self.causes.append(refuse.required(field, detail))

    def invalid(self, field: str, value: object, detail: str) -> None:
        """Report an invalid value."""
        self.causes.append(refuse.bad_value(field, value, detail))

    def forbidden(self, field: str, detail: str) -> None:
        """Report a field that must not be set, or not to this value."""
        self.causes.append(refuse.not_allowed(field, detail))

    def duplicate(self, field: str, value: object) -> None:
        """Report a duplicate list entry."""
        self.causes.append(refuse.duplicate(field, value))

    def not_found(self, field: str, value: str) -> None:
        """Report a reference to a name that does not exist."""
        self.causes.append(StatusCause(field, "FieldValueNotFound", f'Not found: "{value}"'))

    def too_long(self, field: str, limit: int) -> None:
        """Report a value of more than ``limit`` bytes."""
        self.causes.append(StatusCause(field, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes"))

    # ── common checks ─────────────────────────────────────────────────────────────────────

    def one_of(self, field: str, value: object, supported: Sequence[str], *, empty: bool = False) -> None:
        """Check that ``value`` is in ``supported``; with ``empty`` it may be missing."""
        if value not in supported and not (empty and value in {None, ""}):
            self.causes.append(refuse.not_supported(field, "" if value is None else value, supported))

    def not_negative(self, owner: Mapping[str, Any], path: str, *names: str) -> None:
        """Check that the numbers in the fields ``names``, if present, are >= 0."""
        for name in names:
            if isinstance(value := owner.get(name), int) and value < 0:
                self.invalid(f"{path}.{name}", value, NOT_NEGATIVE)

    def text(self, field: str, problem: str, value: str) -> None:
        """Report ``problem`` as the error for ``value``, unless ``problem`` is empty."""
        if problem:
            self.invalid(field, value, problem)

    def name(self, field: str, value: str | None) -> None:
        """Check that ``value``, if present, is a DNS subdomain."""
        if value:
            self.text(field, naming.subdomain_problem(value), value)

    def label(self, field: str, value: str | None) -> None:
        """Check that ``value`` is present and a DNS label."""
        if value:
            self.text(field, naming.label_problem(value), value)
        else:
            self.required(field)

    def labels(self, field: str, labels: Mapping[str, str] | None) -> None:
        """Check the keys and values of labels."""
        for key, value in (labels or {}).items():
            self.text(field, naming.qualified_name_problem(key), key)
            self.text(field, naming.label_value_problem(value), value)

    def port(self, field: str, value: object) -> None:
        """Check that ``value`` is a port number."""
        if not isinstance(value, int) or not 1 <= value <= 65535:
            self.invalid(field, value, PORT_RANGE)

    def port_or_name(self, field: str, value: object) -> None:
        """Check that ``value`` is a port number or port name."""
        if isinstance(value, str):
            self.text(field, naming.port_name_problem(value), value)
        else:
            self.port(field, value)

    def immutable(self, field: str, value: object, old: object, detail: str = IMMUTABLE) -> None:
        """Check that the value of a field is unchanged from ``old``."""
        if value != old:
            self.invalid(field, value, detail)


# ── helpers ───────────────────────────────────────────────────────────────────────────────────


def section(owner: JSONObject, *names: str) -> JSONObject:
    """Return the object at the path ``names``; create it if it is missing."""
    for name in names:
        if not isinstance(owner.get(name), dict):
            owner[name] = {}
        owner = owner[name]
    return owner


def fill(owner: JSONObject, **values: Any) -> None:
    """Set fields of ``owner`` to ``values`` if they are missing or empty strings."""
    for name, value in values.items():
        if owner.get(name) in (None, ""):
            owner[name] = value


def show_times(obj: JSONObject, *names: str) -> None:
    """Set the fields ``names`` of status conditions to null if they are missing.

    Go encodes a zero time as null.
    """
    for condition in items(obj.get("status") or {}, "conditions"):
        for name in names:
            condition.setdefault(name, None)


def items(owner: Mapping[str, Any], name: str) -> list[JSONObject]:
    """Return the objects in the list ``name``, which may be missing."""
    found = owner.get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def indexed(owner: Mapping[str, Any], path: str, name: str) -> Iterator[tuple[str, JSONObject]]:
    """Return path and object for each object in the list ``name``, if any.

    ``path`` is the path of ``owner``.
    """
    prefix = f"{path}.{name}" if path else name
    return ((f"{prefix}[{index}]", item) for index, item in enumerate(items(owner, name)))


def given(owner: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that are fields of ``owner`` and not null."""
    return [name for name in names if owner.get(name) is not None]


def read_copy(value: Any) -> Any:
    """Return a deep copy without null fields, which Go decodes as missing."""
    if isinstance(value, dict):
        return {key: read_copy(part) for key, part in value.items() if part is not None}
    return [read_copy(part) for part in value] if isinstance(value, list) else value
