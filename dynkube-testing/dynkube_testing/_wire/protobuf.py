"""Decode protobuf bodies of built-in kinds to the same objects as their JSON form.

This is needed because kubectl's typed commands (``create namespace``, ``create configmap``, ``auth can-i``, ...) send
only protobuf. Encoding is not needed: clients that send protobuf also accept JSON in the response.

``_protobuf.json`` holds the field numbers of the API's messages (k8s.io/api v0.37): ``messages`` maps a message
to its fields by number, each ``"TYPE NAME"`` with the JSON name. The type has a prefix: ``[]`` for repeated, ``{}`` for
a map with string keys, ``+`` for fields that JSON inlines into the enclosing message, and ``*`` for fields that JSON
includes even if they are empty. ``kinds`` maps an apiVersion and kind to its message.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"

# Every protobuf body begins with these four bytes, followed by a runtime.Unknown message.
_MAGIC = b"k8s\x00"


class _Field(NamedTuple):
    name: str
    type: str
    repeated: bool
    mapping: bool
    inline: bool
    shown_empty: bool

    @classmethod
    def parse(cls, text: str) -> _Field:
        kind, name = text.split(" ")
        flags = kind[: len(kind) - len(kind.lstrip("*+[]{}"))]
        return cls(name, kind[len(flags) :], "[]" in flags, "{}" in flags, "+" in flags, "*" in flags)


class _Schema(NamedTuple):
    kinds: Mapping[str, str]
    messages: Mapping[str, Mapping[str, str]]


@cache
def _schema() -> _Schema:
    # Read at the first use, since most processes never receive a protobuf body.
    text = resources.files("dynkube_testing").joinpath("_protobuf.json").read_text(encoding="utf-8")
    document = json.loads(text)
    return _Schema(document["kinds"], document["messages"])


def decode(body: bytes) -> dict[str, Any]:
    """Return the object in ``body``, including ``apiVersion`` and ``kind``.

    Raises:
        LookupError: The kind has no known protobuf form; custom resources, for example, have none.
        ValueError: The body is malformed.
    """
    if not body.startswith(_MAGIC):
        raise ValueError("the body does not begin with the protobuf prefix 'k8s\\x00'")
    unknown: dict[int, bytes] = {
        number: value for number, value in _fields(body[len(_MAGIC) :]) if isinstance(value, bytes)
    }
    type_meta = {number: value for number, value in _fields(unknown.get(1, b"")) if isinstance(value, bytes)}
    api_version, kind = type_meta.get(1, b"").decode(), type_meta.get(2, b"").decode()
    # DeleteOptions are sent with the apiVersion of the deleted object's group, but are always the same message.
    message = "meta.v1.DeleteOptions" if kind == "DeleteOptions" else _schema().kinds.get(f"{api_version} {kind}")
    if message is None:
        raise LookupError(f"{api_version} {kind} has no protobuf form here")
    return {"apiVersion": api_version, "kind": kind, **_message(message, unknown.get(2, b""))}


# ── messages ──────────────────────────────────────────────────────────────────────────────────


def _message(name: str, data: bytes) -> dict[str, Any]:
    descriptions = _schema().messages[name]
    result: dict[str, Any] = {}
    for number, raw in _fields(data):
        description = descriptions.get(str(number))
        if description is None:
            continue  # a field of a later Kubernetes version: dropped, as by a real server
        field = _Field.parse(description)
        if field.mapping:
            key, value = _map_entry(field.type, raw)
            result.setdefault(field.name, {})[key] = value
        elif field.repeated:
            result.setdefault(field.name, []).extend(_repeated(field.type, raw))
        elif field.inline:
            result.update(_value(field.type, raw))
        else:
            value = _value(field.type, raw)
            if value not in (None, "", 0, {}, []) or (field.shown_empty and value is not None):
                result[field.name] = value
    return result


def _map_entry(value_type: str, raw: int | bytes) -> tuple[str, Any]:
    entry = dict(_fields(_bytes(raw)))
    empty: int | bytes = b"" if value_type not in _NUMBERS else 0
    return _bytes(entry.get(1, b"")).decode(), _value(value_type, entry.get(2, empty))


def _repeated(item_type: str, raw: int | bytes) -> list[Any]:
    if item_type in _NUMBERS and isinstance(raw, bytes):  # packed
        return [_value(item_type, number) for number in _packed(raw)]
    return [_value(item_type, raw)]


def _packed(data: bytes) -> Iterator[int]:
    position = 0
    while position < len(data):
        number, position = _varint(data, position)
        yield number


def _value(type_name: str, raw: int | bytes) -> Any:
    convert = _NUMBERS.get(type_name)
    if convert is not None:
        if not isinstance(raw, int):
            raise ValueError(f"a field of type {type_name} is encoded as length-delimited data, expected a number")
        return convert(raw)
    data = _bytes(raw)
    special = _SPECIAL.get(type_name)
    return special(data) if special is not None else _message(type_name, data)


def _bytes(raw: int | bytes) -> bytes:
    if isinstance(raw, int):
        raise ValueError("a field of a message or string type is encoded as a number, expected length-delimited data")  # noqa: TRY004 - of the body, not of a caller
    return raw


def _signed(raw: int) -> int:
    return raw - (1 << 64) if raw >> 63 else raw


def _double(raw: int) -> float:
    number: float = struct.unpack("<d", raw.to_bytes(8, "little"))[0]
    return number


_NUMBERS: Mapping[str, Callable[[int], object]] = {
    "bool": bool,
    "int32": _signed,
    "int64": _signed,
    "double": _double,
}


# ── types whose JSON is not their message ─────────────────────────────────────────────────────


def _time(data: bytes) -> str | None:
    fields = dict(_fields(data))
    return _moment(fields, "seconds") if fields else None


def _micro_time(data: bytes) -> str | None:
    fields = dict(_fields(data))
    return _moment(fields, "microseconds") if fields else None


def _moment(fields: Mapping[int, int | bytes], precision: str) -> str:
    seconds, nanos = (_signed(value) if isinstance(value, int) else 0 for value in (fields.get(1, 0), fields.get(2, 0)))
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds, microseconds=nanos // 1000)
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")


def _int_or_string(data: bytes) -> int | str:
    fields = dict(_fields(data))
    if fields.get(1):
        return _bytes(fields.get(3, b"")).decode()
    number = fields.get(2, 0)
    return _signed(number) if isinstance(number, int) else 0


def _only_text(data: bytes) -> str:
    return _bytes(dict(_fields(data)).get(1, b"")).decode()


def _only_json(data: bytes) -> object:
    raw = _bytes(dict(_fields(data)).get(1, b""))
    return json.loads(raw) if raw else None


def _items(data: bytes) -> list[str]:
    return [_bytes(raw).decode() for _, raw in _fields(data)]


def _duration(data: bytes) -> str:
    nanoseconds = dict(_fields(data)).get(1, 0)
    return f"{_signed(nanoseconds) / 1e9:g}s" if isinstance(nanoseconds, int) else "0s"


_SPECIAL: Mapping[str, Callable[[bytes], object]] = {
    "string": bytes.decode,
    "bytes": lambda data: base64.b64encode(data).decode("ascii"),
    "api.resource.Quantity": _only_text,
    "meta.v1.Duration": _duration,
    "meta.v1.FieldsV1": _only_json,
    "meta.v1.MicroTime": _micro_time,
    "meta.v1.Time": _time,
    "meta.v1.Verbs": _items,
    "authentication.v1.ExtraValue": _items,
    "authorization.v1.ExtraValue": _items,
    "certificates.v1.ExtraValue": _items,
    "runtime.RawExtension": _only_json,
    "util.intstr.IntOrString": _int_or_string,
}


# ── the wire format: https://protobuf.dev/programming-guides/encoding/ ────────────────────────


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == 0:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire_type == 2:
            size, position = _varint(data, position)
        elif wire_type in {1, 5}:
            size = 8 if wire_type == 1 else 4
        else:
            raise ValueError(f"protobuf wire type {wire_type} at byte {position} is not supported")
        chunk = data[position : position + size]
        if len(chunk) < size:
            raise ValueError(f"the protobuf message ends in the middle of field {number}")
        position += size
        yield number, chunk if wire_type == 2 else int.from_bytes(chunk, "little")


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError(f"the protobuf number at byte {position} has no end")
