"""Reading an object for print: what is absent, or not of the shape it should be, reads as empty.

Built-in kinds are decoded into typed structs by a real server, where every field has a zero value or its default.
Cells are computed from those, so the functions that fill cells need no checks of their own, and name the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping

_NOTHING: Mapping[str, object] = {}


class Fields:
    """A JSON object, read by dotted paths; anything that is no object reads as an empty one."""

    __slots__ = ("_data",)

    def __init__(self, data: object) -> None:
        self._data: Mapping[str, object] = data if isinstance(data, dict) else _NOTHING

    @property
    def data(self) -> Mapping[str, object]:
        """The object itself."""
        return self._data

    def get(self, path: str) -> object:
        """The value at ``path`` (``"spec.replicas"``), ``None`` where there is none."""
        value: object = self._data
        for name in path.split("."):
            if not isinstance(value, dict):
                return None
            value = value.get(name)
        return value

    def has(self, path: str) -> bool:
        """Whether there is something else than ``null``."""
        return self.get(path) is not None

    def text(self, path: str, default: str = "") -> str:
        """The text at ``path``."""
        value = self.get(path)
        return value if isinstance(value, str) else default

    def number(self, path: str, default: int = 0) -> int:
        """The integer at ``path``."""
        value = self.get(path)
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    def flag(self, path: str, default: bool = False) -> bool:
        """The boolean at ``path``."""
        value = self.get(path)
        return value if isinstance(value, bool) else default

    def scalar(self, path: str, default: str = "") -> str:
        """The text or number at ``path`` as text: quantities and int-or-string values."""
        value = self.get(path)
        return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else default

    def at(self, path: str) -> Fields:
        """The object at ``path``."""
        return Fields(self.get(path))

    def mapping(self, path: str) -> Mapping[str, object]:
        """The object at ``path``, decoded."""
        value = self.get(path)
        return value if isinstance(value, dict) else _NOTHING

    def each(self, path: str) -> list[Fields]:
        """The objects in the list at ``path``."""
        value = self.get(path)
        return [Fields(item) for item in value] if isinstance(value, list) else []

    def texts(self, path: str) -> list[str]:
        """The texts in the list at ``path``."""
        value = self.get(path)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def condition(self, kind: str, path: str = "status.conditions") -> Fields | None:
        """The first condition of a type, ``None`` where there is none."""
        return next((condition for condition in self.each(path) if condition.text("type") == kind), None)

    def is_true(self, kind: str) -> bool:
        """Whether the condition of a type has the status ``"True"``."""
        condition = self.condition(kind)
        return condition is not None and condition.text("status") == "True"

    @property
    def name(self) -> str:
        """``metadata.name``."""
        return self.text("metadata.name")

    @property
    def deleting(self) -> bool:
        """Whether a delete has begun."""
        return self.has("metadata.deletionTimestamp")
