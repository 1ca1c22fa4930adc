"""Typed access to the fields of a kubeconfig.

Errors name file and field, but show no values.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dynkube.config._credential_files import absolute_path
from dynkube.errors import ConfigError
from dynkube.meta._arguments import a_type


@dataclass(frozen=True, slots=True)
class KubeconfigEntry:
    """A mapping inside a kubeconfig.

    Attributes:
        values: the mapping as decoded.
        source: the file or the caller's argument that has the mapping; the prefix of every message.
        at: the path of the mapping in the file, for example ``"users[name=dev].user"``.
        directory: the file's directory, the base of relative paths.
    """

    values: Mapping[str, object] = field(repr=False)
    source: str
    at: str
    directory: str = ""

    def error(self, field: str, complaint: str) -> ConfigError:
        """Create the error for a field."""
        return ConfigError(f"{self.where(field)} {complaint}")

    def where(self, field: str = "") -> str:
        """Return source and path of a field, or of the entry itself."""
        return f"{self.source}: {self.at}.{field}" if field else f"{self.source}: {self.at}"

    def text(self, field: str) -> str:
        """Return a string; ``""`` if absent."""
        value = self.values.get(field)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.error(field, f"must be a string, not {_kind(value)}: put it in quotes")
        return value

    def flag(self, field: str) -> bool:
        """Return a boolean; False if absent."""
        value = self.values.get(field)
        if value is None:
            return False
        if not isinstance(value, bool):
            raise self.error(field, f"must be true or false, not {_kind(value)}")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a list of strings; empty if absent."""
        values = self._list(field)
        if any(not isinstance(value, str) for value in values):
            raise self.error(field, "must be a list of strings: put each item in quotes")
        return tuple(value for value in values if isinstance(value, str))

    def entry(self, field: str) -> KubeconfigEntry | None:
        """Return a nested mapping; ``None`` if absent."""
        value = self.values.get(field)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.error(field, f"must be a mapping, not {_kind(value)}")
        return KubeconfigEntry(value, self.source, f"{self.at}.{field}", self.directory)

    def entries(self, field: str) -> tuple[KubeconfigEntry, ...]:
        """Return a list of mappings; empty if absent."""
        values = self._list(field)
        if any(not isinstance(value, Mapping) for value in values):
            raise self.error(field, "must be a list of mappings")
        return tuple(
            KubeconfigEntry(value, self.source, f"{self.at}.{field}[{index}]", self.directory)
            for index, value in enumerate(values)
            if isinstance(value, Mapping)
        )

    def data(self, field: str) -> bytes | None:
        """Decode and return base64 data; ``None`` if absent."""
        text = "".join(self.text(field).split())  # line breaks are common
        if not text:
            return None
        data = _decoded(text)
        if data is None:
            raise self.error(field, "is not valid base64: expected a base64-encoded PEM file on one line")
        return data

    def path(self, field: str) -> str | None:
        """Return an absolute path; ``None`` if absent."""
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
    """Decode base64; return ``None`` on error.

    The decoder's exception contains the data, so it must not become the context of an error raised here.
    """
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
