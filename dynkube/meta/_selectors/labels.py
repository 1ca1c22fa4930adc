"""Label selectors, matched as the server does.

They are given as a string, a dict or the API's object. Grammar and semantics are those of
``k8s.io/apimachinery/pkg/labels``: ``!=`` and ``notin`` also match an object that lacks the key, ``>`` and ``<``
compare 64-bit integers and match no other values. Unlike in Go, equivalent selectors compare equal, so that informers
with equivalent selectors share a cache: ``a==1`` equals ``a=1``, and order and repetition are ignored.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dynkube.errors import InvalidSelector
from dynkube.meta._arguments import a_type
from dynkube.meta._names import label_key_problem, label_value_problem
from dynkube.meta._selectors.label_parser import Term, parse_terms


class LabelOperator(enum.Enum):
    """Operators of a requirement; the value is the notation in a selector."""

    EQUALS = "="
    NOT_EQUALS = "!="
    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = ">"
    LESS_THAN = "<"


_SETS = frozenset({LabelOperator.IN, LabelOperator.NOT_IN})
_UNARY = frozenset({LabelOperator.EXISTS, LabelOperator.DOES_NOT_EXIST})
_NUMERIC = frozenset({LabelOperator.GREATER_THAN, LabelOperator.LESS_THAN})

# The operators of a LabelSelector object; Gt and Lt exist in node selectors only.
_OBJECT_OPERATORS = {
    "In": LabelOperator.IN,
    "NotIn": LabelOperator.NOT_IN,
    "Exists": LabelOperator.EXISTS,
    "DoesNotExist": LabelOperator.DOES_NOT_EXIST,
}
_OBJECT_FIELDS = frozenset({"matchLabels", "matchExpressions"})
_EXPRESSION_FIELDS = frozenset({"key", "operator", "values"})

_INTEGER = re.compile(r"[+-]?[0-9]+")
_INT64 = range(-(2**63), 2**63)


def _int64(text: str) -> int | None:
    """Parse like Go's ``strconv.ParseInt(text, 10, 64)``.

    No blanks, no underscores, at most 64 bits.
    """
    if _INTEGER.fullmatch(text) is None or len(text) > 64:
        return None
    number = int(text)
    return number if number in _INT64 else None


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One condition on one label; ``values`` are kept sorted and without duplicates.

    Raises:
        InvalidSelector: the server would reject the key or a value, or the number of values does not suit the operator.
    """

    key: str
    operator: LabelOperator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(sorted(set(self.values))))
        if problem := label_key_problem(self.key):
            raise InvalidSelector(f"label key {self.key!r} {problem}")
        for value in self.values:
            if problem := label_value_problem(value):
                raise InvalidSelector(f"value {value!r} of label {self.key!r} {problem}")
        self._check_number_of_values()

    def _check_number_of_values(self) -> None:
        name = self.operator.value
        if self.operator in _SETS:
            if not self.values:
                raise InvalidSelector(f"label {self.key!r}: operator {name!r} requires at least one value")
        elif self.operator in _UNARY:
            if self.values:
                raise InvalidSelector(f"label {self.key!r}: operator {name!r} takes no values, but has {self.values}")
        elif len(self.values) != 1:
            raise InvalidSelector(
                f"label {self.key!r}: operator {name!r} requires exactly one value, not {self.values}"
            )
        elif self.operator in _NUMERIC and _int64(self.values[0]) is None:
            raise InvalidSelector(
                f"label {self.key!r}: operator {name!r} requires a 64-bit integer, not {self.values[0]!r}"
            )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels meets the requirement."""
        value = labels.get(self.key)
        match self.operator:
            case LabelOperator.EQUALS | LabelOperator.IN:
                return value in self.values
            case LabelOperator.NOT_EQUALS | LabelOperator.NOT_IN:
                return value not in self.values
            case LabelOperator.EXISTS:
                return value is not None
            case LabelOperator.DOES_NOT_EXIST:
                return value is None
        number = None if value is None else _int64(value)
        if number is None:
            return False
        bound = int(self.values[0])
        return number > bound if self.operator is LabelOperator.GREATER_THAN else number < bound

    def __str__(self) -> str:
        match self.operator:
            case LabelOperator.EXISTS:
                return self.key
            case LabelOperator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case LabelOperator.IN | LabelOperator.NOT_IN:
                return f"{self.key} {self.operator.value} ({','.join(self.values)})"
        return f"{self.key}{self.operator.value}{self.values[0]}"


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Selects objects by their labels; all requirements must hold.

    Without requirements every object matches. Immutable and hashable. ``str()`` is the canonical form for the
    ``labelSelector`` query parameter, and parses to an equal selector.
    """

    requirements: tuple[LabelRequirement, ...] = ()

    def __post_init__(self) -> None:
        given: object = self.requirements  # callers are not always type-checked
        if isinstance(given, str | Mapping):
            raise InvalidSelector(
                f"LabelSelector() takes requirements, not {a_type(given)}: use LabelSelector.parse({given!r})"
            )
        # Keyed by string: enum members have no order, and equal requirements have the same string.
        unique = {(requirement.key, str(requirement)): requirement for requirement in self.requirements}
        object.__setattr__(self, "requirements", tuple(unique[key] for key in sorted(unique)))

    @classmethod
    def parse(cls, selector: str | Mapping[str, object] | LabelSelector | None) -> LabelSelector:
        """Parse a selector in any of the common forms.

        Args:
            selector: a string (``"app=web,tier in (fe,be),!legacy,size>3"``), a dict of labels that must be equal
                (``{"app": "web"}``), a LabelSelector object as in specs (``{"matchLabels": {...}, "matchExpressions":
                [...]}``), or a selector, which is returned unchanged. ``None``, the empty string and empty dicts select
                everything. (In the API an *absent* LabelSelector object selects nothing; here ``None`` means that no
                selector was given.)

        Raises:
            InvalidSelector: the selector does not parse, or the server would reject a key, a value or an operator. The
                message has the position and the expected token.
        """
        if selector is None:
            return cls()
        if isinstance(selector, LabelSelector):
            return selector
        if isinstance(selector, str):
            return cls(tuple(_requirement(term, selector) for term in parse_terms(selector)))
        if not isinstance(selector, Mapping):
            raise InvalidSelector(
                f"label selector is {a_type(selector)}: pass a string like 'app=web', or a dict like {{'app': 'web'}}"
            )
        # A label may be named matchLabels; its value is then a string.
        if any(key in _OBJECT_FIELDS and not isinstance(value, str) for key, value in selector.items()):
            return cls(tuple(_from_object(selector)))
        return cls(tuple(_from_labels(selector, "label selector")))

    @property
    def empty(self) -> bool:
        """Whether the selector has no requirements, so that it selects everything."""
        return not self.requirements

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Whether an object with these labels (``None``: no labels) is selected."""
        if labels is None:
            labels = {}
        return all(requirement.matches(labels) for requirement in self.requirements)

    def compiled(self) -> Callable[[Mapping[str, str]], bool]:
        """Return :meth:`matches` as a function that is faster for many objects.

        For a selector of one requirement a call is one dict lookup.
        """
        if len(self.requirements) != 1:
            return self.matches
        (requirement,) = self.requirements
        key, values = requirement.key, frozenset(requirement.values)
        match requirement.operator:
            case LabelOperator.EQUALS | LabelOperator.IN:
                return lambda labels: labels.get(key) in values
            case LabelOperator.NOT_EQUALS | LabelOperator.NOT_IN:
                return lambda labels: labels.get(key) not in values
            case LabelOperator.EXISTS:
                return lambda labels: key in labels
            case LabelOperator.DOES_NOT_EXIST:
                return lambda labels: key not in labels
        return requirement.matches

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _requirement(term: Term, text: str) -> LabelRequirement:
    """Validate a parsed term; errors include the selector it is part of."""
    try:
        return LabelRequirement(term.key, LabelOperator(term.operator), term.values)
    except InvalidSelector as error:
        raise InvalidSelector(f"label selector {text!r}: {error}") from None


def _from_labels(labels: Mapping[str, object], where: str) -> Iterable[LabelRequirement]:
    for key, value in labels.items():
        if not isinstance(key, str):
            raise InvalidSelector(f"{where}: label key {key!r} is {a_type(key)}, not a string")
        if not isinstance(value, str):
            raise InvalidSelector(
                f"{where}: the value of label {key!r} is {value!r}, not a string: quote it, or write several "
                f"values as '{key} in (a,b)'"
            )
        yield LabelRequirement(key, LabelOperator.EQUALS, (value,))


def _from_object(selector: Mapping[str, object]) -> Iterable[LabelRequirement]:
    for field in selector:
        if field not in _OBJECT_FIELDS:
            raise InvalidSelector(f"label selector: unknown field {field!r}: expected matchLabels and matchExpressions")
    labels = selector.get("matchLabels")
    if not isinstance(labels, Mapping | None):
        raise InvalidSelector(f"label selector: matchLabels is {labels!r}, not a mapping of labels to values")
    yield from _from_labels(labels or {}, "label selector: matchLabels")
    expressions = selector.get("matchExpressions")
    if not isinstance(expressions, list | tuple | None):
        raise InvalidSelector(f"label selector: matchExpressions is {expressions!r}, not a list")
    for index, expression in enumerate(expressions or ()):
        yield _from_expression(expression, f"label selector: matchExpressions[{index}]")


def _from_expression(expression: object, where: str) -> LabelRequirement:
    if not isinstance(expression, Mapping):
        raise InvalidSelector(f"{where} is {expression!r}, not a mapping with key, operator and values")
    for field in expression:
        if field not in _EXPRESSION_FIELDS:
            raise InvalidSelector(f"{where}: unknown field {field!r}: expected key, operator and values")
    key = expression.get("key")
    if not isinstance(key, str):
        raise InvalidSelector(f"{where}: key is {key!r}, not a label key")
    operator = _OBJECT_OPERATORS.get(str(expression.get("operator")))
    if operator is None:
        raise InvalidSelector(
            f"{where}: operator is {expression.get('operator')!r}, not one of {', '.join(_OBJECT_OPERATORS)}"
        )
    values = expression.get("values")
    if not isinstance(values, list | tuple | None) or not all(isinstance(value, str) for value in values or ()):
        raise InvalidSelector(f"{where}: values is {values!r}, not a list of strings")
    try:
        return LabelRequirement(key, operator, tuple(values or ()))
    except InvalidSelector as error:
        raise InvalidSelector(f"{where}: {error}") from None
