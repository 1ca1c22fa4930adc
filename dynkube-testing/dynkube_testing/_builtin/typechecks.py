"""Validation of built-in kinds by tables of rules.

A table has the rules of each Go type, in the order in which the real server reports violations. Types that occur in
several kinds, such as ``core.v1.PodSpec``, are written once: the schemas say where they occur. A rule is one of:

- ``"name"``: a field whose own rules are those of its type, or of its items;
- ``("name", LABEL, ...)``: a field with checks before these, which do not run after one that returns ``True``;
- a function of the object.

The path of a field may have several names (``"a.b"``); the rule does not apply if the object ``a`` is missing. It may
end with one of these:

- ``!`` the field is required: nothing else is reported if it is missing, empty or zero;
- ``?`` the rule does not apply if the field is missing, empty or zero;
- ``[]`` the rule applies to each item of the field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.types import published
from dynkube_testing._calls.api import JSONObject

Check: TypeAlias = Callable[[Field], object]
Rule: TypeAlias = "str | Check | tuple[str | Check, ...]"
Rules: TypeAlias = Sequence[Rule]
Table: TypeAlias = Mapping[str, Rules]


class TypeChecks:
    """The rules of all types, by which objects are validated."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self._rules = {published(name): rules for table in tables for name, rules in table.items()}
        self._compiled: dict[str, tuple[Check, ...]] = {}

    def root(self, type: str, obj: JSONObject, *, creating: bool = False) -> Field:  # noqa: A002 - the word of Go
        """Return the whole object ``obj`` as a field; nothing is checked."""
        return Field(obj, "", type, descend=self._check, creating=creating)

    def checked(self, type: str, obj: JSONObject, *, creating: bool) -> Field:  # noqa: A002 - the word of Go
        """Return ``obj`` with the causes for violations; ``creating`` is whether it is a new object."""
        field = self.root(type, obj, creating=creating)
        self._check(field)
        return field

    def _check(self, field: Field) -> None:
        if not isinstance(field.value, dict | list):
            return
        checks = self._compiled.get(field.type)
        if checks is None:
            checks = self._compiled[field.type] = tuple(map(_compiled, self._rules.get(field.type, ())))
        if not checks:
            return
        if isinstance(field.value, dict):
            _run(checks, field)
            return
        for index, item in enumerate(field.value):
            if isinstance(item, dict):
                _run(checks, field.item(index))


def _run(checks: Sequence[Check], field: Field) -> None:
    for check in checks:
        check(field)


def _compiled(rule: Rule) -> Check:
    if callable(rule):
        return rule
    place, *checks = (rule,) if isinstance(rule, str) else rule
    assert isinstance(place, str), "the path of the field"
    required, optional, each = place.endswith("!"), place.endswith("?"), place.endswith("[]")
    *above, name = place.rstrip("!?[]").split(".")
    steps = tuple(check for check in checks if callable(check))

    def check_field(owner: Field) -> None:
        for part in above:
            owner = owner.at(part)
            if owner.value is None:
                return
        if (optional or not steps) and not required and not owner.value.get(name):
            if not optional and (field := owner.at(name)).value == {}:
                field.check()
            return
        field = owner.at(name)
        if required and not field.value:
            field.required()
        elif each:
            for index in range(len(field.value or ())):
                _checked(steps, field.item(index))
        else:
            _checked(steps, field)

    return check_field


def _checked(steps: Sequence[Check], field: Field) -> None:
    if not any(step(field) is True for step in steps):
        field.check()
