"""Label and field selectors: parsing and matching.

The client has a separate implementation on purpose, so that the two can be tested against each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from dynkube_testing._calls import refuse
from dynkube_testing._calls.gotext import quoted
from dynkube_testing._kinds import naming
from dynkube_testing._kinds.conversions import kept_field
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.versions import Version

_TOKEN = re.compile(r"\s*(==|!=|=|!|<|>|\(|\)|,|[^\s,=!()<>]+)")
# Values of absent fields in field selectors, for fields of built-in kinds that are not strings.
_ZEROS = {"spec.hostNetwork": "false", "spec.unschedulable": "false", "status.replicas": "0", "status.successful": "0"}
_INT64 = range(-(2**63), 2**63)
_NEGATIVE = {"!=", "notin", "!"}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label.

    ``operator`` is ``=``, ``!=``, ``in``, ``notin``, ``exists``, ``!``, ``<`` or ``>``.
    """

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether ``labels`` meet this condition.

        A missing label meets the conditions with the operators ``!=``, ``notin`` and ``!``.
        """
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
        if not _is_int64(value):  # objects with such labels meet no comparison
            return False
        return int(value) < int(bound) if self.operator == "<" else int(value) > int(bound)


def _is_int64(text: str) -> bool:
    """Whether Go's ``strconv.ParseInt`` reads ``text`` as a number of 64 bits."""
    number = re.fullmatch(r"([+-]?)0*(\d+)", text, re.ASCII)
    return number is not None and len(number[2]) < 20 and int(number[1] + number[2]) in _INT64


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
                return Requirement(key, operator, frozenset({self._integer(key)}))
        raise _problem(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")

    def _key(self, token: str) -> str:
        if _is_symbol(token):
            raise refuse.bad_request(f"found '{token}', expected: !, identifier, or 'end of string'")
        if problems := naming.qualified_name_problems(token):
            raise _problem(f"<nil>: Invalid value: {quoted(token)}: {'; '.join(problems)}")
        return token

    def _exact_value(self, key: str) -> str:
        token = self._take()
        if token in {"", ","}:
            self._next -= 1
            return ""
        return self._value(key, token)

    def _value(self, key: str, token: str) -> str:
        _check_identifier(token)
        if problem := naming.label_value_problem(token):
            raise _problem(f"values[0][{key}]: Invalid value: {quoted(token)}: {problem}")
        return token

    def _integer(self, key: str) -> str:
        token = self._take()
        _check_identifier(token)
        # Signs are rejected later with another message, since the value must also be a valid label value.
        if not _is_int64(token):
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise _problem(f"values[0]: Invalid value: {quoted(token)}: {detail}")
        return self._value(key, token)

    def _values(self, key: str) -> list[str]:
        if (token := self._take()) != "(":
            raise _problem(f"found '{token}' expected: '('")
        values = [""]
        while (token := self._take()) != ")":
            match token:
                case "":
                    raise _problem("found '', expected: ',' or ')'")
                case ",":
                    values.append("")
                case _ if values[-1]:
                    raise _problem(f"found '{token}', expected: ',' or ')'")
                case _:
                    values[-1] = self._value(key, token)
        return values


def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Parse a ``labelSelector``; an empty one has no requirements.

    Raises:
        BadRequest: It is invalid.
    """
    return _LabelParser(text).parse() if text.strip() else ()


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Return whether a ``metav1.LabelSelector`` matches ``labels``; an empty one matches everything."""
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    for expression in selector.get("matchExpressions") or ():
        there = labels.get(expression.get("key"))
        values = expression.get("values") or ()
        match expression.get("operator"):
            case "In" if there not in values:
                return False
            case "NotIn" if there in values:
                return False
            case "Exists" if there is None:
                return False
            case "DoesNotExist" if there is not None:
                return False
    return True


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One condition on a field.

    Attributes:
        path: The field, like ``status.phase``.
        value: The value that the field must have.
        negated: Whether the field must have another value instead.
        absent: The value that an absent field is treated as.
    """

    path: str
    value: str
    negated: bool
    absent: str = ""

    def matches(self, version: Version) -> bool:
        """Return whether ``version`` meets this condition."""
        match self.path:
            case "metadata.name":
                value = version.name
            case "metadata.namespace":
                value = version.namespace
            case path:
                value = version.field(path) or self.absent
        return (value == self.value) != self.negated


#: Path, operator and value of a term of a ``fieldSelector``.
FieldTerm: TypeAlias = tuple[str, str, str]


def split_fields(text: str) -> tuple[FieldTerm, ...]:
    """Return the terms of a ``fieldSelector``, sorted.

    Raises:
        BadRequest: It is invalid.
    """
    terms = sorted(re.findall(r"(?:[^,\\]|\\.|\\\Z)+", text, re.DOTALL))
    matches = [re.match(r"(.*?)(!=|==|=)(.*)\Z", term, re.DOTALL) for term in terms]
    for term, match in zip(terms, matches, strict=True):
        if match is None:
            raise refuse.bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
    return tuple((match[1], match[2], match[3]) for match in matches if match)


def field_requirements(terms: Iterable[FieldTerm], kind: Kind) -> tuple[FieldRequirement, ...]:
    """Return the requirements of the terms of a ``fieldSelector`` for objects of ``kind``.

    Raises:
        BadRequest: A value is malformed, or ``kind`` does not support a field.
    """
    requirements = []
    for path, operator, value in terms:
        absent = _ZEROS.get(path, "") if kind.crd_uid is None else ""
        requirements.append(FieldRequirement(path, _unescaped(value), operator == "!=", absent))
    for requirement in requirements:
        _check_field(requirement.path, kind)
    return tuple(replace(each, path=kept_field(kind, each.path)) for each in requirements)


def _unescaped(value: str) -> str:
    r"""Return a value with ``\,``, ``\=`` and ``\\`` unescaped.

    Raises:
        BadRequest: It contains another escape, or an unescaped comma or equals sign.
    """
    if wrong := re.search(r"\\(?:[^\\,=]|\Z)", re.sub(r"\\[\\,=]", "", value)):
        raise refuse.bad_request(f"invalid field selector: invalid escape sequence: {wrong.group()}")
    if wrong := re.search("[,=]", re.sub(r"\\.", "", value)):
        # As in the real server, the message has the number of the character.
        raise refuse.bad_request(f"invalid field selector: unescaped character in value: {ord(wrong.group())}")
    return re.sub(r"\\(.)", r"\1", value)


def _check_field(path: str, kind: Kind) -> None:
    strict = bool(kind.selectable_fields) or kind.crd_uid is not None
    names = {"metadata.name", *(("metadata.namespace",) if kind.namespaced or not strict else ())}
    if path in names or path in kind.selectable_fields:
        return
    if kind.storage_group == "jobs.batch":
        raise refuse.bad_request(f"field label {quoted(path)} not supported for Job")
    if strict:
        raise refuse.bad_request(f"field label not supported: {path}")
    known = '"metadata.name", "metadata.namespace"'
    raise refuse.bad_request(f"{quoted(path)} is not a known field selector: only {known}")


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of a resource's objects by namespace, labels and fields."""

    namespace: str = ""
    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()

    @property
    def selective(self) -> bool:
        """Whether there are selectors.

        Then the number of selected objects is not known in advance.
        """
        return bool(self.labels or self.fields)

    def matches(self, version: Version) -> bool:
        """Return whether ``version`` is selected."""
        if self.namespace and version.namespace != self.namespace:
            return False
        # A loop is used since this is called for every object, and a generator is slower than the comparison.
        for label in self.labels:
            if not label.matches(version.labels):
                return False
        return not self.fields or all(field.matches(version) for field in self.fields)


def _check_identifier(token: str) -> None:
    if token in {"(", ")", "=", "==", "!=", "!", "<", ">"}:
        raise _problem(f"found '{token}', expected: identifier")


def _is_symbol(token: str) -> bool:
    return re.fullmatch(r"[(),=!<>]*", token) is not None


def _problem(detail: str) -> Exception:
    return refuse.bad_request(f"unable to parse requirement: {detail}")
