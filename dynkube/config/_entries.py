"""Reading one mapping of a kubeconfig: fields are typed, complaints name file and field and show no value."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dynkube.config._files import absolute_path
from dynkube.errors import ConfigError
from dynkube.meta import a_type


@dataclass(frozen=True, slots=True)
class Entry:
    """A mapping inside a kubeconfig.

    Attributes:
        values: the mapping as decoded.
        source: the file it stands in, or what the caller passed; starts every message.
        at: where in the file, ``"users[name=dev].user"``.
        directory: what relative paths in it are relative to: the file's directory.
    """

    values: Mapping[str, object] = field(repr=False)
    source: str
    at: str
    directory: str = ""

    def error(self, field: str, complaint: str) -> ConfigError:
        """What to raise about one field."""
        return ConfigError(f"{self.where(field)} {complaint}")

    def where(self, field: str = "") -> str:
        """Source and path of a field, or of the entry itself."""
        return f"{self.source}: {self.at}.{field}" if field else f"{self.source}: {self.at}"

    def text(self, field: str) -> str:
        """A string; ``""`` where it is absent."""
        value = self.values.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.error(field, f"must be a string, not {_kind(value)}: put it in quotes")
        return value

    def flag(self, field: str) -> bool:
        """A boolean; False where it is absent."""
        value = self.values.get(field)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self.error(field, f"must be true or false, not {_kind(value)}")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """A list of strings."""
        values = self._list(field)
        if any(not isinstance(value, str) for value in values):
            raise self.error(field, "must be a list of strings: put each item in quotes")
        return tuple(value for value in values if isinstance(value, str))

    def entry(self, field: str) -> Entry | None:
        """A mapping inside this one; ``None`` where it is absent."""
        value = self.values.get(field)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.error(field, f"must be a mapping, not {_kind(value)}")
        return Entry(value, self.source, f"{self.at}.{field}", self.directory)

    def entries(self, field: str) -> tuple[Entry, ...]:
        """A list of mappings."""
        values = self._list(field)
        if any(not isinstance(value, Mapping) for value in values):
            raise self.error(field, "must be a list of mappings")
        return tuple(
            Entry(value, self.source, f"{self.at}.{field}[{index}]", self.directory)
            for index, value in enumerate(values)
            if isinstance(value, Mapping)
        )

    def data(self, field: str) -> bytes | None:
        """Base64 data, decoded; ``None`` where it is absent."""
        text = "".join(self.text(field).split())  # line breaks inside are usual
        if not text:
            return None
        data = _decoded(text)
        if data is None:
            raise self.error(field, "is not base64: it must be the base64 of a PEM file, on one line")
        return data

    def path(self, field: str) -> str | None:
        """A path, from the root; ``None`` where it is absent."""
        text = self.text(field)
        return absolute_path(Path(self.directory, text)) if text else None

    def _list(self, field: str) -> list[object]:
        value = self.values.get(field)
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            raise self.error(field, f"must be a list, not {_kind(value)}")
        return list(value)


def _decoded(text: str) -> bytes | None:
    """Base64 decoded, or ``None``: the decoder's exception holds the text, and would be the context of ours."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else a_type(value)
