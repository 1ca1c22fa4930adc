"""The lines of ``dynkube logs``: text with coloured names, bytes, or JSON. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from dynkube._text.colours import SGR, colour_of
from dynkube._text.tables import printable
from dynkube.pods import LogLine
from dynkube.pods._logs.lines import rfc3339

Format = Literal["text", "raw", "json"]
Writer: TypeAlias = Callable[[LogLine], bytes]
"""Returns a line without its newline."""

_COLOURS: Final = (32, 33, 34, 35, 36, 92, 93, 94, 95, 96)  # SGR, by number; without the red of errors
_RESET: Final = "\x1b[0m"
_LEVELS: Final = ("level", "lvl", "severity")
_MESSAGES: Final = ("msg", "message")
_TIMES: Final = ("time", "ts", "timestamp", "@timestamp")


class TextLines:
    """Lines as ``POD CONTAINER text``.

    Args:
        terminal: the output is a terminal: control characters are replaced, except colours.
        coloured: names have colours: each pod always the same one.
        namespaces: lines begin with the namespace.
        parse: show lines that are JSON objects as text.
        fields: of these, only the values of these fields.
    """

    def __init__(
        self, *, terminal: bool, coloured: bool, namespaces: bool, parse: bool = False, fields: Sequence[str] = ()
    ) -> None:
        self._terminal = terminal
        self._coloured = coloured
        self._namespaces = namespaces
        self._parse = parse or bool(fields)
        self._fields = fields

    def __call__(self, line: LogLine) -> bytes:
        """Return one line; other than on a terminal the text is that of the container, byte for byte."""
        stamp = f"{rfc3339(line.timestamp_ns)} " if line.timestamp_ns is not None else ""
        text = self._parsed(line) if self._parse else None
        if text is None and not self._terminal:
            return f"{self.title(line)} {stamp}".encode() + line.raw
        return f"{self.title(line)} {stamp}{self._safe(line.text if text is None else text)}".encode()

    def title(self, line: LogLine) -> str:
        """Return the names before a line."""
        names = f"{line.namespace}/{line.pod}" if self._namespaces else line.pod
        return coloured(f"{names} {line.container}", line.pod) if self._coloured else f"{names} {line.container}"

    def _safe(self, text: str) -> str:
        if not self._terminal or text.isprintable():
            return text
        parts = SGR.split(text.rstrip("\r"))
        shown = [printable(part, keep="\t") for part in parts[::2]]
        if not self._coloured or len(parts) == 1:
            return "".join(shown)
        parts[::2] = shown
        return "".join(parts) + _RESET

    def _parsed(self, line: LogLine) -> str | None:
        found = json_object(line.raw)
        if found is None:
            return None
        if self._fields:
            return " ".join(_value(found[name]) for name in self._fields if name in found)
        return _readable(found)


def raw_line(line: LogLine) -> bytes:
    """Return the bytes of a line, as the container wrote them."""
    return line.raw if line.timestamp_ns is None else f"{rfc3339(line.timestamp_ns)} ".encode() + line.raw


class JSONObjects:
    """A JSON object for each line: ``{"namespace": ..., "pod": ..., "container": ..., "message": ...}``.

    Args:
        parse: the message of a line that is a JSON object is that object.
        fields: of these, only these fields.
    """

    def __init__(self, *, parse: bool = False, fields: Sequence[str] = ()) -> None:
        self._parse = parse or bool(fields)
        self._fields = fields

    def __call__(self, line: LogLine) -> bytes:
        """Return one line."""
        message: object = json_object(line.raw) if self._parse else None
        if isinstance(message, Mapping) and self._fields:
            message = {name: message[name] for name in self._fields if name in message}
        time = {} if line.timestamp_ns is None else {"timestamp": rfc3339(line.timestamp_ns)}
        names = {"namespace": line.namespace, "pod": line.pod, "container": line.container}
        return msgspec.json.encode({**names, **time, "message": line.text if message is None else message})


def coloured(text: str, name: str) -> str:
    """Return ``text`` in the colour of a name, which is always the same one."""
    return f"\x1b[{_COLOURS[colour_of(name)]}m{text}{_RESET}"


def json_object(raw: bytes) -> dict[str, Any] | None:
    """Return the JSON object that a line is; ``None`` if it is something else."""
    if not raw.lstrip().startswith(b"{"):
        return None
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _readable(found: Mapping[str, Any]) -> str:
    """Return the fields of a line: level, message, and all others but the time as ``name=value``."""
    level = next((name for name in _LEVELS if name in found), None)
    message = next((name for name in _MESSAGES if name in found), None)
    parts = [] if level is None else [str(found[level]).upper()]
    if message is not None:
        parts.append(_value(found[message]))
    others = (name for name in found if name not in {level, message} and name not in _TIMES)
    parts += (f"{name}={_quoted(found[name])}" for name in others)
    return " ".join(parts)


def _value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _quoted(value: object) -> str:
    text = _value(value)
    return text if not isinstance(value, str) or (text.isprintable() and " " not in text) else _value([text])[1:-1]
