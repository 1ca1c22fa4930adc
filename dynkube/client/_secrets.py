"""Values that are not for showing: those of Secrets, wherever an object keeps them. Pure."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from typing import Any, Final

import msgspec

from dynkube.errors import APIError, ApplyConflict
from dynkube.fields import Field, FieldPath
from dynkube.meta import MISSING, UNREADABLE, Unstructured

HIDDEN: Final = "***"
"""What stands for a value that is not shown."""

_SECTIONS: Final = ("data", "stringData")
_WRONG_TYPE: Final = re.compile(r"(\{Value:).*", re.DOTALL)
_LEAST_QUOTED: Final = 6  # shorter ones are in any message by chance
# `kubectl apply` keeps all of a Secret in there, values included.
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def is_secret(obj: Unstructured | Mapping[str, Any]) -> bool:
    """Whether an object, or a state of one, holds values that are not for showing."""
    kind, api_version = (
        (obj.kind, obj.api_version) if isinstance(obj, Unstructured) else (obj.get("kind"), obj.get("apiVersion"))
    )
    return kind == "Secret" and api_version == "v1"


def hides(path: FieldPath) -> bool:
    """Whether the value at this path of a Secret, or one below it, is not for showing."""
    match path.steps:
        case (Field(name), *_):
            if name in _SECTIONS:
                return True
            return name == "metadata" and path.steps[1:] in (
                (Field("annotations"), Field(_LAST_APPLIED)),
                (Field("annotations"),),
                (),
            )
    return not path.steps


def hide(before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
    """Replace the values of a Secret in both of its states, in place; it stays visible which ones differ.

    As ``kubectl diff`` shows them: ``*** (before)`` and ``*** (after)`` where there are two that differ.
    """
    for section in _SECTIONS:
        olds, news = (_section(state, section) for state in (before, after))
        _hide(olds, news, {**olds, **news})
        # One that is no map, as a manifest may have it by mistake, has values in it all the same.
        first, second = ({} if state is None or _is_map(state.get(section)) else state for state in (before, after))
        _hide(first, second, (section,))
    _hide(_section(before, "annotations"), _section(after, "annotations"), (_LAST_APPLIED,))


def _hide(olds: dict[str, Any], news: dict[str, Any], keys: Iterable[str]) -> None:
    for key in keys:
        old, new = olds.get(key, MISSING), news.get(key, MISSING)
        differ = MISSING not in (old, new) and old != new
        if old is not MISSING:
            olds[key] = f"{HIDDEN} (before)" if differ else HIDDEN
        if new is not MISSING:
            news[key] = f"{HIDDEN} (after)" if differ else HIDDEN


def _is_map(value: object) -> bool:
    return value is None or isinstance(value, dict)


def without_values(error: APIError, obj: Unstructured) -> APIError:
    """An answer to the write of an object without the values that it quotes, if that is a Secret."""
    return without_values_in(error, obj.json) if is_secret(obj) else error


def without_values_in(error: APIError, document: bytes) -> APIError:
    """An answer to the write of a Secret, or to a patch of one, without the values that it quotes.

    Servers quote what has the wrong type (``expected string, got &value.valueUnstructured{Value:5432}``).

    Args:
        error: the answer. Conflicts of fields have their values hidden already.
        document: what was sent: an object, a patch, or the operations of a JSON patch; JSON or YAML.
    """
    if isinstance(error, ApplyConflict):
        return error
    texts = {form for text in _values_in(document) for form in _forms(text)}
    longest_first = sorted((text for text in texts if len(text) >= _LEAST_QUOTED), key=len, reverse=True)

    def hidden(message: str) -> str:
        message = _WRONG_TYPE.sub(rf"\1{HIDDEN}}}", message)
        return reduce(lambda left, text: left.replace(text, HIDDEN), longest_first, message)

    status = error.status
    causes = tuple(replace(cause, message=hidden(cause.message)) for cause in status.causes)
    changed = replace(status, message=hidden(status.message), causes=causes)
    return error if changed == status else type(error)(changed, request=error.request)


def _values_in(document: bytes) -> Iterator[str]:
    try:
        content: object = msgspec.json.decode(document)
    except UNREADABLE:
        content = _from_yaml(document)
    if isinstance(content, dict):
        for name in _SECTIONS:
            yield from _texts(content.get(name))
    elif isinstance(content, list):
        for operation in content:
            yield from _texts(operation.get("value") if isinstance(operation, dict) else None)


def _from_yaml(document: bytes) -> object:
    from dynkube.meta import yaml  # few patches are, and it takes a while

    try:
        return yaml.load_document(document, lenient=True)
    except (yaml.MalformedYAML, UnicodeDecodeError):
        return None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _forms(text: str) -> Iterator[str]:
    """As it is and as base64 says; each also as Go and JSON quote it, who make one line of several."""
    plain = [text]
    with suppress(ValueError):  # of base64, and of UTF-8
        plain.append(base64.b64decode(text, validate=True).decode())
    for each in plain:
        yield each
        yield json.dumps(each, ensure_ascii=False)[1:-1]
        yield json.dumps(each)[1:-1]


def _section(state: dict[str, Any] | None, name: str) -> dict[str, Any]:
    if state is None:
        return {}
    parent = state.get("metadata") if name == "annotations" else state
    found = parent.get(name) if isinstance(parent, dict) else None
    return found if isinstance(found, dict) else {}
