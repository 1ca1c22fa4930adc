"""Replaces the values that may differ between two equivalent servers by symbols, and no others.

The responses to a sequence are normalised together, so that equal values have equal symbols in all of them, and
different values have different symbols:

- UIDs, cluster IPs, node ports and generated names are numbered in the order in which they appear. A cluster IP has a
  symbol for each Service, as a server may or may not reuse the address of a deleted Service.
- The ``resourceVersion`` of an object, also in messages, becomes its rank among all in the sequence: the order of
  writes is compared, the distance between them is not. That of a list becomes ``<list>``, as writes of other clients
  change it.
- Times become ``<time>``, or ``<microtime>`` if they have a fraction; ages in tables ``<age>``; continue tokens
  ``<continue>``.
- Entries of ``managedFields`` are sorted, as their order depends on whether two writes were in the same second.
- Objects in messages are normalised too, and the order of their fields is not compared.
- The error of a typed value names only one of several unknown fields; which one is not compared.
- Where Go iterates over a map, the order is random. So all causes of custom resources are sorted, of other resources
  only the causes of the same field; also the lines of errors of typed patches, and the conflicts of an apply (by
  manager).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from tests.contract.cluster import Response
from tests.contract.objects import JSONObject

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_GENERATED = re.compile(r"\bgen-[bcdfghjklmnpqrstvwxz2456789]{5}\b")
_ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
_AGE = re.compile(r"\d+[smhd](\d+[smh])?")
# A resourceVersion in a message.
_QUOTED_VERSION = re.compile(
    r'(?<=ResourceVersion in precondition: )\d+|(?<=ResourceVersion in object meta: )\d+|(?<="resourceVersion":")\d+'
)
_TYPED_ERRORS = re.compile(r"(?<=errors:\n)(?:  .*\n?)+")
# A real server visits fields in random order, and stops in an object at one that is not declared.
_UNDECLARED = re.compile(r"(?<=: )(?:errors:\n|\.).*field not declared in schema.*", re.DOTALL)
_QUOTED_OBJECT = re.compile(r'(?<=Invalid value: )"\{(?:[^"\\]|\\.)*"')
# A node port in the cell of a table, after its port.
_CELL_PORT = re.compile(r"(?<=\d:)3[0-2]\d{3}(?=/)")
# Node ports are 30000-32767, but dry runs also return a few above that.
_NODE_PORTS = range(30000, 32800)


def normalised(responses: Sequence[Response]) -> list[JSONObject]:
    """Return a document for each response to a sequence, comparable with those of another server."""
    normaliser = _Normaliser(found for response in responses for found in _versions(response.body))
    return [normaliser.response(response) for response in responses]


def _versions(value: Any) -> Iterator[str]:
    """Yield the resourceVersions of all objects in a document."""
    if isinstance(value, dict):
        metadata = value.get("metadata")
        if isinstance(metadata, dict) and not _is_list(value):
            version = metadata.get("resourceVersion", "")
            if isinstance(version, str) and version.isdigit():
                yield version
        for inner in value.values():
            yield from _versions(inner)
    elif isinstance(value, list):
        for item in value:
            yield from _versions(item)


def _is_list(value: JSONObject) -> bool:
    kind = str(value.get("kind", ""))
    return "items" in value or kind == "Table" or kind.endswith("List")


def _uid_of(value: JSONObject) -> str:
    """Return the UID of an object, or of the object in a table's row."""
    obj = value["object"] if "cells" in value and isinstance(value.get("object"), dict) else value
    metadata = obj.get("metadata")
    uid = metadata.get("uid") if isinstance(metadata, dict) else None
    return uid if isinstance(uid, str) else ""


class _Normaliser:
    """The symbols of one sequence."""

    def __init__(self, versions: Iterable[str]) -> None:
        self._ranks = {version: rank for rank, version in enumerate(sorted(set(versions), key=int), 1)}
        self._symbols: dict[tuple[str, object], str] = {}
        self._uid = ""  # of the current object

    def response(self, response: Response) -> JSONObject:
        headers = {
            name: response.headers[name]
            for name in ("content-type", "retry-after", "warning")
            if name in response.headers
        }
        return {"code": response.code, "headers": headers, "body": self._value(response.body, "")}

    def _symbol(self, sort: str, of: object) -> str:
        count = sum(1 for known, _ in self._symbols if known == sort)
        return self._symbols.setdefault((sort, of), f"<{sort} {count + 1}>")

    def _value(self, value: Any, key: str) -> Any:
        match value:
            case dict():
                return self._object(value)
            case list():
                items = [self._value(item, key) for item in value]
                return sorted(items, key=_canonical) if key == "managedFields" else items
            case str():
                return self._string(value, key)
            case int() if key in ("nodePort", "healthCheckNodePort") and value in _NODE_PORTS:
                return self._symbol("port", value)
            case _:
                return value

    def _object(self, value: JSONObject) -> JSONObject:
        if value.get("kind") == "Status":
            value = _with_sorted_causes(value)
        outer, self._uid = self._uid, _uid_of(value) or self._uid
        found = {self._text(name): self._value(inner, name) for name, inner in value.items()}
        self._uid = outer
        metadata = value.get("metadata")
        if _is_list(value) and isinstance(metadata, dict) and "resourceVersion" in metadata:
            found["metadata"]["resourceVersion"] = "<list>"
        return found

    def _string(self, text: str, key: str) -> str:
        if key == "resourceVersion":
            return self._version(text)
        if key == "continue" and text:
            return "<continue>"
        if key in ("clusterIP", "clusterIPs", "cells") and _ADDRESS.fullmatch(text):
            return self._symbol("address", (self._uid, text))
        if key == "cells" and _AGE.fullmatch(text):
            return "<age>"
        if key == "cells":
            text = _CELL_PORT.sub(lambda found: self._symbol("port", int(found[0])), text)
        return self._text(text)

    def _text(self, text: str) -> str:
        text = _QUOTED_OBJECT.sub(self._quoted, text)
        text = _UUID.sub(lambda found: self._symbol("uid", found[0]), text)
        text = _GENERATED.sub(lambda found: self._symbol("name", found[0]), text)
        text = _MICRO_TIME.sub("<microtime>", _TIME.sub("<time>", text))
        text = _QUOTED_VERSION.sub(lambda found: self._version(found[0]), text)
        text = _UNDECLARED.sub("<an undeclared field, and other errors>", text)
        return _TYPED_ERRORS.sub(lambda found: "\n".join(sorted(found[0].splitlines())), text)

    def _quoted(self, found: re.Match[str]) -> str:
        try:
            return json.dumps(self._value(json.loads(json.loads(found[0])), ""), sort_keys=True)
        except ValueError:
            return found[0]  # not JSON, or an escape that only Go has

    def _version(self, text: str) -> str:
        return f"<version {self._ranks[text]}>" if text in self._ranks else text


def _with_sorted_causes(status: JSONObject) -> JSONObject:
    """Return the Status with sorted causes, also in its message if that lists them."""
    details = status.get("details") or {}
    causes = details.get("causes") or []
    if causes and all(cause.get("reason") == "FieldManagerConflict" for cause in causes):
        by_manager = sorted(causes, key=lambda cause: str(cause.get("message")))
        return {**status, "details": {**details, "causes": by_manager}}
    custom = details.get("group", "").endswith(".example.com")
    together = [causes] if custom else [list(same) for _, same in groupby(causes, key=lambda cause: cause.get("field"))]
    ordered = [cause for same in together for cause in sorted(same, key=_canonical)]
    if ordered == causes:
        return status
    message = status.get("message", "").replace(_listed(causes), _listed(ordered))
    return {**status, "message": message, "details": {**details, "causes": ordered}}


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _listed(causes: Sequence[JSONObject]) -> str:
    return ", ".join(f"{cause['field']}: {cause['message']}" for cause in causes)
