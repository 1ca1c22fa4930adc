"""Validation rules that cannot be evaluated count as satisfied, with a warning."""

from __future__ import annotations

import pytest

from dynkube_testing._schemas.cellibrary import CannotEvaluate, Language
from dynkube_testing._schemas.rules import RuleBook
from dynkube_testing._schemas.structural import Structural
from tests.testing.engine.cluster import widget
from tests.testing.schemas.kit import INTEGER, STRING, fields, serving


def no_library() -> Language:
    raise CannotEvaluate("no CEL library is installed: pip install 'dynkube-testing[cel]'")


def test_without_a_library_a_warning_names_the_extra_once() -> None:
    rule = {**INTEGER, "x-kubernetes-validations": [{"rule": "self > 1"}]}
    schema = Structural(fields(a=rule, b=rule))

    outcome = RuleBook(no_library).check(schema, {"a": 0, "b": 0}, None, None)

    assert outcome.causes == []
    assert outcome.warnings == [
        "x-kubernetes-validations were not checked: no CEL library is installed: pip install 'dynkube-testing[cel]'"
    ]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({**STRING, "maxLength": 9}, "1.2.3", "semver"),
        ({**STRING, "format": "date-time"}, "2026-01-02T03:04:05Z", "it compares times"),
    ],
)
def test_a_rule_with_unsupported_functions_is_skipped_with_a_warning(
    schema: dict[str, object], value: str, message: str
) -> None:
    rules = ["semver(self).major() > 1", "self > timestamp('2020-01-01T00:00:00Z')"]
    rule = next(rule for rule in rules if ("semver" in rule) == (message == "semver"))
    cluster = serving({**schema, "x-kubernetes-validations": [{"rule": rule}]})

    result = cluster.engine.handle(cluster.request("create", "widgets", body=widget(spec={"f": value})))

    assert result.document.data["spec"] == {"f": value}
    assert len(result.warnings) == 1
    assert result.warnings[0].startswith("x-kubernetes-validations of spec.f were not checked: ")
    assert message in result.warnings[0]
