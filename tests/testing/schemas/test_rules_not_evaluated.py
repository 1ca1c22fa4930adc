"""Validation rules that cannot be evaluated, without a CEL library, count as satisfied, with a warning."""

from __future__ import annotations

from dynkube_testing._schemas.cel.errors import CannotEvaluate
from dynkube_testing._schemas.cel.syntax import Parser
from dynkube_testing._schemas.rules import RuleBook
from dynkube_testing._schemas.structural import Structural
from tests.testing.schemas.kit import INTEGER, fields


def no_library() -> Parser:
    raise CannotEvaluate("no CEL library is installed: pip install 'dynkube-testing[cel]'")


def test_without_a_library_a_warning_names_the_extra_once() -> None:
    rule = {**INTEGER, "x-kubernetes-validations": [{"rule": "self > 1"}]}
    schema = Structural(fields(a=rule, b=rule))

    outcome = RuleBook(no_library).check(schema, {"a": 0, "b": 0}, None, None)

    assert outcome.causes == []
    assert outcome.warnings == [
        "x-kubernetes-validations were not checked: no CEL library is installed: pip install 'dynkube-testing[cel]'"
    ]
