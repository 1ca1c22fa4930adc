"""Conditions of ``wait_for``: predicates on an object, in kubectl's syntax. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from dynkube.errors import InvalidInput
from dynkube.meta import JSONPath, Unstructured
from dynkube.meta._arguments import a_type

_FORMS = (
    "'condition=Ready', 'condition=Ready=False', 'jsonpath={.status.phase}=Running', 'jsonpath={.status.phase}', "
    "'create', 'delete', or a function of the object"
)
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Condition(Protocol):
    """A condition on the state of one object."""

    def holds(self, obj: Unstructured | None) -> bool:
        """Whether ``obj`` meets the condition.

        ``None`` means that there is no such object.
        """

    def seen(self, obj: Unstructured | None) -> str:
        """Describe the actual state, for an error message."""


ConditionLike = str | Callable[[Unstructured], bool]


def parse_condition(condition: ConditionLike, *, uid: str | None = None) -> Condition:
    """Parse a condition of ``wait_for``.

    Args:
        condition: a string in the syntax of ``kubectl wait --for``, or a function of the object.
        uid: with ``"delete"``: uid of the object that has to be deleted.

    Raises:
        InvalidInput: the condition is malformed, or ``uid`` is given with a condition other than ``"delete"``.
        InvalidJSONPath: the JSONPath in the condition is malformed.
    """
    if condition != "delete" and uid is not None:
        raise InvalidInput("uid is allowed only with condition='delete': it says whose deletion to wait for")
    if callable(condition):
        return Predicate(condition)
    if not isinstance(condition, str):
        raise InvalidInput(f"condition is {a_type(condition)}, not one of {_FORMS}")
    word, separator, rest = condition.partition("=")
    match word, separator:
        case "create", "":
            return Exists()
        case "delete", "":
            return Absent(uid)
        case "condition", "=" if rest.partition("=")[0].strip():
            name, equals, status = rest.partition("=")
            return StatusCondition(name.strip(), status.strip() if equals else "True")
        case "jsonpath", "=" if rest.strip():
            return _parse_jsonpath(rest)
    raise InvalidInput(f"condition {condition!r} is not one of {_FORMS}")


@dataclass(frozen=True, slots=True)
class Exists:
    """``create``: the object exists."""

    def holds(self, obj: Unstructured | None) -> bool:
        """Whether ``obj`` meets the condition."""
        return obj is not None

    def seen(self, obj: Unstructured | None) -> str:
        """Describe the actual state."""
        return "the object did not exist" if obj is None else f"{obj!r}"

    def __str__(self) -> str:
        return "created"


@dataclass(frozen=True, slots=True)
class Absent:
    """``delete``: the object does not exist, or was replaced by another.

    ``uid`` is the uid of the object to wait for; ``None`` means that no object of the name may exist.
    """

    uid: str | None = None

    def holds(self, obj: Unstructured | None) -> bool:
        """Whether ``obj`` meets the condition."""
        return obj is None or (self.uid is not None and obj.uid != self.uid)

    def seen(self, obj: Unstructured | None) -> str:
        """Describe the actual state."""
        if obj is None:
            return "the object did not exist"
        if obj.deletion_timestamp is None:
            return f"{obj!r} existed and was not being deleted"
        metadata = obj["metadata"]
        finalizers = metadata.get("finalizers") if isinstance(metadata, Mapping) else None
        held = f", held by the finalizers {', '.join(map(str, finalizers))}" if finalizers else ""
        return f"{obj!r} was being deleted since {obj.deletion_timestamp}{held}"

    def __str__(self) -> str:
        return "deleted"


@dataclass(frozen=True, slots=True)
class StatusCondition:
    """``condition=NAME[=STATUS]``: an entry of ``status.conditions`` has this status.

    Case-insensitive, as with kubectl. An entry whose observedGeneration is older than the object does not count.
    """

    name: str
    status: str = "True"

    def holds(self, obj: Unstructured | None) -> bool:
        """Whether ``obj`` meets the condition."""
        entry = None if obj is None else self._entry(obj)
        if obj is None or entry is None or _observed_generation(obj, entry) < obj.generation:
            return False
        return str(entry.get("status", "")).lower() == self.status.lower()

    def seen(self, obj: Unstructured | None) -> str:
        """Describe the actual state."""
        if obj is None:
            return "the object did not exist"
        entry = self._entry(obj)
        if entry is None:
            names = [str(other.get("type")) for other in _entries(obj)]
            return (
                f"{obj!r} had no condition {self.name}, only {', '.join(names)}"
                if names
                else f"{obj!r} had no conditions"
            )
        why = ": ".join(text for field in ("reason", "message") if (text := str(entry.get(field) or "")))
        old = " for an older generation" if _observed_generation(obj, entry) < obj.generation else ""
        return f"{obj!r} had condition {self.name}={entry.get('status')}{old}{f' ({why})' if why else ''}"

    def _entry(self, obj: Unstructured) -> Mapping[str, object] | None:
        wanted = self.name.lower()
        return next((entry for entry in _entries(obj) if str(entry.get("type", "")).lower() == wanted), None)

    def __str__(self) -> str:
        return f"condition {self.name}={self.status}"


@dataclass(frozen=True, slots=True)
class JSONPathCondition:
    """``jsonpath={PATH}[=VALUE]``: the value equals VALUE, or is not empty.

    If the path selects several values, all of them must equal VALUE (kubectl rejects such paths). Without VALUE one
    value that is not empty suffices.
    """

    path: JSONPath
    value: str | None = None

    def holds(self, obj: Unstructured | None) -> bool:
        """Whether ``obj`` meets the condition."""
        found = [] if obj is None else obj.jsonpath(self.path)
        if self.value is None:
            return any(value not in (None, "", [], {}) for value in found)
        return bool(found) and all(_text(value) == self.value for value in found)

    def seen(self, obj: Unstructured | None) -> str:
        """Describe the actual state."""
        if obj is None:
            return "the object did not exist"
        found = obj.jsonpath(self.path)
        values = ", ".join(_text(value) for value in found[:5])
        return f"{obj!r} had {self.path.text} = {values}" if found else f"{obj!r} had no value at {self.path.text}"

    def __str__(self) -> str:
        return self.path.text if self.value is None else f"{self.path.text} = {self.value}"


@dataclass(frozen=True, slots=True)
class Predicate:
    """A function of the object; not called while the object does not exist.

    If it raises an exception, the wait ends with that exception.
    """

    function: Callable[[Unstructured], bool]

    def holds(self, obj: Unstructured | None) -> bool:
        """Whether ``obj`` meets the condition."""
        return obj is not None and bool(self.function(obj))

    def seen(self, obj: Unstructured | None) -> str:
        """Describe the actual state."""
        return "the object did not exist" if obj is None else f"{obj!r}"

    def __str__(self) -> str:
        return f"accepted by {getattr(self.function, '__name__', 'the function')}()"


def _entries(obj: Unstructured) -> list[Mapping[str, object]]:
    status = obj.get("status")
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    return [entry for entry in conditions if isinstance(entry, Mapping)] if isinstance(conditions, list) else []


def _observed_generation(obj: Unstructured, entry: Mapping[str, object]) -> int:
    """Return the generation of the object that a condition was computed for.

    This is the observedGeneration of the condition, else that of the status, else the object's current generation.
    """
    status = obj.get("status")
    for holder in (entry, status):
        observed = holder.get("observedGeneration") if isinstance(holder, Mapping) else None
        if isinstance(observed, int):
            return observed
    return obj.generation


def _parse_jsonpath(text: str) -> JSONPathCondition:
    """Parse ``PATH[=VALUE]``.

    The path ends at the first ``=`` outside of quotes and brackets.
    """
    closing: list[str] = []
    quote = ""
    end = len(text)
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote and text[position - 1] != "\\" else quote
        elif character in {"'", '"'}:
            quote = character
        elif character in _CLOSING:
            closing.append(_CLOSING[character])
        elif closing and character == closing[-1]:
            closing.pop()
        elif character == "=" and not closing:
            end = position
            break
    path, value = text[:end], text[end + 1 :]
    if end < len(text) and not value:
        raise InvalidInput(f"condition 'jsonpath={text}' has no value after '=': add a value, or leave the '=' out")
    return JSONPathCondition(JSONPath.compile(path), _unquoted(value) if end < len(text) else None)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in {"'", '"'} else text


def _text(value: object) -> str:
    """Format a value as kubectl compares it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)
