"""The fields of a kubeconfig: their types, how values are decoded, and where an error stands.

The types are those of client-go's ``tools/clientcmd/api/v1``, and values are decoded as by its codec: names of fields
are case-sensitive, unknown fields are ignored, ``null`` is the same as absent (in a list: the zero value), and no type
is converted to another. One wrong value makes the whole file invalid, also in an entry that is not used. Errors name
file, line and field, but show no values.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from dynkube.config._credential_files import absolute_path
from dynkube.errors import ConfigError
from dynkube.meta._arguments import a_type

SECTIONS: Final = {"clusters": "cluster", "contexts": "context", "users": "user"}
"""The lists of a kubeconfig, and the field of their items that has the content."""

Steps: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead to a value."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where entries come from: a file, or a mapping that was passed.

    Attributes:
        name: the prefix of messages, ``"kubeconfig /home/me/.kube/config"``.
        directory: the file's directory, the base of relative paths.
        text: the content of the file, in which errors find their line; empty for a mapping.
    """

    name: str
    directory: str = ""
    text: bytes = field(default=b"", repr=False)

    def error(self, steps: Steps, complaint: str) -> ConfigError:
        """Create the error for a value; ``complaint`` begins with the field."""
        if not self.text:
            return ConfigError(f"{self.name}: {complaint}")
        from dynkube.meta._yaml.loading import line_of  # lazy: PyYAML is needed only for files

        return ConfigError(f"{self.name}, line {line_of(self.text, steps)}: {complaint}")


@dataclass(frozen=True, slots=True)
class KubeconfigEntry:
    """A mapping inside a kubeconfig, with decoded values.

    Attributes:
        values: the fields that are set.
        origin: the file with the mapping.
        steps: where the mapping is in the file.
        at: the same for messages, ``"users[name=dev].user"``.
    """

    values: Mapping[str, object] = field(repr=False)
    origin: Origin
    steps: Steps = ()
    at: str = ""

    def error(self, field: str, complaint: str) -> ConfigError:
        """Create the error for a field."""
        return self.origin.error((*self.steps, field), f"{self.at}.{field} {complaint}")

    def where(self, field: str = "") -> str:
        """Return file and path of a field, or of the entry itself, for errors that are raised later."""
        return f"{self.origin.name}: {self.at}.{field}" if field else f"{self.origin.name}: {self.at}"

    def text(self, field: str) -> str:
        """Return a string; ``""`` if absent."""
        return cast("str", self.values.get(field, ""))

    def flag(self, field: str) -> bool:
        """Return a boolean; False if absent."""
        return cast("bool", self.values.get(field, False))

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a list of strings; empty if absent."""
        return tuple(cast("Sequence[str]", self.values.get(field, ())))

    def data(self, field: str) -> bytes | None:
        """Return data; ``None`` if absent or empty."""
        return cast("bytes | None", self.values.get(field)) or None

    def path(self, field: str) -> str | None:
        """Return an absolute path; ``None`` if absent or empty."""
        text = self.text(field)
        return absolute_path(Path(self.origin.directory, text)) if text else None

    def entry(self, field: str) -> KubeconfigEntry | None:
        """Return a nested mapping; ``None`` if absent."""
        values = cast("Mapping[str, object] | None", self.values.get(field))
        return None if values is None else self._nested(values, f"{self.at}.{field}", field)

    def entries(self, field: str) -> tuple[KubeconfigEntry, ...]:
        """Return a list of mappings; empty if absent."""
        items = cast("Sequence[Mapping[str, object]]", self.values.get(field, ()))
        return tuple(
            self._nested(item, f"{self.at}.{field}[{index}]", field, index) for index, item in enumerate(items)
        )

    def _nested(self, values: Mapping[str, object], at: str, *steps: str | int) -> KubeconfigEntry:
        return KubeconfigEntry(values, self.origin, (*self.steps, *steps), at)


@dataclass(frozen=True, slots=True)
class _List:
    """The type of a list. With ``named``, the names of its items must differ."""

    item: _Type
    named: bool = False


@dataclass(frozen=True, slots=True)
class _Map:
    """The type of a mapping with any keys."""

    value: _Type


@dataclass(frozen=True, slots=True)
class _Struct:
    """The type of a mapping with known keys."""

    fields: Mapping[str, _Type]


# bytes is base64, object is anything.
_Type: TypeAlias = "type[str | bool | bytes | object] | _List | _Map | _Struct"

_EXTENSIONS: Final = _List(_Struct({"name": str, "extension": object}), named=True)
_CLUSTER: Final[Mapping[str, _Type]] = {
    "server": str,
    "tls-server-name": str,
    "insecure-skip-tls-verify": bool,
    "certificate-authority": str,
    "certificate-authority-data": bytes,
    "proxy-url": str,
    "disable-compression": bool,
    "extensions": _EXTENSIONS,
}
_EXEC: Final[Mapping[str, _Type]] = {
    "command": str,
    "args": _List(str),
    "env": _List(_Struct({"name": str, "value": str})),
    "apiVersion": str,
    "installHint": str,
    "provideClusterInfo": bool,
    "interactiveMode": str,
}
_USER: Final[Mapping[str, _Type]] = {
    "client-certificate": str,
    "client-certificate-data": bytes,
    "client-key": str,
    "client-key-data": bytes,
    "token": str,
    "tokenFile": str,
    "as": str,
    "as-uid": str,
    "as-groups": _List(str),
    "as-user-extra": _Map(_List(str)),
    "username": str,
    "password": str,
    "auth-provider": _Struct({"name": str, "config": _Map(str)}),
    "exec": _Struct(_EXEC),
    "extensions": _EXTENSIONS,
}
_CONTEXT: Final[Mapping[str, _Type]] = {"cluster": str, "user": str, "namespace": str, "extensions": _EXTENSIONS}
_KUBECONFIG: Final = _Struct(
    {
        "kind": str,
        "apiVersion": str,
        "preferences": _Struct({"colors": bool, "extensions": _EXTENSIONS}),
        "clusters": _List(_Struct({"name": str, "cluster": _Struct(_CLUSTER)}), named=True),
        "contexts": _List(_Struct({"name": str, "context": _Struct(_CONTEXT)}), named=True),
        "users": _List(_Struct({"name": str, "user": _Struct(_USER)}), named=True),
        "current-context": str,
        "extensions": _EXTENSIONS,
    }
)
_NAMES: Final[Mapping[object, str]] = {str: "a string", bool: "true or false", bytes: "base64-encoded data"}


def decode(document: object, origin: Origin) -> Mapping[str, object]:
    """Return a document as a kubeconfig: the known fields that are set, with values of their types.

    Args:
        document: as parsed from YAML; ``None`` if the file is empty.
        origin: where it comes from, for errors.

    Raises:
        ConfigError: it is not a kubeconfig, or a value has a wrong type.
    """
    if document is not None and not isinstance(document, Mapping):
        raise origin.error((), "must be a mapping with clusters, contexts, users and current-context")
    try:
        decoded = cast("Mapping[str, object]", _decoded(document, _KUBECONFIG, ()))
    except _Misfit as misfit:
        steps, complaint = misfit.steps, misfit.complaint
    else:
        for name, expected in (("kind", "Config"), ("apiVersion", "v1")):
            if decoded.get(name, "") not in ("", expected):
                raise origin.error((name,), f"{name} is not {expected}: not a kubeconfig")
        return decoded
    raise origin.error(steps, f"{_shown(steps, document)} {complaint}")


class _Misfit(Exception):
    """A value does not have the type of its field."""

    def __init__(self, steps: Steps, complaint: str) -> None:
        super().__init__(complaint)
        self.steps = steps
        self.complaint = complaint


def _decoded(value: object, kind: _Type, at: Steps) -> object:
    match kind:
        case _Struct():
            given = _mapping(value, at)
            known = {name: item for name, item in kind.fields.items() if given.get(name) is not None}
            return {name: _decoded(given[name], item, (*at, name)) for name, item in known.items()}
        case _Map():
            return {key: _decoded(item, kind.value, (*at, key)) for key, item in _mapping(value, at).items()}
        case _List():
            return _items(value, kind, at)
    if kind is object:
        return value
    if value is None:
        return kind()
    if kind is bytes and isinstance(value, str):
        return _data(value, at)
    if not isinstance(value, kind):
        hint = ": put it in quotes" if kind is str and isinstance(value, bool | int | float) else ""
        raise _Misfit(at, f"must be {_NAMES[kind]}, not {_kind(value)}{hint}")
    return value


def _mapping(value: object, at: Steps) -> Mapping[str, object]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _Misfit(at, f"must be a mapping, not {_kind(value)}")
    return value


def _items(value: object, kind: _List, at: Steps) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise _Misfit(at, f"must be a list, not {_kind(value)}")
    items = [_decoded(item, kind.item, (*at, index)) for index, item in enumerate(value)]
    if kind.named:
        _check_names(cast("list[Mapping[str, object]]", items), kind, at)
    return items


def _check_names(items: Sequence[Mapping[str, object]], kind: _List, at: Steps) -> None:
    seen: set[object] = set()
    for index, item in enumerate(items):
        if kind is _EXTENSIONS and "extension" not in item:
            continue  # client-go replaces an extension of null
        name = item.get("name", "")
        if name in seen:
            raise _Misfit((*at, index), f"is the second entry named {name!r}: rename or remove one")
        seen.add(name)


def _data(text: str, at: Steps) -> bytes:
    try:
        # Go's decoder ignores line breaks, but no blanks.
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except ValueError:
        pass  # the exception contains the data, so it must not become the context of the error raised below
    raise _Misfit(at, "is not valid base64: expected a base64-encoded PEM file on one line")


def _shown(steps: Steps, document: object) -> str:
    """Return the path of a value for messages, with the name of its entry instead of the index."""
    shown, value = "", document
    for step in steps:
        value = cast("Any", value)[step]  # it was found there
        name = value.get("name") if isinstance(value, Mapping) else None
        if isinstance(step, str):
            shown += f".{step}" if shown else step
        elif shown in SECTIONS and isinstance(name, str) and name:
            shown += f"[name={name}]"
        else:
            shown += f"[{step}]"
    return shown


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
