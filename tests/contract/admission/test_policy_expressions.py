"""Expressions of policies and webhooks are compiled when these are created, with the variables that they may use."""

from __future__ import annotations

import pytest

from tests.contract.admission.kit import dry_run
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject

pytestmark = pytest.mark.since("1.30", "admission policies came with 1.30")

RULE: JSONObject = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
PARAMS = {"apiVersion": "v1", "kind": "ConfigMap"}


def validation(expression: str, **more: str) -> JSONObject:
    return {"validations": [{"expression": expression, **more}]}


def composed(validating: str, *variables: str) -> JSONObject:
    """Return a policy with the variables ``a``, ``b``, ..."""
    named = [{"name": name, "expression": text} for name, text in zip("abc", variables, strict=False)]
    return {"variables": named, **validation(validating)}


async def problems(cluster: Cluster, spec: JSONObject) -> list[tuple[str, str]]:
    """Return field and message of each cause in the response to a new policy."""
    body = {"metadata": {"name": f"{cluster.namespace}-p"}}
    match = {"resourceRules": [RULE]}
    response = await dry_run(
        cluster, "validatingadmissionpolicies", {**body, "spec": {"matchConstraints": match, **spec}}
    )
    causes = response.body.get("details", {}).get("causes", [])
    return [(cause["field"], cause["message"]) for cause in causes]


@pytest.mark.parametrize(
    "spec",
    [
        validation("object.spec.replicas <= 3 && request.operation == 'CREATE'"),
        validation("has(object.metadata.labels) && namespaceObject.metadata.labels['a'] != 'b'"),
        validation("authorizer.group('apps').resource('deployments').check('create').allowed()"),
        validation("authorizer.requestResource.check('custom').allowed()"),
        {"paramKind": PARAMS, **validation("params.data.size() > 0", messageExpression="'at most ' + params.data.max")},
        composed("variables.b > 1", "object.data.size()", "variables.a + 1"),
        {"auditAnnotations": [{"key": "k", "valueExpression": "string(object.data.size())"}]},
        {"matchConditions": [{"name": "m", "expression": " request.name != 'a' "}], **validation("true")},
    ],
)
async def test_expressions_may_use_their_variables(cluster: Cluster, spec: JSONObject) -> None:
    assert await problems(cluster, spec) == []


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        (validation("object.a"), "validations[0].expression", "must evaluate to bool but got dyn"),
        (validation("'a'"), "validations[0].expression", "must evaluate to bool but got string"),
        (validation("1 +"), "validations[0].expression", "compilation failed: ERROR: <input>:1:4: Syntax error"),
        (validation("params.a == 1"), "validations[0].expression", "undeclared reference to 'params'"),
        (validation("variables.a == 1"), "validations[0].expression", "undeclared reference to 'variables'"),
        (validation("request.nme == 'a'"), "validations[0].expression", "undefined field 'nme'"),
        (validation("request.operation == 1"), "validations[0].expression", "found no matching overload for '_==_'"),
        (validation("true", messageExpression="1"), "validations[0].messageExpression", "must evaluate to string"),
        (
            validation("true", messageExpression="string(authorizer.path('/').check('get').allowed())"),
            "validations[0].messageExpression",
            "undeclared reference to 'authorizer'",
        ),
        (composed("variables.z == 1", "1"), "validations[0].expression", "undefined field 'z'"),
        (composed("variables.a == 'x'", "1"), "validations[0].expression", "found no matching overload for '_==_'"),
        (composed("true", "variables.b", "1"), "variables[0].expression", "undefined field 'b'"),
        (
            {"auditAnnotations": [{"key": "k", "valueExpression": "1"}]},
            "auditAnnotations[0].valueExpression",
            "must evaluate to one of [string null_type] but got int",
        ),
        (
            {"matchConditions": [{"name": "m", "expression": "  1"}], **validation("true")},
            "matchConditions[0].expression",
            'Invalid value: "1": must evaluate to bool but got int',
        ),
        (
            {"matchConditions": [{"name": "m", "expression": "variables.a"}], **composed("true", "1")},
            "matchConditions[0].expression",
            "undeclared reference to 'variables'",
        ),
    ],
)
async def test_an_expression_that_does_not_compile_is_invalid(
    cluster: Cluster, spec: JSONObject, field: str, message: str
) -> None:
    ((found, text),) = await problems(cluster, spec)

    assert found == f"spec.{field}"
    assert message in text


async def test_match_conditions_of_webhooks_are_compiled(cluster: Cluster) -> None:
    webhook = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1"},
        "rules": [RULE],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "matchConditions": [{"name": "m", "expression": "params.a"}],
    }
    body = {"metadata": {"name": f"{cluster.namespace}-w"}, "webhooks": [webhook]}

    response = await dry_run(cluster, "validatingwebhookconfigurations", body)

    (cause,) = response.body["details"]["causes"]
    assert cause["field"] == "webhooks[0].matchConditions[0].expression"
    assert "undeclared reference to 'params'" in cause["message"]
