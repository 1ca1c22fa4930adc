"""Typed access to the fields of an object.

A missing value, or one of the wrong type, is read as a default. A real server decodes built-in kinds into structs, in
which each field has a zero value or a default. With this class, functions that compute cells need no checks either.
"""

from __future__ import annotations

from collections.abc import Mapping

_NOTHING: Mapping[str, object] = {}


class Fields:
    """A JSON object, read by dotted paths.

    A value that is not an object is treated as an empty object.
    """

    __slots__ = ("_data",)

    def __init__(self, data: object) -> None:
        self._data: Mapping[str, object] = data if isinstance(data, dict) else _NOTHING

    @property
    def data(self) -> Mapping[str, object]:
        """The underlying object."""
        return self._data

    def get(self, path: str) -> object:
        """Return the value at ``path`` (``"spec.replicas"``); ``None`` if missing."""
        value: object = self._data
        for name in path.split("."):
            if not isinstance(value, dict):
                return None
            value = value.get(name)
        return value

    def has(self, path: str) -> bool:
        """Return whether there is a value other than ``null``."""
        return self.get(path) is not None

    def text(self, path: str, default: str = "") -> str:
        """Return the string at ``path``."""
        value = self.get(path)
        return value if isinstance(value, str) else default

    def number(self, path: str, default: int = 0) -> int:
        """Return the integer at ``path``."""
        value = self.get(path)
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    def flag(self, path: str, default: bool = False) -> bool:
        """Return the boolean at ``path``."""
        value = self.get(path)
        return value if isinstance(value, bool) else default

    def scalar(self, path: str, default: str = "") -> str:
        """Return the string or number at ``path`` as a string.

        It is for quantities and int-or-string values.
        """
        value = self.get(path)
        return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else default

    def at(self, path: str) -> Fields:
        """Return the object at ``path`` as :class:`Fields`."""
        return Fields(self.get(path))

    def mapping(self, path: str) -> Mapping[str, object]:
        """Return the object at ``path``; an empty one if there is none."""
        value = self.get(path)
        return value if isinstance(value, dict) else _NOTHING

    def each(self, path: str) -> list[Fields]:
        """Return the objects in the list at ``path``."""
        value = self.get(path)
        return [Fields(item) for item in value] if isinstance(value, list) else []

    def texts(self, path: str) -> list[str]:
        """Return the strings in the list at ``path``."""
        value = self.get(path)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def condition(self, kind: str, path: str = "status.conditions") -> Fields | None:
        """Return the first condition of the type ``kind``; ``None`` if there is none."""
        return next((condition for condition in self.each(path) if condition.text("type") == kind), None)

    def is_true(self, kind: str) -> bool:
        """Return whether the condition of the type ``kind`` has the status ``"True"``."""
        condition = self.condition(kind)
        return condition is not None and condition.text("status") == "True"

    @property
    def name(self) -> str:
        """``metadata.name``."""
        return self.text("metadata.name")

    @property
    def deleting(self) -> bool:
        """Whether the object is being deleted."""
        return self.has("metadata.deletionTimestamp")
