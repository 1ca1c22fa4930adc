"""Redaction of Secret values in diffs, conflicts and error responses. Pure.

``dynkube.meta._secrets`` defines what a Secret is and which of its fields are redacted.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from typing import Any, Final, TypeAlias

import msgspec

from dynkube.errors import APIError, ApplyConflict
from dynkube.fields._items import Values
from dynkube.fields._path import FieldPath
from dynkube.fields._steps import Field
from dynkube.meta import MISSING, Unstructured, thaw
from dynkube.meta._encode import encode_json
from dynkube.meta._json import UNREADABLE
from dynkube.meta._secrets import (
    LAST_APPLIED,
    SECTIONS,
    hidden_places,
    is_secret,
    may_contain_secrets,
    may_hold_secrets,
)

HIDDEN: Final = "***"
"""Displayed instead of a redacted value."""

State: TypeAlias = "dict[str, Any] | None"
_WRONG_TYPE: Final = re.compile(r"(\{Value:).*", re.DOTALL)
# The whole object that a JSON or merge patch results in, which is quoted if it cannot be decoded.
_PATCHED: Final = re.compile(r'(Invalid value: )"\{(?:[^"\\]|\\.)*\}"')
_LEAST_QUOTED: Final = 6  # minimum length of redacted strings, as shorter ones occur in messages by chance


# ── diffs ────────────────────────────────────────────────────────────────────────────────────


class _Hidden(str):
    """Placeholder of a value: equal strings for equal values.

    ``shown`` is the string to display.
    """

    __slots__ = ("shown",)
    shown: str


class Hiding:
    """Redacts Secret values in two states of an object while these are compared.

    The states are modified.

    During the comparison values are replaced by placeholders, equal for equal values. After it, values that differ are
    displayed as with ``kubectl diff``: ``*** (before)`` and ``*** (after)``.

    Args:
        before: one state; ``None`` if there is no object.
        after: the other.
        of: the objects of the states, as the states may lack kind and apiVersion.
    """

    def __init__(self, before: State, after: State, *, of: Iterable[Unstructured | None]) -> None:
        self._places: list[tuple[dict[str, Any], str]] = []
        objects = [obj for obj in of if obj is not None]
        if not any(may_hold_secrets(obj.json) for obj in objects):  # traversing a whole object is slow
            return
        secret = any(obj.kind == "Secret" for obj in objects)
        numbers: dict[object, str] = {}
        # Search both states before replacing anything, as the values of a Secret are searched in the other state too.
        places = [*hidden_places(before, after, secret=secret), *hidden_places(after, before, secret=secret)]
        for owner, name in places:
            value = owner[name]
            key = value if isinstance(value, str) else encode_json(value)
            # Starts with a NUL, which no manifest contains, so that it differs from any value that is not redacted.
            owner[name] = hidden = _Hidden(numbers.setdefault(key, f"\0{len(numbers)}"))
            hidden.shown = HIDDEN
            self._places.append((owner, name))

    def mark(self, old: object, new: object) -> None:
        """Register two values that differ and are displayed next to each other."""
        if not self._places or MISSING in (old, new):
            return
        olds, news = list(_hidden_in(old)), list(_hidden_in(new))
        for here, there, word in ((olds, news, "before"), (news, olds, "after")):
            others = set(map(str, there))
            for each in here:
                if str(each) not in others:
                    each.shown = f"{HIDDEN} ({word})"

    def shown(self, value: Any) -> Any:
        """Return the value to display."""
        return value.shown if isinstance(value, _Hidden) else value

    def settle(self) -> None:
        """Replace the placeholders in both states by the strings to display."""
        for owner, name in self._places:
            owner[name] = self.shown(owner[name])


def _hidden_in(value: object) -> Iterator[_Hidden]:
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, _Hidden):
            yield value
        elif isinstance(value, dict | list):
            pending += value.values() if isinstance(value, dict) else value


# ── conflicts ────────────────────────────────────────────────────────────────────────────────


def shown_at(path: FieldPath, values: Values) -> Any:
    """Return the value at a path of an object, redacted, or MISSING."""
    value: Any = values.obj
    secret = inside = False
    for place, step in enumerate(path.steps):
        listed = False
        if isinstance(value, Mapping):
            secret = secret or is_secret(value)
            inside = inside or secret
            if secret and step in _HIDDEN_FIELDS and values.at(path.steps) is not MISSING:
                return HIDDEN
            listed = value.get("kind") == "SecretList" and step == Field("items")
        elif isinstance(value, list | tuple):
            listed = secret  # each item of a SecretList is a Secret
        value, secret = values.child(value, step), listed
        if step == Field(LAST_APPLIED) and (inside or may_contain_secrets(value)) and place == len(path.steps) - 1:
            return HIDDEN
    return value if value is MISSING else _without_secrets(value, secret=secret, inside=inside)


_HIDDEN_FIELDS: Final = tuple(map(Field, SECTIONS))


def _without_secrets(value: Any, *, secret: bool, inside: bool) -> Any:
    if next(hidden_places(value, secret=secret, inside=inside), None) is None:
        return value
    shown = thaw(value)
    for owner, name in hidden_places(shown, secret=secret, inside=inside):
        owner[name] = HIDDEN
    return shown


# ── error responses ──────────────────────────────────────────────────────────────────────────


def without_values(error: APIError, obj: Unstructured) -> APIError:
    """Redact Secret values that the server quotes in its error response to a write of ``obj``."""
    return without_values_in(error, obj.json, secret=obj.kind == "Secret")


def without_values_in(error: APIError, document: bytes, *, secret: bool) -> APIError:
    """Redact the Secret values quoted in an error response to a write.

    Servers quote values of the wrong type (``expected string, got &value.valueUnstructured{Value:5432}``), and the
    whole object if a patch makes it invalid, with values that are not in the patch.

    Args:
        error: the error response. Values of field conflicts in it must have been redacted before.
        document: the request body: an object, a patch, or the operations of a JSON patch; JSON or YAML.
        secret: whether a Secret was written; the document may lack the kind.
    """
    if isinstance(error, ApplyConflict) or not (secret or may_hold_secrets(document)):
        return error
    values = list(_values_in(document, secret=secret))
    if not (values or secret):
        return error
    texts = {form for value in values for text in _texts(value) for form in _forms(text)}
    longest_first = sorted((text for text in texts if len(text) >= _LEAST_QUOTED), key=len, reverse=True)

    def hidden(message: str) -> str:
        message = _WRONG_TYPE.sub(rf"\1{HIDDEN}}}", message)
        message = _PATCHED.sub(rf'\1"{HIDDEN}"', message) if secret else message
        return reduce(lambda left, text: left.replace(text, HIDDEN), longest_first, message)

    status = error.status
    causes = tuple(replace(cause, message=hidden(cause.message)) for cause in status.causes)
    changed = replace(status, message=hidden(status.message), causes=causes)
    return error if changed == status else type(error)(changed, request=error.request)


def _values_in(document: bytes, *, secret: bool) -> Iterator[object]:
    try:
        content: object = msgspec.json.decode(document)
    except UNREADABLE:
        content = _from_yaml(document)
    if isinstance(content, list):  # operations of a JSON patch
        operations: Iterable[object] = content
        secrets = (each.get("value") for each in operations if isinstance(each, dict))
        yield from (value for value in secrets if secret or is_secret(value))
    yield from (owner[name] for owner, name in hidden_places(content, secret=secret and isinstance(content, dict)))


def _from_yaml(document: bytes) -> object:
    from dynkube.meta._yaml import loading as yaml  # imported here: few patches are YAML, and the import is slow

    try:
        return yaml.load_document(document, lenient=True)
    except ValueError:  # not YAML, or several documents
        return None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _forms(text: str) -> Iterator[str]:
    """Yield the forms in which a message may quote ``text``.

    These are the string itself and its base64-decoded value, each also quoted as in Go and as in JSON.
    """
    plain = [text]
    with suppress(ValueError):  # not base64, or not UTF-8
        plain.append(base64.b64decode(text, validate=True).decode())
    for each in plain:
        yield each
        yield json.dumps(each, ensure_ascii=False)[1:-1]
        yield json.dumps(each)[1:-1]
