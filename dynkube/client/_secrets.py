"""Values of Secrets that a program must not show: in differences, in conflicts, and quoted in answers. Pure.

What is a Secret, and what of it is hidden, says ``dynkube._display.secrets``.
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

from dynkube._display.secrets import LAST_APPLIED, SECTIONS, hidden_places, is_secret, may_hold_secrets, tells_secrets
from dynkube.errors import APIError, ApplyConflict
from dynkube.fields import Field, FieldPath, Values
from dynkube.meta import MISSING, UNREADABLE, Unstructured, encode_json, thaw

HIDDEN: Final = "***"
"""What stands for a value that is not shown."""

State: TypeAlias = "dict[str, Any] | None"
_WRONG_TYPE: Final = re.compile(r"(\{Value:).*", re.DOTALL)
_LEAST_QUOTED: Final = 6  # shorter ones are in any message by chance


# ── in differences ───────────────────────────────────────────────────────────────────────────


class _Hidden(str):
    """In the place of a value: the same text for the same value. ``shown`` is what people are to see there."""

    __slots__ = ("shown",)
    shown: str


class Hiding:
    """Hides the values of Secrets in two states of an object, in place, for as long as these are compared.

    Meanwhile they can be told apart and nothing else. At the end it is seen which ones differ, as with
    ``kubectl diff``: ``*** (before)`` and ``*** (after)`` where there are two.

    Args:
        before: one state; ``None`` where there is no object.
        after: the other.
        of: what the states are of; they may leave out what it is.
    """

    def __init__(self, before: State, after: State, *, of: Iterable[Unstructured | None]) -> None:
        self._places: list[tuple[dict[str, Any], str]] = []
        objects = [obj for obj in of if obj is not None]
        if not any(may_hold_secrets(obj.json) for obj in objects):  # to go through all of an object takes a while
            return
        secret = any(obj.kind == "Secret" for obj in objects)
        numbers: dict[object, str] = {}
        # Both are gone through before anything is replaced: each is looked at for what is a Secret in the other.
        places = [*hidden_places(before, after, secret=secret), *hidden_places(after, before, secret=secret)]
        for owner, name in places:
            value = owner[name]
            key = value if isinstance(value, str) else encode_json(value)
            # A text that no manifest has, as what is hidden may be compared with what is not.
            owner[name] = hidden = _Hidden(numbers.setdefault(key, f"\0{len(numbers)}"))
            hidden.shown = HIDDEN
            self._places.append((owner, name))

    def mark(self, old: object, new: object) -> None:
        """Take in two values that differ and are to be shown beside each other."""
        if not self._places or MISSING in (old, new):
            return
        olds, news = list(_hidden_in(old)), list(_hidden_in(new))
        for here, there, word in ((olds, news, "before"), (news, olds, "after")):
            others = set(map(str, there))
            for each in here:
                if str(each) not in others:
                    each.shown = f"{HIDDEN} ({word})"

    def shown(self, value: Any) -> Any:
        """What people are to see of a value."""
        return value.shown if isinstance(value, _Hidden) else value

    def settle(self) -> None:
        """Leave in both states what people are to see."""
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


# ── in conflicts ─────────────────────────────────────────────────────────────────────────────


def shown_at(path: FieldPath, values: Values) -> Any:
    """The value at a path of an object as it may be shown, or MISSING."""
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
            listed = secret  # of such a list each item is one
        value, secret = values.child(value, step), listed
        if step == Field(LAST_APPLIED) and (inside or tells_secrets(value)) and place == len(path.steps) - 1:
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


# ── in answers ───────────────────────────────────────────────────────────────────────────────


def without_values(error: APIError, obj: Unstructured) -> APIError:
    """An answer to the write of an object without the values of Secrets in it, as far as it quotes them."""
    return without_values_in(error, obj.json, secret=obj.kind == "Secret")


def without_values_in(error: APIError, document: bytes, *, secret: bool) -> APIError:
    """An answer to the write of a document without the values of Secrets in it, as far as it quotes them.

    Servers quote what has the wrong type (``expected string, got &value.valueUnstructured{Value:5432}``).

    Args:
        error: the answer. Conflicts of fields have their values hidden already.
        document: what was sent: an object, a patch, or the operations of a JSON patch; JSON or YAML.
        secret: what was written is a Secret, though the document may not say so.
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
    if isinstance(content, list):  # of operations on one
        operations: Iterable[object] = content
        secrets = (each.get("value") for each in operations if isinstance(each, dict))
        yield from (value for value in secrets if secret or is_secret(value))
    yield from (owner[name] for owner, name in hidden_places(content, secret=secret and isinstance(content, dict)))


def _from_yaml(document: bytes) -> object:
    from dynkube.meta import yaml  # few patches are, and it takes a while

    try:
        return yaml.load_document(document, lenient=True)
    except ValueError:  # no YAML, or several documents
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
