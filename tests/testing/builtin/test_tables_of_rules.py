"""The tables of rules of built-in kinds: all types and fields that they name exist."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dynkube_testing._builtin.table import CHECKS, DEFAULTS
from dynkube_testing._builtin.typechecks import Rule, TypeChecks
from dynkube_testing._builtin.typedefaults import TypeDefaults
from dynkube_testing._builtin.types import field_type, fields_of, published

_POD = "io.k8s.api.core.v1.Pod"


def _paths(rules: object) -> Iterator[str]:
    for rule in rules if isinstance(rules, tuple | list) else ():
        first = rule[0] if isinstance(rule, tuple) else rule
        if isinstance(first, str):
            yield first.rstrip("!?[]")


def _missing(name: str, path: str) -> str:
    for field in path.split("."):
        if field not in fields_of(name):
            return f"{name} has no field {field}"
        name = field_type(name, field).name
    return ""


def test_all_types_and_fields_with_rules_exist() -> None:
    named = [(published(name), path) for table in CHECKS for name, rules in table.items() for path in _paths(rules)]

    assert [problem for name, path in named if (problem := _missing(name, path))] == []


def test_all_types_and_fields_with_defaults_exist() -> None:
    named = [
        (published(name), field)
        for table in DEFAULTS
        for name, entries in table.items()
        for entry in entries
        if not callable(entry)
        for field in entry
    ]

    assert [problem for name, field in named if (problem := _missing(name, field))] == []


def test_no_type_is_in_two_tables() -> None:
    for tables in (CHECKS, DEFAULTS):
        names = [name for table in tables for name in table]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("rule", "reported"),
    [
        ("spec.nodeName!", ["spec.nodeName"]),
        ("spec.hostname!", []),
        (("spec.nodeName?", lambda field: field.invalid("wrong")), []),
        (("spec.hostname?", lambda field: field.invalid("wrong")), ["spec.hostname"]),
        (("spec.overhead.cpu", lambda field: field.invalid("wrong")), []),
        (("spec.imagePullSecrets[]", lambda field: field.invalid("wrong")), ["spec.imagePullSecrets[0]"]),
        (("spec.hostname", lambda _field: True, lambda field: field.invalid("wrong")), []),
    ],
)
def test_the_end_of_a_path_says_when_a_rule_applies(rule: Rule, reported: list[str]) -> None:
    checks = TypeChecks([{"core.v1.Pod": (rule,)}])
    pod = {"spec": {"hostname": "h", "imagePullSecrets": [{"name": "s"}]}}

    field = checks.checked(_POD, pod, creating=True)

    assert [cause.field for cause in field.causes] == reported


def test_defaults_apply_wherever_a_type_occurs() -> None:
    defaults = TypeDefaults([{"core.v1.Probe": ({"periodSeconds": 10},)}])
    pod = {"spec": {"initContainers": [{"livenessProbe": {}, "resources": {"limits": {"cpu": "1000m"}}}]}}

    defaults.complete(_POD, pod)

    (container,) = pod["spec"]["initContainers"]
    assert container == {"livenessProbe": {"periodSeconds": 10}, "resources": {"limits": {"cpu": "1"}}}
