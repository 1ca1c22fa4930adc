"""ValidatingAdmissionPolicies and their bindings."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.admission.kit import dry_run, until_code
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config, pod, version, workload

pytestmark = pytest.mark.since("1.30", "admission policies came with 1.30")


def rule(resource: str = "configmaps", group: str = "", *operations: str, **more: Any) -> JSONObject:
    versions = more.pop("versions", ["*"])
    return {
        "apiGroups": [group],
        "apiVersions": versions,
        "operations": list(operations or ("CREATE", "UPDATE")),
        "resources": [resource],
        **more,
    }


async def policy(
    cluster: Cluster,
    *validations: JSONObject,
    rules: list[JSONObject] | None = None,
    constraints: JSONObject | None = None,
    binding: JSONObject | None = None,
    **spec: Any,
) -> str:
    """Create a policy for the test's namespace, with a binding, and return their name."""
    name = f"{cluster.namespace}-policy"
    own = {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}}
    match = {"namespaceSelector": own, "resourceRules": rules or [rule()], **(constraints or {})}
    body = {"matchConstraints": match, "validations": list(validations), **spec}
    await cluster.create("validatingadmissionpolicies", {"metadata": {"name": name}, "spec": body})
    bound = {"policyName": name, "validationActions": ["Deny"], **(binding or {})}
    await cluster.create("validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": bound})
    return name


def few(most: int = 1, **more: Any) -> JSONObject:
    return {"expression": f"object.data.size() <= {most}", **more}


MANY = config() | {"data": {"a": "1", "b": "2"}}


async def denial(cluster: Cluster, body: JSONObject = MANY, code: int = 422, resource: str = "configmaps") -> str:
    """Wait until a policy denies a create, and return its message, without the part that names it."""
    name = f"{cluster.namespace}-policy"
    message = (await until_code(cluster, code, resource, body)).body["message"]
    head = f"is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: "
    assert head in message, message
    return str(message.partition(head)[2])


async def test_a_validation_denies_with_its_expression(cluster: Cluster) -> None:
    name = await policy(cluster, few())

    response = await until_code(cluster, 422, "configmaps", MANY)

    message = (
        f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: "
        "failed expression: object.data.size() <= 1"
    )
    assert response.body["message"] == f'configmaps "a" is forbidden: {message}'
    assert response.body["reason"] == "Invalid"
    assert response.body["details"] == {"name": "a", "kind": "configmaps", "causes": [{"message": message}]}
    assert (await dry_run(cluster, "configmaps", config())).code == 201


async def test_a_message_may_be_given(cluster: Cluster) -> None:
    await policy(cluster, few(message=" too many "))

    assert await denial(cluster) == "too many"


async def test_a_message_may_be_computed(cluster: Cluster) -> None:
    await policy(cluster, few(messageExpression="string(object.data.size()) + ' keys'", message="unused"))

    assert await denial(cluster) == "2 keys"


async def test_a_message_that_cannot_be_computed_is_replaced(cluster: Cluster) -> None:
    await policy(cluster, few(messageExpression="string(object.data.none)", message="used"))

    assert await denial(cluster) == "used"


@pytest.mark.parametrize(("reason", "code"), [("Forbidden", 403), ("RequestEntityTooLarge", 413)])
async def test_the_reason_determines_the_code(cluster: Cluster, reason: str, code: int) -> None:
    await policy(cluster, few(reason=reason))

    response = await until_code(cluster, code, "configmaps", MANY)

    assert (response.body["code"], response.body["reason"]) == (code, reason)


async def test_the_first_denial_is_reported(cluster: Cluster) -> None:
    await policy(cluster, few(5), few(1, message="first"), few(0, message="second"))

    assert await denial(cluster) == "first"


async def test_an_error_denies(cluster: Cluster) -> None:
    await policy(cluster, {"expression": "object.data.none == 'x'"})

    assert await denial(cluster) == "expression 'object.data.none == 'x'' resulted in error: no such key: none"


async def test_an_error_is_ignored_if_the_policy_says_so(cluster: Cluster) -> None:
    await policy(cluster, {"expression": "object.data.none == 'x'"}, few(), failurePolicy="Ignore")

    assert await denial(cluster) == "failed expression: object.data.size() <= 1"
    assert (await dry_run(cluster, "configmaps", config())).code == 201


async def test_variables_may_use_earlier_ones(cluster: Cluster) -> None:
    variables = [
        {"name": "count", "expression": "object.data.size()"},
        {"name": "twice", "expression": "variables.count * 2"},
        {"name": "unused", "expression": "object.none"},
    ]
    await policy(cluster, {"expression": "variables.twice < 4"}, variables=variables)

    assert await denial(cluster) == "failed expression: variables.twice < 4"


async def test_the_error_of_a_variable_names_it(cluster: Cluster) -> None:
    variables = [{"name": "wrong", "expression": "object.none"}]
    await policy(cluster, {"expression": "variables.wrong == 1"}, variables=variables)

    assert await denial(cluster) == (
        "expression 'variables.wrong == 1' resulted in error: "
        'composited variable "wrong" fails to evaluate: no such key: none'
    )


async def test_an_update_is_compared_with_the_old_object(cluster: Cluster) -> None:
    await policy(
        cluster, {"expression": "oldObject == null || oldObject.data == object.data", "message": "fixed"}, few()
    )
    await denial(cluster)
    created = await cluster.create("configmaps", config())

    created["data"] = {"k": "changed"}
    response = await cluster.call("PUT", cluster.path("configmaps", "a"), body=created)

    assert response.body["message"].endswith("denied request: fixed")


async def test_a_delete_has_only_the_old_object(cluster: Cluster) -> None:
    check = "request.operation != 'DELETE' || (object == null && !('keep' in oldObject.metadata.labels))"
    small = {"expression": "object == null || object.data.size() <= 1"}
    await policy(cluster, {"expression": check, "message": "kept"}, small, rules=[rule("configmaps", "", "*")])
    await denial(cluster)
    await cluster.create("configmaps", config("kept", labels={"keep": ""}))
    await cluster.create("configmaps", config("gone", labels={"a": "b"}))

    response = await cluster.call("DELETE", cluster.path("configmaps", "kept"))

    assert response.body["message"].endswith("denied request: kept")
    await cluster.delete("configmaps", "gone")
    assert (await cluster.get("configmaps", "kept"))["metadata"]["name"] == "kept"


async def test_expressions_see_the_request_and_the_namespace(cluster: Cluster) -> None:
    seen = (
        "[request.operation, request.resource.resource, request.kind.kind, request.name, request.namespace, "
        "string(request.dryRun), string(request.options.kind), namespaceObject.metadata.name, "
        "string(has(request.subResource)), string('system:authenticated' in request.userInfo.groups)].join(' ')"
    )
    await policy(cluster, few(messageExpression=seen))

    assert await denial(cluster) == (
        f"CREATE configmaps ConfigMap a {cluster.namespace} true CreateOptions {cluster.namespace} false true"
    )


async def test_match_conditions_must_all_be_true(cluster: Cluster) -> None:
    conditions = [{"name": "named", "expression": "object.metadata.name != 'exempt'"}]
    await policy(cluster, few(), matchConditions=conditions)

    await denial(cluster)

    exempt = {**MANY, "metadata": {"name": "exempt"}}
    assert (await dry_run(cluster, "configmaps", exempt)).code == 201


async def test_a_match_condition_that_fails_denies(cluster: Cluster) -> None:
    await policy(cluster, few(), matchConditions=[{"name": "wrong", "expression": "object.none == 1"}])

    assert await denial(cluster) == "expression 'object.none == 1' resulted in error: no such key: none"


async def test_warnings_do_not_deny(cluster: Cluster) -> None:
    name = await policy(cluster, few(message="many"), binding={"validationActions": ["Warn", "Audit"]})
    text = f"Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}': many"

    async def warned() -> bool:
        return (await dry_run(cluster, "configmaps", MANY)).warnings == [text]

    await cluster.until(warned)
    assert (await dry_run(cluster, "configmaps", MANY)).code == 201


# ── matching ──────────────────────────────────────────────────────────────────────────────────


async def test_excluded_resources_are_not_checked(cluster: Cluster) -> None:
    excluded = [rule("configmaps", "", "*", resourceNames=["exempt"])]
    await policy(cluster, few(), constraints={"excludeResourceRules": excluded})

    await denial(cluster)

    assert (await dry_run(cluster, "configmaps", {**MANY, "metadata": {"name": "exempt"}})).code == 201


async def test_objects_are_selected_by_their_labels(cluster: Cluster) -> None:
    await policy(cluster, few(), constraints={"objectSelector": {"matchLabels": {"checked": "yes"}}})

    await denial(cluster, {**MANY, "metadata": {"name": "a", "labels": {"checked": "yes"}}})

    assert (await dry_run(cluster, "configmaps", MANY)).code == 201


async def test_a_binding_may_limit_a_policy(cluster: Cluster) -> None:
    limits = {"objectSelector": {"matchExpressions": [{"key": "checked", "operator": "Exists"}]}}
    await policy(cluster, few(), binding={"matchResources": limits})

    await denial(cluster, {**MANY, "metadata": {"name": "a", "labels": {"checked": ""}}})

    assert (await dry_run(cluster, "configmaps", MANY)).code == 201


async def test_subresources_have_rules_of_their_own(cluster: Cluster) -> None:
    check = {"expression": "object.spec.replicas < 3", "messageExpression": "request.kind.kind + request.subResource"}
    await policy(cluster, check, rules=[rule("deployments/scale", "apps")])
    await cluster.create("deployments", workload(replicas=5))
    path, scale = cluster.path("deployments/scale", "d"), {"spec": {"replicas": 4}}

    async def denied() -> bool:
        options: JSONObject = {"content_type": "application/merge-patch+json", "params": {"dryRun": "All"}}
        response = await cluster.call("PATCH", path, body=scale, **options)
        return response.code == 422 and response.body["message"].endswith("denied request: Scalescale")

    await cluster.until(denied)


async def test_evictions_are_checked(cluster: Cluster) -> None:
    check = {"expression": "object.metadata.name != 'kept'", "message": "kept"}
    await policy(cluster, check, rules=[rule("pods/eviction")])
    await cluster.create("pods", pod("kept"))
    body: JSONObject = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "kept"}}

    async def denied() -> bool:
        path = cluster.path("pods/eviction", "kept")
        response = await cluster.call("POST", path, body=body, params={"dryRun": "All"})
        return response.code == 422 and response.body["message"].endswith("denied request: kept")

    await cluster.until(denied)


@pytest.mark.parametrize("match_policy", ["Equivalent", "Exact"])
async def test_other_versions_of_a_resource_are_equivalent(cluster: Cluster, match_policy: str) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(), version("v2", storage=False)]))
    check = {"expression": "object.apiVersion.endsWith('/v2') && request.requestKind.version == 'v2'"}
    constraints = {"matchPolicy": match_policy}
    await policy(cluster, check, rules=[rule("widgets", cluster.group, versions=["v1"])], constraints=constraints)

    await denial(cluster, cluster.widget(), resource="widgets")

    response = await dry_run(cluster, "widgets.v2", cluster.widget(api_version="v2"))
    assert response.code == (422 if match_policy == "Equivalent" else 201)


async def test_policies_are_not_checked_by_policies(cluster: Cluster) -> None:
    name = f"{cluster.namespace}-policy"
    rules = [rule("validatingadmissionpolicies", "admissionregistration.k8s.io", "*"), rule()]
    await policy(cluster, {"expression": "false"}, rules=rules)
    await denial(cluster, config())

    changed = await cluster.patch("validatingadmissionpolicies", name, {"metadata": {"labels": {"a": "b"}}})

    assert changed["metadata"]["labels"] == {"a": "b"}


# ── parameters, and the authorizer ────────────────────────────────────────────────────────────


async def with_params(cluster: Cluster, reference: JSONObject, *params: JSONObject) -> None:
    """Create a policy whose parameters are LimitRanges, which a real server always watches.

    Of other built-in kinds it sees no changes once a policy with parameters of that kind was deleted, and CRDs it finds
    only after half a minute.
    """
    for each in params:
        await cluster.create("limitranges", each)
    most = "params.metadata.annotations['most']"
    check = {"expression": f"object.data.size() <= int({most})", "messageExpression": f"string({most})"}
    reference = {"parameterNotFoundAction": "Deny", **reference}
    kind = {"apiVersion": "v1", "kind": "LimitRange"}
    await policy(cluster, check, rules=[rule("secrets")], paramKind=kind, binding={"paramRef": reference})


def limit(name: str, most: int, **labels: str) -> JSONObject:
    metadata = {"name": name, "labels": labels, "annotations": {"most": str(most)}}
    return {"metadata": metadata, "spec": {"limits": []}}


async def until_limited(cluster: Cluster, most: str) -> None:
    """Wait until the parameters are found, which a real server sees later than the policy, and deny."""

    async def limited() -> bool:
        return await denial(cluster, SECRET, resource="secrets") == most

    await cluster.until(limited)


SECRET: JSONObject = {"metadata": {"name": "s"}, "data": {"a": "", "b": "", "c": ""}}


async def test_a_parameter_is_found_by_its_name(cluster: Cluster) -> None:
    await with_params(cluster, {"name": "limits"}, limit("limits", 2))

    await until_limited(cluster, "2")


async def test_parameters_are_selected_by_labels(cluster: Cluster) -> None:
    limits = [limit("large", 9, use="yes"), limit("small", 1, use="yes"), limit("unused", 0)]
    await with_params(cluster, {"selector": {"matchLabels": {"use": "yes"}}}, *limits)

    await until_limited(cluster, "1")


async def test_a_missing_parameter_denies(cluster: Cluster) -> None:
    await with_params(cluster, {"name": "none"})

    assert await denial(cluster, SECRET, resource="secrets") == (
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    )


async def test_a_parameter_of_an_unknown_kind_denies(cluster: Cluster) -> None:
    unknown = {"apiVersion": f"{cluster.group}/v1", "kind": "Limit"}
    name = await policy(cluster, few(), paramKind=unknown, binding={"paramRef": None})

    message = (await until_code(cluster, 422, "configmaps", MANY)).body["message"]

    assert message == (
        f"configmaps \"a\" is forbidden: ValidatingAdmissionPolicy '{name}' denied request: failed to configure "
        f"policy: failed to find resource referenced by paramKind: '{cluster.group}/v1, Kind=Limit'"
    )


async def test_expressions_may_ask_what_the_user_may_do(cluster: Cluster) -> None:
    account = f"authorizer.serviceAccount('{cluster.namespace}', 'nobody')"
    checks = [
        f"authorizer.group('').resource('pods').namespace('{cluster.namespace}').check('create').allowed()",
        "authorizer.requestResource.check('create').allowed()",
        "authorizer.path('/healthz').check('get').allowed()",
        f"!{account}.group('').resource('pods').check('get').allowed()",
    ]
    # One by one, as the cost of an expression is limited.
    await policy(cluster, *({"expression": check} for check in checks), few(message="all allowed"))

    assert await denial(cluster) == "all allowed"


# ── connections ───────────────────────────────────────────────────────────────────────────────


async def test_commands_in_containers_are_checked(cluster: Cluster) -> None:
    check = {
        "expression": "object.kind != 'PodExecOptions' || !('sh' in object.command)",
        "messageExpression": "request.operation + ' ' + request.name + ' ' + request.subResource + ' ' + "
        "string(object.container) + ' ' + string(object.tty)",
    }
    await policy(cluster, check, rules=[rule("pods/exec", "", "CONNECT")])
    path = cluster.path("pods/exec", "none") + "?command=sh&command=-c&container=app&tty=true&stdout=true"

    async def denied() -> bool:
        response = await cluster.call("POST", path)
        return response.code == 422 and response.body["message"].endswith("request: CONNECT none exec app true")

    await cluster.until(denied)
    assert (await cluster.call("POST", cluster.path("pods/exec", "none") + "?command=ls&stdout=true")).code == 404


# ── costs ─────────────────────────────────────────────────────────────────────────────────────

# Costs 3,000 times 300, as the characters of both texts are compared.
COSTLY = "object.data.long.contains(object.data.short)"
COSTLY_DATA = config() | {"data": {"long": "a" * 30_000, "short": "b" * 3_000}}
SPENT = "validation failed due to running out of cost budget, no further validation rules will be run"


async def test_the_validations_of_a_policy_have_one_budget(cluster: Cluster) -> None:
    await policy(cluster, *[{"expression": f"!{COSTLY}"}] * 12)

    assert await denial(cluster, COSTLY_DATA) == SPENT


async def test_messages_are_computed_with_what_is_left_of_the_budget(cluster: Cluster) -> None:
    costly = {"expression": f"!{COSTLY}", "messageExpression": f"string({COSTLY})"}
    await policy(cluster, *[costly] * 6)

    assert await denial(cluster, COSTLY_DATA) == f"failed messageExpression: {SPENT}"


async def test_match_conditions_have_a_budget_of_their_own(cluster: Cluster) -> None:
    conditions = [{"name": f"c{number}", "expression": f"!{COSTLY}"} for number in range(3)]
    await policy(cluster, {"expression": "true"}, matchConditions=conditions)

    assert await denial(cluster, COSTLY_DATA) == SPENT
