"""Fields of an object under validation, and the causes found in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from dynkube.errors import StatusCause
from dynkube_testing._builtin.types import field_type
from dynkube_testing._calls import causes
from dynkube_testing._calls.api import JSONObject

IMMUTABLE = "field is immutable"
_OWN: Any = object()


class Field:
    """A value, its path and its Go type, like ``field.Path`` in Kubernetes.

    The methods that report a problem add a cause with the path of the field.

    Attributes:
        path: The path in causes; ``""`` for a whole object.
        value: The value; ``None`` if the field is missing.
        owner: The object that has the field; ``None`` for a whole object.
        name: The name of the field; for an item, the name of its list.
        index: The position of an item in its list; -1 for other fields.
        creating: Whether the object is new.
    """

    __slots__ = ("_descend", "_type", "causes", "creating", "index", "name", "owner", "path", "value")

    def __init__(
        self,
        value: Any,
        path: str = "",
        type: str | None = None,  # noqa: A002 - the word of Go
        *,
        causes: list[StatusCause] | None = None,
        descend: Descend | None = None,
        creating: bool = False,
    ) -> None:
        self.value, self.path, self._type = value, path, type
        self.causes: list[StatusCause] = [] if causes is None else causes
        self._descend, self.creating = descend, creating
        self.owner: Field | None = None
        self.name, self.index = "", -1

    @property
    def type(self) -> str:
        """The published name of the value's type, or of the type of its items; ``""`` if it is unknown."""
        if self._type is None:
            self._type = "" if self.owner is None else field_type(self.owner.type, self.name).name
        return self._type

    # ── related fields ────────────────────────────────────────────────────────────────────

    def at(self, *names: str) -> Field:
        """Return the field at the path ``names`` below this one, which may be missing."""
        found = self
        for name in names:
            found = found._child(f"{found.path}.{name}" if found.path else name, name)
        return found

    def item(self, index: int) -> Field:
        """Return the item at ``index`` of this list."""
        found = self._below(self.value[index], f"{self.path}[{index}]", self._type)
        found.owner, found.name, found.index = self.owner, self.name, index
        return found

    def key(self, key: str) -> Field:
        """Return the value of ``key`` in this map; ``None`` if it has no such key."""
        found = self._below((self.value or {}).get(key), f"{self.path}[{key}]", self._type)
        found.owner, found.name = self.owner, self.name
        return found

    def each(self, *names: str) -> Iterator[Field]:
        """Yield the objects of the list at the path ``names``, which may be missing."""
        field = self.at(*names)
        if isinstance(field.value, list):
            yield from (field.item(index) for index, item in enumerate(field.value) if isinstance(item, dict))

    def renamed(self, path: str) -> Field:
        """Return this field with another path, as some causes name another one than the object has."""
        found = self._below(self.value, path, self._type)
        found.owner, found.name, found.index = self.owner, self.name, self.index
        return found

    def with_value(self, value: object) -> Field:
        """Return this field with another value, such as the key of a map."""
        return self._below(value, self.path, self._type)

    def _child(self, path: str, name: str) -> Field:
        value = self.value.get(name) if isinstance(self.value, dict) else None
        if value is None and field_type(self.type, name).by_value:
            value = {}
        found = self._below(value, path, None)
        found.owner, found.name = self, name
        return found

    def _below(self, value: Any, path: str, of: str | None) -> Field:
        return Field(value, path, of, causes=self.causes, descend=self._descend, creating=self.creating)

    def get(self, *names: str) -> Any:
        """Return the value at the path ``names`` below this one; ``None`` if it is missing."""
        value = self.value
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def given(self, names: Sequence[str]) -> list[str]:
        """Return those of ``names`` that are fields of this object and not null."""
        return [name for name in names if self.get(name) is not None]

    def above(self, of: str) -> Field:
        """Return the nearest object around this one whose type ends with ``of``.

        Raises:
            LookupError: There is none.
        """
        field = self.owner
        while field is not None and not field.type.endswith(of):
            field = field.owner
        if field is None:
            raise LookupError(f"{self.path} is not part of a {of}")
        return field

    def earlier(self) -> list[JSONObject]:
        """Return the objects before this item in its list."""
        items = self.owner.get(self.name) if self.owner is not None else []
        return [item for item in (items or ())[: self.index] if isinstance(item, dict)]

    def check(self) -> None:
        """Apply the rules of this value's type, and of the types of its fields."""
        if self._descend is not None:
            self._descend(self)

    # ── causes ────────────────────────────────────────────────────────────────────────────

    def required(self, detail: str = "") -> None:
        """Report that the field is missing."""
        self.causes.append(causes.required(self.path, detail))

    def invalid(self, detail: str, value: object = _OWN) -> None:
        """Report an invalid value, by default that of the field; nothing if ``detail`` is empty."""
        if detail:
            self.causes.append(causes.bad_value(self.path, self.value if value is _OWN else value, detail))

    def unspecified(self, detail: str) -> None:
        """Report an invalid value without showing it."""
        self.causes.append(StatusCause(self.path, "FieldValueInvalid", f"Invalid value: {detail}"))

    def forbidden(self, detail: str) -> None:
        """Report a field that must not be set, or not to this value."""
        self.causes.append(causes.not_allowed(self.path, detail))

    def duplicate(self, value: object = _OWN) -> None:
        """Report a duplicate entry of a list."""
        self.causes.append(causes.duplicate(self.path, self.value if value is _OWN else value))

    def not_found(self) -> None:
        """Report a reference to a name that does not exist."""
        name = self.value or ""
        self.causes.append(StatusCause(self.path, "FieldValueNotFound", f'Not found: "{name}"'))

    def too_long(self, limit: int, unit: str = "bytes") -> None:
        """Report a value of more than ``limit`` bytes."""
        self.causes.append(causes.too_long(self.path, f"may not be more than {limit} {unit}"))

    def too_many(self, limit: int) -> None:
        """Report a list of more than ``limit`` items."""
        items = "item" if limit == 1 else "items"
        text = f"Too many: {len(self.value)}: must have at most {limit} {items}"
        self.causes.append(StatusCause(self.path, "FieldValueTooMany", text))

    def one_of(self, supported: Sequence[str], value: object = _OWN) -> None:
        """Report a value that is not one of ``supported``."""
        if (self.value if value is _OWN else value) not in supported:
            self.unsupported(supported, value)

    def unsupported(self, supported: Sequence[str], value: object = _OWN) -> None:
        """Report a value that is not supported; ``supported`` are the values in the message."""
        own = "" if self.value is None else self.value
        self.causes.append(causes.not_supported(self.path, own if value is _OWN else value, supported))

    def immutable(self, old: object, detail: str = IMMUTABLE) -> None:
        """Report a value that differs from ``old``."""
        if self.value != old:
            self.invalid(detail)


Descend: TypeAlias = Callable[[Field], None]
