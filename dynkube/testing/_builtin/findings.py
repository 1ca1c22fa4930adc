"""Collecting what is wrong with an object, and walking objects of which little is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dynkube.errors import StatusCause
from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds import naming

IMMUTABLE = "field is immutable"
NOT_NEGATIVE = "must be greater than or equal to 0"
PORT_RANGE = "must be between 1 and 65535, inclusive"


class Findings:
    """The causes found so far, in the order they are told."""

    def __init__(self) -> None:
        self.causes: list[StatusCause] = []

    def required(self, field: str, detail: str = "") -> None:
        """A field that must be given."""
        self.causes.append(refuse.required(field, detail))

    def invalid(self, field: str, value: object, detail: str) -> None:
        """A field with a value that is not allowed."""
        self.causes.append(refuse.bad_value(field, value, detail))

    def forbidden(self, field: str, detail: str) -> None:
        """A field that may not be set, or not so."""
        self.causes.append(refuse.not_allowed(field, detail))

    def duplicate(self, field: str, value: object) -> None:
        """A list entry that is there twice."""
        self.causes.append(refuse.duplicate(field, value))

    def not_found(self, field: str, value: str) -> None:
        """A name of something that is not there."""
        self.causes.append(StatusCause(field, "FieldValueNotFound", f'Not found: "{value}"'))

    def too_long(self, field: str, limit: int) -> None:
        """A value of too many bytes."""
        self.causes.append(StatusCause(field, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes"))

    # ── common checks ─────────────────────────────────────────────────────────────────────

    def one_of(self, field: str, value: object, supported: Sequence[str], *, empty: bool = False) -> None:
        """Only ``supported`` values; with ``empty`` a missing one is nobody's mistake."""
        if value not in supported and not (empty and value in {None, ""}):
            self.causes.append(refuse.not_supported(field, "" if value is None else value, supported))

    def not_negative(self, owner: Mapping[str, Any], path: str, *names: str) -> None:
        """Numbers from 0 on, where they are given."""
        for name in names:
            if isinstance(value := owner.get(name), int) and value < 0:
                self.invalid(f"{path}.{name}", value, NOT_NEGATIVE)

    def text(self, field: str, problem: str, value: str) -> None:
        """A value with a problem, if ``problem`` says one."""
        if problem:
            self.invalid(field, value, problem)

    def name(self, field: str, value: str | None) -> None:
        """A DNS subdomain, where one is given."""
        if value:
            self.text(field, naming.subdomain_problem(value), value)

    def label(self, field: str, value: str | None) -> None:
        """A DNS label, which has to be there."""
        if value:
            self.text(field, naming.label_problem(value), value)
        else:
            self.required(field)

    def labels(self, field: str, labels: Mapping[str, str] | None) -> None:
        """Keys and values of labels."""
        for key, value in (labels or {}).items():
            self.text(field, naming.qualified_name_problem(key), key)
            self.text(field, naming.label_value_problem(value), value)

    def port(self, field: str, value: object) -> None:
        """The number of a port."""
        if not isinstance(value, int) or not 1 <= value <= 65535:
            self.invalid(field, value, PORT_RANGE)

    def port_or_name(self, field: str, value: object) -> None:
        """The number or the name of a port."""
        if isinstance(value, str):
            self.text(field, naming.port_name_problem(value), value)
        else:
            self.port(field, value)

    def immutable(self, field: str, value: object, old: object, detail: str = IMMUTABLE) -> None:
        """A field that stays as it is."""
        if value != old:
            self.invalid(field, value, detail)


# ── walking ───────────────────────────────────────────────────────────────────────────────────


def section(owner: JSONObject, *names: str) -> JSONObject:
    """The object at a path, put there where it is missing."""
    for name in names:
        if not isinstance(owner.get(name), dict):
            owner[name] = {}
        owner = owner[name]
    return owner


def fill(owner: JSONObject, **values: Any) -> None:
    """Give fields that are not there a value; texts also where they are empty."""
    for name, value in values.items():
        if owner.get(name) in (None, ""):
            owner[name] = value


def show_times(obj: JSONObject, *names: str) -> None:
    """Times that a condition does not tell are shown as null, as Go's zero times are."""
    for condition in items(obj.get("status") or {}, "conditions"):
        for name in names:
            condition.setdefault(name, None)


def items(owner: Mapping[str, Any], name: str) -> list[JSONObject]:
    """The objects in a list that may be missing."""
    found = owner.get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def indexed(owner: Mapping[str, Any], path: str, name: str) -> Iterator[tuple[str, JSONObject]]:
    """The objects in a list that may be missing, each with its path."""
    prefix = f"{path}.{name}" if path else name
    return ((f"{prefix}[{index}]", item) for index, item in enumerate(items(owner, name)))


def given(owner: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Those of ``names`` that are there."""
    return [name for name in names if owner.get(name) is not None]


def read_copy(value: Any) -> Any:
    """A copy to work on, without fields that are null: a Go program does not see those."""
    if isinstance(value, dict):
        return {key: read_copy(part) for key, part in value.items() if part is not None}
    return [read_copy(part) for part in value] if isinstance(value, list) else value
