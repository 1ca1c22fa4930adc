"""MutatingAdmissionPolicies and their bindings."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.admission.kit import dry_run, until_code
from tests.contract.admission.test_policies import rule
from tests.contract.cluster import Cluster, Response
from tests.contract.objects import JSONObject, config, pod, structural, version, workload
from tests.contract.webhook_server import Webhooks, labelled

pytestmark = pytest.mark.since("1.36", "mutating policies of v1 came with 1.36")

POLICIES, BINDINGS = "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"
EXPECTED = 'Invalid value: "{}": must evaluate to {} but got {}'
COMPILED = 'Invalid value: "{}": compilation failed: ERROR: <input>:1:{}: {}\n | {}\n | {}^'
UNTYPED = "failed to convert patch object to typed object"
LABEL = 'Object{metadata: Object.metadata{labels: {"a": "yes"}}}'


def apply(expression: str) -> JSONObject:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def json_patch(expression: str) -> JSONObject:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


def spec_of(cluster: Cluster, *mutations: JSONObject, rules: list[JSONObject] | None = None, **more: Any) -> JSONObject:
    own = {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}}
    match = {"namespaceSelector": own, "resourceRules": rules or [rule()]}
    return {"matchConstraints": match, "mutations": list(mutations), "reinvocationPolicy": "Never", **more}


async def policy(
    cluster: Cluster, *mutations: JSONObject, name: str = "policy", binding: JSONObject | None = None, **spec: Any
) -> str:
    """Create a policy for the test's namespace, with a binding, and return their name."""
    name = f"{cluster.namespace}-{name}"
    await cluster.create(POLICIES, {"metadata": {"name": name}, "spec": spec_of(cluster, *mutations, **spec)})
    await cluster.create(BINDINGS, {"metadata": {"name": name}, "spec": {"policyName": name, **(binding or {})}})
    return name


async def mutated(cluster: Cluster, resource: str = "configmaps", body: JSONObject | None = None) -> JSONObject:
    """Wait until a policy labels the object of a dry run, and return it."""
    seen: list[JSONObject] = []

    async def changed() -> bool:
        seen.append((await dry_run(cluster, resource, body or config())).body)
        return bool(seen[-1].get("metadata", {}).get("labels"))

    await cluster.until(changed)
    return seen[-1]


async def labels(cluster: Cluster, **options: Any) -> JSONObject:
    found: JSONObject = (await mutated(cluster, **options))["metadata"]["labels"]
    return found


async def denial(cluster: Cluster, body: JSONObject | None = None, resource: str = "configmaps") -> str:
    """Wait until a policy denies a create, and return its message, without the part that names it."""
    response = await until_code(cluster, 403, resource, body or config())
    name = f"{cluster.namespace}-policy"
    head = f"policy '{name}' with binding '{name}' denied request: "
    assert response.body["message"].startswith(head), response.body["message"]
    return str(response.body["message"].removeprefix(head))


# ── apply configurations ──────────────────────────────────────────────────────────────────────


async def test_a_configuration_is_merged(cluster: Cluster) -> None:
    await policy(cluster, apply(LABEL))

    body = config(labels={"mine": "1"})
    assert await labels(cluster, body=config()) == {"a": "yes"}
    created = await cluster.create("configmaps", body)

    assert created["metadata"]["labels"] == {"mine": "1", "a": "yes"}
    (entry,) = created["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:metadata"] == {"f:labels": {".": {}, "f:mine": {}}}


async def test_items_are_merged_by_their_keys_and_get_defaults(cluster: Cluster) -> None:
    containers = '[Object.spec.containers{name: "app", tty: true}, Object.spec.containers{name: "b", image: "b:1"}]'
    labelled = 'metadata: Object.metadata{labels: {"a": "yes"}}'
    mutation = apply(f"Object{{{labelled}, spec: Object.spec{{containers: {containers}}}}}")
    await policy(cluster, mutation, rules=[rule("pods", "", "CREATE")])

    created = await mutated(cluster, "pods", pod())

    first, second = created["spec"]["containers"]
    assert (first["name"], first["image"], first["tty"]) == ("app", pod()["spec"]["containers"][0]["image"], True)
    assert (second["name"], second["imagePullPolicy"]) == ("b", "IfNotPresent")


async def test_an_update_is_mutated(cluster: Cluster) -> None:
    await cluster.create("configmaps", config())
    await policy(cluster, apply(LABEL), rules=[rule("configmaps", "", "UPDATE")])

    async def labelled() -> bool:
        patched = await cluster.patch("configmaps", "a", {"data": {"k": "2"}})
        return bool(patched["metadata"].get("labels") == {"a": "yes"})

    await cluster.until(labelled)


async def test_values_come_from_variables_and_parameters(cluster: Cluster) -> None:
    await cluster.create("configmaps", {**config("settings"), "data": {"team": "blue"}})
    variables = [{"name": "team", "expression": "params.data.team + '-' + object.metadata.name"}]
    reference = {"name": "settings", "parameterNotFoundAction": "Deny"}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    mutation = apply("Object{metadata: Object.metadata{labels: {'team': variables.team}}}")
    await policy(cluster, mutation, variables=variables, paramKind=kind, binding={"paramRef": reference})

    assert await labels(cluster) == {"team": "blue-a"}


async def test_match_conditions_decide(cluster: Cluster) -> None:
    condition = {"name": "named-a", "expression": "object.metadata.name == 'a'"}
    await policy(cluster, apply(LABEL), matchConditions=[condition])

    assert await labels(cluster) == {"a": "yes"}
    assert "labels" not in (await cluster.create("configmaps", config("b")))["metadata"]


async def test_optional_fields_may_be_left_out(cluster: Cluster) -> None:
    expression = 'Object{metadata: Object.metadata{labels: {"a": "yes"}, ?annotations: object.?metadata.?annotations}}'
    await policy(cluster, apply(expression))

    assert await labels(cluster) == {"a": "yes"}


async def test_a_custom_resource_is_mutated(cluster: Cluster) -> None:
    schema = structural(size={"type": "integer"}, text={"type": "string", "default": "x"})
    await cluster.create_crd(cluster.crd(versions=[version(schema=schema)]))
    mutation = apply('Object{metadata: Object.metadata{labels: {"a": "yes"}}, spec: Object.spec{size: 3}}')
    await policy(cluster, mutation, rules=[rule("widgets", cluster.group)])
    # A real server learns the schemas of new CRDs from its own OpenAPI, which may take some seconds.
    seen: list[Response] = []

    async def known() -> bool:
        seen.append(await dry_run(cluster, "widgets", cluster.widget()))
        return seen[-1].code == 201 and "labels" in seen[-1].body["metadata"]

    await cluster.until(known)
    assert seen[-1].body["spec"] == {"size": 3, "text": "x"}


NO_DATA = "Object{data: object.data.none}"
MISNAMED = 'unexpected type name "Object.spec", expected "Object.metadata", which matches field name path from root'


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        (NO_DATA, f"expression '{NO_DATA}' resulted in error: no such key: none"),
        ("Object{metadata: Object.spec{}}", f"type mismatch: {MISNAMED} Object type"),
        ("Object{nope: 1}", f"error applying patch: {UNTYPED}: .nope: field not declared in schema"),
    ],
)
async def test_an_error_denies(cluster: Cluster, expression: str, problem: str) -> None:
    await policy(cluster, apply(expression))

    assert await denial(cluster) == problem


async def test_atomic_values_must_not_be_mutated(cluster: Cluster) -> None:
    selector = 'Object.spec.selector{matchLabels: {"app": "b"}}'
    mutation = apply(f"Object{{spec: Object.spec{{selector: {selector}}}}}")
    await policy(cluster, mutation, rules=[rule("deployments", "apps")])

    problem = await denial(cluster, workload(), "deployments")

    what = "may not mutate atomic arrays, maps or structs: .spec.selector"
    assert problem == f"error applying patch: invalid ApplyConfiguration: {what}"


async def test_the_response_of_a_denial(cluster: Cluster) -> None:
    name = await policy(cluster, apply("Object{nope: 1}"), apply("Object{wrong: 1}"))

    response = await until_code(cluster, 403, "configmaps", config())

    head = f"policy '{name}' with binding '{name}' denied request: error applying patch: {UNTYPED}"
    messages = [f"{head}: .{field}: field not declared in schema" for field in ("nope", "wrong")]
    assert response.body["message"] == messages[0]
    assert (response.body["code"], response.body["reason"]) == (403, "Invalid")
    causes = [{"message": message} for message in messages]
    assert response.body["details"] == {"name": "a", "kind": "configmaps", "causes": causes}


async def test_errors_may_be_ignored(cluster: Cluster) -> None:
    await policy(cluster, apply("Object{nope: 1}"), apply(LABEL), failurePolicy="Ignore")

    assert await labels(cluster) == {"a": "yes"}


async def test_missing_parameters_deny(cluster: Cluster) -> None:
    reference = {"name": "none", "parameterNotFoundAction": "Deny"}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    await policy(cluster, apply(LABEL), paramKind=kind, binding={"paramRef": reference})

    why = "no params found for policy binding with `Deny` parameterNotFoundAction"
    assert await denial(cluster) == f"failed to configure binding: {why}"


# ── JSON patches ──────────────────────────────────────────────────────────────────────────────


async def test_a_json_patch_is_applied(cluster: Cluster) -> None:
    key = '"/metadata/labels/" + jsonpatch.escapeKey("example.com/a")'
    operations = f"""[
        JSONPatch{{op: "test", path: "/data/k", value: "v"}},
        JSONPatch{{op: "add", path: "/metadata/labels", value: {{"first": "1"}}}},
        JSONPatch{{op: "add", path: {key}, value: string(object.data.size())}},
        JSONPatch{{op: "move", from: "/data/k", path: "/data/moved"}},
        JSONPatch{{op: "add", path: "/data/escaped", value: jsonpatch.escapeKey("a/b~c")}},
    ]"""
    await policy(cluster, json_patch(operations))

    created = await mutated(cluster, body={**config(), "data": {"k": "v"}})

    assert created["metadata"]["labels"] == {"first": "1", "example.com/a": "1"}
    assert created["data"] == {"moved": "v", "escaped": "a~1b~0c"}


async def test_a_failed_test_skips_the_patch(cluster: Cluster) -> None:
    test = '[JSONPatch{op: "test", path: "/data/k", value: "other"}, JSONPatch{op: "remove", path: "/data"}]'
    await policy(cluster, json_patch(test), apply(LABEL))

    assert (await mutated(cluster, body={**config(), "data": {"k": "v"}}))["data"] == {"k": "v"}


async def test_objects_may_be_values_of_a_patch(cluster: Cluster) -> None:
    container = 'Object.spec.containers{name: "b", image: "b:1"}'
    operations = f"""[JSONPatch{{op: "add", path: "/spec/containers/-", value: {container}}},
        JSONPatch{{op: "add", path: "/metadata/labels", value: {{"a": "yes"}}}}]"""
    await policy(cluster, json_patch(operations), rules=[rule("pods", "", "CREATE")])

    created = await mutated(cluster, "pods", pod())

    assert [each["name"] for each in created["spec"]["containers"]] == ["app", "b"]


async def test_an_unknown_field_in_a_patched_object_is_an_error(cluster: Cluster) -> None:
    await policy(cluster, json_patch('[JSONPatch{op: "add", path: "/nope", value: 1}]'))

    response = await until_code(cluster, 500, "configmaps", config())

    assert response.body["message"] == 'Internal error occurred: strict decoding error: unknown field "nope"'


# ── several policies ──────────────────────────────────────────────────────────────────────────


def count(*, by: str) -> JSONObject:
    """Return a mutation that counts how often it is evaluated, in a label."""
    seen = f"object.?metadata.?labels[?'{by}'].orValue('')"
    return apply(f"Object{{metadata: Object.metadata{{labels: {{'{by}': {seen} + 'x'}}}}}}")


async def test_mutations_see_those_before(cluster: Cluster) -> None:
    await policy(cluster, count(by="n"), count(by="n"))

    assert await labels(cluster) == {"n": "xx"}


async def test_a_policy_is_evaluated_again_if_the_object_changes_later(cluster: Cluster) -> None:
    await policy(cluster, count(by="first"), name="1", reinvocationPolicy="IfNeeded")
    await policy(cluster, count(by="second"), name="2")

    async def both() -> bool:
        return len(await labels(cluster)) == 2

    await cluster.until(both)
    assert await labels(cluster) == {"first": "xx", "second": "x"}


async def test_webhooks_are_called_after_policies(cluster: Cluster, webhooks: Webhooks) -> None:
    webhooks.play("/mutate", labelled("hooked"))
    own = {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}}
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    hook = {"name": "hook.example.com", "clientConfig": webhooks.client_config("/mutate"), "rules": rules}
    hook |= {"admissionReviewVersions": ["v1"], "sideEffects": "None", "namespaceSelector": own}
    await policy(cluster, count(by="n"), reinvocationPolicy="IfNeeded")
    configuration = {"metadata": {"name": f"{cluster.namespace}-hooks"}, "webhooks": [hook]}
    await cluster.create("mutatingwebhookconfigurations", configuration)

    async def both() -> bool:
        return len(await labels(cluster)) == 2

    await cluster.until(both)
    assert await labels(cluster) == {"n": "xx", "hooked": "yes"}


async def test_validating_policies_see_the_mutated_object(cluster: Cluster) -> None:
    name = await policy(cluster, apply(LABEL))
    match = spec_of(cluster)["matchConstraints"]
    check = {"matchConstraints": match, "validations": [{"expression": "!has(object.metadata.labels)"}]}
    await cluster.create("validatingadmissionpolicies", {"metadata": {"name": name}, "spec": check})
    bound = {"policyName": name, "validationActions": ["Deny"]}
    await cluster.create("validatingadmissionpolicybindings", {"metadata": {"name": name}, "spec": bound})

    await until_code(cluster, 422, "configmaps", config())


# ── validation of policies ────────────────────────────────────────────────────────────────────


def uncompiled(expression: str, at: int, problem: str) -> str:
    """Return the message for an expression with an error at a column."""
    return COMPILED.format(expression, at, problem, expression, "." * (at - 1))


def unsupported(value: str, *values: str) -> str:
    return f'Unsupported value: "{value}": supported values: {", ".join(map(repr, values))}'.replace("'", '"')


async def causes(cluster: Cluster, **change: Any) -> list[tuple[str, str]]:
    """Return the field and the message of each cause for which a changed policy is refused."""
    spec = {**spec_of(cluster, apply(LABEL)), **change}
    given = {name: value for name, value in spec.items() if value is not None}
    response = await dry_run(cluster, POLICIES, {"metadata": {"name": "p"}, "spec": given})
    assert response.code == 422
    return [(each["field"], each["message"]) for each in response.body["details"]["causes"]]


@pytest.mark.parametrize(
    ("change", "field", "problem"),
    [
        ({"mutations": []}, "mutations", "Required value: mutations must contain at least one item"),
        ({"reinvocationPolicy": None}, "reinvocationPolicy", "Required value"),
        ({"reinvocationPolicy": "Often"}, "reinvocationPolicy", unsupported("Often", "IfNeeded", "Never")),
        (
            {"matchConstraints": {"resourceRules": [rule("pods", "", "DELETE")]}},
            "matchConstraints.resourceRules.operations",
            unsupported("DELETE", "*", "CONNECT", "CREATE", "UPDATE"),
        ),
        ({"matchConstraints": None}, "matchConstraints", "Required value"),
        (
            {"variables": [{"name": "v", "expression": "Object{}"}]},
            "variables[0].expression",
            uncompiled("Object{}", 7, "undeclared reference to 'Object' (in container '')"),
        ),
    ],
)
async def test_an_invalid_policy_is_refused(cluster: Cluster, change: JSONObject, field: str, problem: str) -> None:
    assert await causes(cluster, **change) == [(f"spec.{field}", problem)]


ONE_OF = "must {}be specified when patchType is ApplyConfiguration"
TYPED = "expected type of field 'op' is 'string' but provided type is 'int'"


@pytest.mark.parametrize(
    ("mutation", "field", "problem"),
    [
        ({"patchType": "ApplyConfiguration"}, "applyConfiguration", f"Required value: {ONE_OF.format('')}"),
        ({"patchType": "Merge"}, "patchType", unsupported("Merge", "ApplyConfiguration", "JSONPatch")),
        (
            {**json_patch("[]"), **apply(LABEL)},
            "jsonPatch",
            f'Invalid value: "{{jsonPatch}}": {ONE_OF.format("not ")}',
        ),
        (apply(" "), "applyConfiguration.expression", "Required value"),
        (apply(" object "), "applyConfiguration.expression", EXPECTED.format("object", "Object", "dyn")),
        (json_patch("[]"), "jsonPatch.expression", EXPECTED.format("[]", "list(JSONPatch)", "list(dyn)")),
        (
            json_patch("[JSONPatch{op: 1}]"),
            "jsonPatch.expression",
            uncompiled("[JSONPatch{op: 1}]", 14, TYPED),
        ),
        (
            apply("Other{}"),
            "applyConfiguration.expression",
            uncompiled("Other{}", 6, "undeclared reference to 'Other' (in container '')"),
        ),
    ],
)
async def test_an_invalid_mutation_is_refused(cluster: Cluster, mutation: JSONObject, field: str, problem: str) -> None:
    assert await causes(cluster, mutations=[mutation]) == [(f"spec.mutations[0].{field}", problem)]


async def test_an_invalid_binding_is_refused(cluster: Cluster) -> None:
    limits = {"resourceRules": [rule("pods", "", "DELETE")]}
    spec = {"matchResources": limits, "paramRef": {}}
    response = await dry_run(cluster, BINDINGS, {"metadata": {"name": "p"}, "spec": spec})

    assert [each["field"] for each in response.body["details"]["causes"]] == [
        "spec.policyName",
        "spec.paramRef",
        "spec.paramRef.parameterNotFoundAction",
        "spec.matchResources.resourceRules.operations",
    ]
