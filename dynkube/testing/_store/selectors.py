"""Label and field selectors as the server reads them from the query.

Written apart from the client's on purpose: the two are tested against each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dynkube.testing._calls import refuse
from dynkube.testing._kinds import naming
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._store.storage import Version

_TOKEN = re.compile(r"\s*(==|!=|=|!|<|>|\(|\)|,|[^\s,=!()<>]+)")
_NEGATIVE = {"!=", "notin", "!"}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label: ``operator`` is ``=``, ``!=``, ``in``, ``notin``, ``exists``, ``!``, ``<``, ``>``."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether ``labels`` satisfy it. A missing label satisfies the negative operators."""
        value = labels.get(self.key)
        if self.operator == "exists":
            return value is not None
        if value is None:
            return self.operator in _NEGATIVE
        match self.operator:
            case "=" | "in":
                return value in self.values
            case "!=" | "notin":
                return value not in self.values
            case "<" | ">":
                return self._compares(value)
        return False

    def _compares(self, value: str) -> bool:
        (bound,) = self.values
        if not re.fullmatch(r"[+-]?\d+", value):
            return False
        return int(value) < int(bound) if self.operator == "<" else int(value) > int(bound)


class _LabelParser:
    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        position, end = 0, len(text.rstrip())
        while position < end:
            match = _TOKEN.match(text, position)
            assert match is not None, "every character starts a token"
            self._tokens.append(match.group(1))
            position = match.end()
        self._next = 0

    def parse(self) -> tuple[Requirement, ...]:
        requirements = [self._requirement()]
        while (token := self._take()) == ",":
            following = self._take()
            self._next -= 1
            if following != "!" and _is_symbol(following):
                raise refuse.bad_request(f"found '{following}', expected: identifier after ','")
            requirements.append(self._requirement())
        if token:
            raise refuse.bad_request(f"found '{token}', expected: ',' or 'end of string'")
        return tuple(requirements)

    def _take(self) -> str:
        token = self._tokens[self._next] if self._next < len(self._tokens) else ""
        self._next += 1
        return token

    def _requirement(self) -> Requirement:
        token = self._take()
        if token == "!":  # noqa: S105 (a token of the grammar, no secret)
            if _is_symbol(token := self._take()):
                raise _problem(f"found '{token}', expected: identifier")
            return Requirement(self._key(token), "!")
        key = self._key(token)
        operator = self._take()
        match operator:
            case "" | ",":
                self._next -= 1
                return Requirement(key, "exists")
            case "=" | "==" | "!=":
                return Requirement(key, "!=" if operator == "!=" else "=", frozenset({self._exact_value(key)}))
            case "in" | "notin":
                return Requirement(key, operator, frozenset(self._values(key)))
            case "<" | ">":
                return Requirement(key, operator, frozenset({self._integer()}))
        raise _problem(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")

    def _key(self, token: str) -> str:
        if _is_symbol(token):
            raise refuse.bad_request(f"found '{token}', expected: !, identifier, or 'end of string'")
        problem = naming.qualified_name_problem(token)
        if problem:
            raise _problem(f'<nil>: Invalid value: "{token}": {problem}')
        return token

    def _exact_value(self, key: str) -> str:
        token = self._take()
        if token in {"", ","}:
            self._next -= 1
            return ""
        return self._value(key, token)

    def _value(self, key: str, token: str) -> str:
        if token in {"(", ")", "=", "==", "!=", "!", "<", ">"}:
            raise _problem(f"found '{token}', expected: identifier")
        problem = naming.label_value_problem(token)
        if problem:
            raise _problem(f'values[0][{key}]: Invalid value: "{token}": {problem}')
        return token

    def _integer(self) -> str:
        token = self._take()
        if not re.fullmatch(r"[+-]?\d+", token):
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise _problem(f'values[0]: Invalid value: "{token}": {detail}')
        return token

    def _values(self, key: str) -> list[str]:
        if (token := self._take()) != "(":
            raise _problem(f"found '{token}' expected: '('")
        values = [""]
        while (token := self._take()) != ")":
            match token:
                case "":
                    raise _problem("found '', expected: ',', or ')'")
                case ",":
                    values.append("")
                case _ if values[-1]:
                    raise _problem(f"found '{token}', expected: ',' or ')'")
                case _:
                    values[-1] = self._value(key, token)
        return values


def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Read ``labelSelector``.

    Raises:
        BadRequest: It does not parse.
    """
    return _LabelParser(text).parse() if text.strip() else ()


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """``path`` equals ``value``, or with ``negated`` does not."""

    path: str
    value: str
    negated: bool


def parse_fields(text: str, kind: Kind) -> tuple[FieldRequirement, ...]:
    """Read ``fieldSelector`` against what ``kind`` allows.

    Raises:
        BadRequest: It does not parse, or names a field that cannot be selected by.
    """
    requirements = []
    for term in re.findall(r"(?:[^,\\]|\\.)+", text):
        match = re.match(r"((?:[^=!\\]|\\.)*?)(==|!=|=)(.*)\Z", term.strip(), re.DOTALL)
        if match is None:
            raise refuse.bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        path, operator, value = match.groups()
        _check_field(path, kind)
        requirements.append(FieldRequirement(path, re.sub(r"\\(.)", r"\1", value), operator == "!="))
    return tuple(requirements)


def _check_field(path: str, kind: Kind) -> None:
    if path == "metadata.name" or (path == "metadata.namespace" and kind.namespaced) or path in kind.selectable_fields:
        return
    if kind.selectable_fields or kind.crd_uid is not None:
        raise refuse.bad_request(f"field label not supported: {path}")
    raise refuse.bad_request(f'"{path}" is not a known field selector: only "metadata.name", "metadata.namespace"')


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a resource a call is about."""

    namespace: str = ""
    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()

    @property
    def selective(self) -> bool:
        """Whether it can leave out objects of its namespace: then nobody can count the rest of a list cheaply."""
        return bool(self.labels or self.fields)

    def matches(self, version: Version) -> bool:
        """Whether ``version`` is one of them."""
        if self.namespace and version.namespace != self.namespace:
            return False
        # A loop, since lists with selectors ask this of every object, and a generator costs more than the answer.
        for label in self.labels:
            if not label.matches(version.labels):
                return False
        return not self.fields or all(
            (_field(version, field.path) == field.value) != field.negated for field in self.fields
        )


def _field(version: Version, path: str) -> str:
    match path:
        case "metadata.name":
            return version.name
        case "metadata.namespace":
            return version.namespace
    return version.fields.get(path, "")


def _is_symbol(token: str) -> bool:
    return re.fullmatch(r"[(),=!<>]*", token) is not None


def _problem(detail: str) -> Exception:
    return refuse.bad_request(f"unable to parse requirement: {detail}")
