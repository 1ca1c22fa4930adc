r"""Field selectors, such as ``metadata.name=web,status.phase!=Running``.

They are matched as the server does. Grammar and semantics are those of ``k8s.io/apimachinery/pkg/fields``: an absent
field equals the empty string, so ``!=`` matches it and ``spec.nodeName=`` selects objects without it; whitespace is
part of the value; in a value ``,``, ``=`` and ``\`` are escaped as ``\,``, ``\=`` and ``\\``. Each resource supports
its own set of fields, known only to the server: ``metadata.name`` and ``metadata.namespace`` everywhere, others for
some resources.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from dynkube.errors import InvalidSelector
from dynkube.meta._arguments import a_type

FieldOperator = Literal["=", "!="]

_TERM = re.compile(r"(?:[^,\\]|\\.)*\\?", re.DOTALL)
_SPLIT = re.compile(r"(?P<field>.*?)(?P<operator>!=|==|=)(?P<value>.*)", re.DOTALL)
_FIELD = re.compile(r"[^\s,=!\\]+")
_ESCAPED = re.compile(r"\\(.?)|[,=]", re.DOTALL)
_TO_ESCAPE = re.compile(r"[\\,=]")


@dataclass(frozen=True, slots=True, order=True)
class FieldRequirement:
    """One condition: ``field`` equals ``value``, or with ``!=`` does not.

    Raises:
        InvalidSelector: the field name is empty, or contains whitespace or an operator.
    """

    field: str
    operator: FieldOperator
    value: str

    def __post_init__(self) -> None:
        if not self.field:
            raise InvalidSelector(f"no field name before {self.operator!r}: write FIELD{self.operator}VALUE")
        if _FIELD.fullmatch(self.field) is None:
            raise InvalidSelector(
                f"invalid field {self.field!r}: expected a path like 'metadata.name', without spaces around operators"
            )
        if self.operator not in ("=", "!="):
            raise InvalidSelector(f"field {self.field!r}: operator {self.operator!r} is neither '=' nor '!='")

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether an object with these fields meets the requirement.

        An absent field equals ``""``.
        """
        return (fields.get(self.field, "") == self.value) is (self.operator == "=")

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{_escape(self.value)}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Selects objects by some of their fields; all requirements must hold.

    Without requirements every object matches. Immutable and hashable; requirements are sorted, so equal selectors
    compare equal. ``str()`` is the canonical form for the ``fieldSelector`` query parameter, and parses to an equal
    selector.
    """

    requirements: tuple[FieldRequirement, ...] = ()

    def __post_init__(self) -> None:
        given: object = self.requirements  # callers are not always type-checked
        if isinstance(given, str | Mapping):
            raise InvalidSelector(
                f"FieldSelector() takes requirements, not {a_type(given)}: use FieldSelector.parse({given!r})"
            )
        object.__setattr__(self, "requirements", tuple(sorted(set(self.requirements))))

    @classmethod
    def parse(cls, selector: str | Mapping[str, str] | FieldSelector | None) -> FieldSelector:
        r"""Parse a selector.

        Args:
            selector: a string (``"metadata.name=web,status.phase!=Running"``), a dict of fields that must be equal
                (``{"metadata.name": "web"}``; values are taken literally, without escapes), or a selector, which is
                returned unchanged. ``None`` and empty ones select everything.

        Raises:
            InvalidSelector: a term has no operator, a value has a bare ``,`` or ``=`` or an unknown escape, or a dict's
                value is not a string.
        """
        if selector is None:
            return cls()
        if isinstance(selector, FieldSelector):
            return selector
        if isinstance(selector, str):
            return cls(tuple(_parse_term(term, selector) for term in _terms(selector)))
        if not isinstance(selector, Mapping):
            raise InvalidSelector(
                f"field selector is {a_type(selector)}: pass a string like 'metadata.name=web', or a dict "
                "like {'metadata.name': 'web'}"
            )
        return cls(tuple(_from_item(field, value) for field, value in selector.items()))

    @property
    def empty(self) -> bool:
        """Whether the selector has no requirements, so that it selects everything."""
        return not self.requirements

    def matches(self, fields: Mapping[str, str] | None) -> bool:
        """Whether an object with these fields (``None``: no fields) is selected."""
        if fields is None:
            fields = {}
        return all(requirement.matches(fields) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _terms(text: str) -> Iterator[str]:
    """Yield the terms between commas, with escapes kept.

    Empty terms are skipped, as the server does.
    """
    position = 0
    while position <= len(text):
        match = _TERM.match(text, position)
        assert match is not None, "a term may be empty, so it always matches"
        if match[0]:
            yield match[0]
        position = match.end() + 1


def _parse_term(term: str, text: str) -> FieldRequirement:
    match = _SPLIT.fullmatch(term)
    if match is None:
        raise InvalidSelector(
            f"field selector {text!r}: {term!r} has no operator: write FIELD=VALUE or FIELD!=VALUE "
            "(other operators exist only for labels)"
        )
    try:
        value = _unescape(match["value"])
        return FieldRequirement(match["field"], "!=" if match["operator"] == "!=" else "=", value)
    except InvalidSelector as error:
        raise InvalidSelector(f"field selector {text!r}: {error}") from None


def _from_item(field: object, value: object) -> FieldRequirement:
    if not isinstance(field, str):
        raise InvalidSelector(f"field selector: field {field!r} is {a_type(field)}, not a string")
    if not isinstance(value, str):
        raise InvalidSelector(f"field selector: the value of field {field!r} is {value!r}, not a string: quote it")
    return FieldRequirement(field, "=", value)


def _escape(value: str) -> str:
    return _TO_ESCAPE.sub(lambda match: "\\" + match[0], value)


def _unescape(value: str) -> str:
    def literal(match: re.Match[str]) -> str:
        found, escaped = match[0], match[1]
        if escaped is None:
            raise InvalidSelector(f"value {value!r} has an unescaped {found!r}: write it as \\{found}")
        if escaped not in ("\\", ",", "="):
            raise InvalidSelector(f"value {value!r} has the unknown escape {found}: write a backslash as \\\\")
        return escaped

    return _ESCAPED.sub(literal, value)
