"""Mutating and validating webhooks: when they are called, what they see, and what their answers do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.contract.admission.kit import dry_run, until_code
from tests.contract.cluster import MERGE, Cluster
from tests.contract.objects import JSONObject, config, pod, structural, version, workload
from tests.contract.webhook_server import Play, Webhooks, allow, deny, labelled, patch

pytestmark = pytest.mark.since("1.30", "older servers have no match conditions, and other messages")

MUTATING, VALIDATING = "mutatingwebhookconfigurations", "validatingwebhookconfigurations"


def hook(cluster: Cluster, webhooks: Webhooks, path: str, **more: Any) -> JSONObject:
    """Return a webhook for ConfigMaps in the test's namespace."""
    own = {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}}
    rules = more.pop("rules", None) or [rule("configmaps")]
    return {
        "name": f"{path.strip('/')}.example.com",
        "clientConfig": webhooks.client_config(path),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "namespaceSelector": own,
        "rules": rules,
        **more,
    }


def rule(resource: str, group: str = "", operations: tuple[str, ...] = ("*",), versions: str = "*") -> JSONObject:
    found = {"apiGroups": [group], "apiVersions": [versions], "resources": [resource]}
    return {**found, "operations": list(operations)}


async def configure(cluster: Cluster, resource: str, *hooks: JSONObject) -> None:
    await cluster.create(resource, {"metadata": {"name": f"{cluster.namespace}-hooks"}, "webhooks": list(hooks)})


async def validate_by(cluster: Cluster, webhooks: Webhooks, play: Play, **more: Any) -> None:
    webhooks.play("/validate", play)
    await configure(cluster, VALIDATING, hook(cluster, webhooks, "/validate", **more))


async def mutate_by(cluster: Cluster, webhooks: Webhooks, **plays: Play) -> None:
    for path, play in plays.items():
        webhooks.play(f"/{path}", play)
    await configure(cluster, MUTATING, *(hook(cluster, webhooks, f"/{path}") for path in plays))


async def labels(cluster: Cluster, body: JSONObject | None = None, resource: str = "configmaps") -> JSONObject:
    """Wait until a webhook adds labels in dry runs, and return them."""
    seen: list[JSONObject] = []

    async def labelled() -> bool:
        response = await dry_run(cluster, resource, body or config())
        seen.append(response.body["metadata"].get("labels") or {})
        return bool(seen[-1])

    await cluster.until(labelled)
    return seen[-1]


# ── answers ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        ({"message": "no"}, 400, "denied the request: no"),
        ({"message": "no", "code": 418, "reason": "Teapot"}, 418, "denied the request: no"),
        ({"reason": "Forbidden", "code": 403}, 403, "denied the request: Forbidden"),
        ({"code": 200}, 400, "denied the request without explanation"),
        (None, 400, "denied the request without explanation"),
    ],
)
async def test_a_webhook_rejects_with_its_status(
    cluster: Cluster, webhooks: Webhooks, status: JSONObject | None, code: int, message: str
) -> None:
    await validate_by(cluster, webhooks, lambda _: {"allowed": False, **({"status": status} if status else {})})

    response = await until_code(cluster, code, "configmaps", config())

    assert response.body["message"] == f'admission webhook "validate.example.com" {message}'
    assert response.body["code"] == code
    assert response.body.get("reason", "") == (status or {}).get("reason", "")


async def test_a_webhook_patches_the_object(cluster: Cluster, webhooks: Webhooks) -> None:
    await mutate_by(cluster, webhooks, mutate=labelled("a"))

    assert await labels(cluster) == {"a": "yes"}

    created = await cluster.create("configmaps", config())
    assert created["metadata"]["labels"] == {"a": "yes"}
    assert created == await cluster.get("configmaps", "a")


async def test_each_webhook_sees_the_patches_before_it(cluster: Cluster, webhooks: Webhooks) -> None:
    await mutate_by(cluster, webhooks, first=labelled("a"), second=labelled("b"))

    assert await labels(cluster) == {"a": "yes", "b": "yes"}
    assert webhooks.requests["/second"][-1]["object"]["metadata"]["labels"] == {"a": "yes"}


async def test_the_patched_object_gets_defaults_and_is_validated(cluster: Cluster, webhooks: Webhooks) -> None:
    sidecar = {"name": "sidecar", "image": "proxy:1"}
    added = patch({"op": "add", "path": "/spec/containers/-", "value": sidecar})
    wrong = patch({"op": "add", "path": "/spec/restartPolicy", "value": "Sometimes"})
    webhooks.play("/mutate", lambda request: wrong if request["name"] == "wrong" else added)
    await configure(cluster, MUTATING, hook(cluster, webhooks, "/mutate", rules=[rule("pods", operations=("CREATE",))]))
    await until_code(cluster, 422, "pods", pod("wrong"))

    created = await cluster.create("pods", pod())

    assert [each["name"] for each in created["spec"]["containers"]] == ["app", "sidecar"]
    assert created["spec"]["containers"][1]["imagePullPolicy"] == "IfNotPresent"


async def test_fields_that_a_webhook_adds_have_no_owner(cluster: Cluster, webhooks: Webhooks) -> None:
    await mutate_by(cluster, webhooks, mutate=labelled("a"))
    await labels(cluster)

    created = await cluster.create("configmaps", config(labels={"mine": "yes"}), params={"fieldManager": "me"})

    (entry,) = created["metadata"]["managedFields"]
    assert entry["fieldsV1"]["f:metadata"] == {"f:labels": {".": {}, "f:mine": {}}}
    assert created["metadata"]["labels"] == {"mine": "yes", "a": "yes"}


async def test_warnings_are_passed_on(cluster: Cluster, webhooks: Webhooks) -> None:
    await validate_by(cluster, webhooks, lambda _: {"allowed": True, "warnings": ["careful"]})

    async def warned() -> bool:
        return (await dry_run(cluster, "configmaps", config())).warnings == ["careful"]

    await cluster.until(warned)


# ── requests ──────────────────────────────────────────────────────────────────────────────────


async def test_a_webhook_sees_the_request(cluster: Cluster, webhooks: Webhooks) -> None:
    await validate_by(cluster, webhooks, deny("no"))
    await until_code(cluster, 400, "configmaps", config(labels={"a": "b"}))

    request = webhooks.requests["/validate"][-1]

    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    resource = {"group": "", "version": "v1", "resource": "configmaps"}
    assert request["uid"]
    assert "system:masters" in request["userInfo"]["groups"]
    assert {name: request[name] for name in request.keys() - {"uid", "userInfo", "object"}} == {
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": "a",
        "namespace": cluster.namespace,
        "operation": "CREATE",
        "oldObject": None,
        "dryRun": True,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"]},
    }
    assert request["object"]["metadata"]["labels"] == {"a": "b"}
    assert request["object"]["metadata"]["uid"]


async def test_a_mutating_webhook_is_called_before_names_are_generated(cluster: Cluster, webhooks: Webhooks) -> None:
    await mutate_by(cluster, webhooks, mutate=labelled("a"))
    webhooks.play("/validate", allow)
    await configure(cluster, VALIDATING, hook(cluster, webhooks, "/validate"))
    body = {"metadata": {"generateName": "a-"}}
    await labels(cluster, body)

    async def called() -> bool:
        await dry_run(cluster, "configmaps", body)
        return "/validate" in webhooks.requests

    await cluster.until(called)
    created = await cluster.create("configmaps", body)

    before, after = webhooks.requests["/mutate"][-1], webhooks.requests["/validate"][-1]
    assert not before.keys() & {"name"}
    assert not before["object"]["metadata"].keys() & {"name", "uid"}
    assert after["name"] == after["object"]["metadata"]["name"] == created["metadata"]["name"]
    assert after["object"]["metadata"]["uid"] == created["metadata"]["uid"]
    assert after["object"]["metadata"]["labels"] == {"a": "yes"}


async def test_updates_and_deletes_have_the_old_object(cluster: Cluster, webhooks: Webhooks) -> None:
    await cluster.create("configmaps", config())
    await validate_by(cluster, webhooks, lambda request: {"allowed": request.get("name") != "no"})
    await until_code(cluster, 400, "configmaps", config("no"))

    await cluster.patch("configmaps", "a", {"data": {"k": "new"}})
    await cluster.delete("configmaps", "a")

    update, delete = webhooks.requests["/validate"][-2:]
    assert (update["operation"], delete["operation"]) == ("UPDATE", "DELETE")
    assert (update["oldObject"]["data"], update["object"]["data"]) == ({"k": "v"}, {"k": "new"})
    assert (delete["oldObject"]["data"], delete["object"]) == ({"k": "new"}, None)
    assert (update["options"]["kind"], delete["options"]["kind"]) == ("UpdateOptions", "DeleteOptions")


async def test_a_delete_of_many_calls_for_each(cluster: Cluster, webhooks: Webhooks) -> None:
    for name in ("a", "b"):
        await cluster.create("configmaps", config(name, labels={"many": "yes"}))
    await validate_by(cluster, webhooks, lambda request: {"allowed": request.get("name") != "no"})
    await until_code(cluster, 400, "configmaps", config("no"))

    response = await cluster.delete_all("configmaps", labelSelector="many=yes")

    assert [each["metadata"]["name"] for each in response["items"]] == ["a", "b"]
    deleted = [each for each in webhooks.requests["/validate"] if each["operation"] == "DELETE"]
    assert sorted(each["oldObject"]["metadata"]["name"] for each in deleted) == ["a", "b"]
    assert not any("name" in each for each in deleted)
    assert await cluster.names("configmaps", labelSelector="many=yes") == []


async def test_a_webhook_may_ask_for_another_version(cluster: Cluster, webhooks: Webhooks) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(), version("v2", storage=False)]))
    webhooks.play("/mutate", labelled("a"))
    rules = [rule("widgets", cluster.group, ("CREATE",), "v1")]
    await configure(cluster, MUTATING, hook(cluster, webhooks, "/mutate", rules=rules))

    assert await labels(cluster, cluster.widget(api_version="v2"), "widgets.v2") == {"a": "yes"}

    request = webhooks.requests["/mutate"][-1]
    assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v1", "v2")
    assert request["object"]["apiVersion"] == f"{cluster.group}/v1"


async def test_custom_resources_are_pruned_after_a_patch(cluster: Cluster, webhooks: Webhooks) -> None:
    schema = structural(size={"type": "integer"}, color={"type": "string", "default": "red"})
    await cluster.create_crd(cluster.crd(versions=[version(schema=schema)]))
    spec = {"size": 1, "unknown": True}
    operations = [
        {"op": "add", "path": "/spec", "value": spec},
        {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
    ]
    webhooks.play("/mutate", lambda _: patch(*operations))
    await configure(cluster, MUTATING, hook(cluster, webhooks, "/mutate", rules=[rule("widgets", cluster.group)]))
    await labels(cluster, cluster.widget(), "widgets")

    await cluster.create("widgets", cluster.widget())

    assert (await cluster.get("widgets", "w"))["spec"] == {"size": 1, "color": "red"}


# ── matching ──────────────────────────────────────────────────────────────────────────────────


async def test_match_conditions_decide_whether_a_webhook_is_called(cluster: Cluster, webhooks: Webhooks) -> None:
    conditions = [{"name": "c", "expression": "object.metadata.name != 'exempt' && request.operation == 'CREATE'"}]
    await validate_by(cluster, webhooks, deny("no"), matchConditions=conditions)

    await until_code(cluster, 400, "configmaps", config())

    assert (await dry_run(cluster, "configmaps", config("exempt"))).code == 201


async def test_a_match_condition_that_fails_forbids(cluster: Cluster, webhooks: Webhooks) -> None:
    conditions = [{"name": "c", "expression": "object.none == 1"}]
    await validate_by(cluster, webhooks, deny("no"), matchConditions=conditions)

    response = await until_code(cluster, 403, "configmaps", config())

    why = "expression 'object.none == 1' resulted in error: no such key: none"
    assert response.body["message"] == f'configmaps "a" is forbidden: {why}'


async def test_objects_are_selected_by_their_labels(cluster: Cluster, webhooks: Webhooks) -> None:
    await validate_by(cluster, webhooks, deny("no"), objectSelector={"matchLabels": {"checked": "yes"}})

    await until_code(cluster, 400, "configmaps", config(labels={"checked": "yes"}))

    assert (await dry_run(cluster, "configmaps", config())).code == 201


async def test_a_status_is_a_subresource(cluster: Cluster, webhooks: Webhooks) -> None:
    await cluster.create("deployments", workload())
    rules = [rule("deployments/status", "apps")]
    await validate_by(cluster, webhooks, deny("no"), rules=rules)
    path, body = cluster.path("deployments/status", "d"), {"status": {"replicas": 1}}

    async def denied() -> bool:
        response = await cluster.call("PATCH", path, body=body, content_type=MERGE, params={"dryRun": "All"})
        return response.code == 400

    await cluster.until(denied)
    assert webhooks.requests["/validate"][-1]["subResource"] == "status"
    assert (await dry_run(cluster, "deployments", workload("another"))).code == 201


# ── failures ──────────────────────────────────────────────────────────────────────────────────


def failure(body: JSONObject) -> str:
    """Return why a webhook could not be called."""
    head = 'Internal error occurred: failed calling webhook "validate.example.com": '
    assert body["message"].startswith(head), body
    assert body["details"]["causes"] == [{"message": body["message"].removeprefix("Internal error occurred: ")}]
    return str(body["message"].removeprefix(head))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"response": {"allowed": True, "uid": "other"}}, 'expected response.uid="UID", got "other"'),
        ({"response": None}, "webhook response was absent"),
        ({"response": {"allowed": True, "patch": "W10="}}, "validating webhook may not return response.patch"),
    ],
)
async def test_an_invalid_response_fails_the_request(
    cluster: Cluster, webhooks: Webhooks, answer: JSONObject, why: str
) -> None:
    uids: list[str] = []

    def play(review: JSONObject) -> JSONObject:
        uids.append(review["request"]["uid"])
        response = answer["response"] and {"uid": uids[-1], **answer["response"]}
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}

    webhooks.answer("/validate", play)
    await configure(cluster, VALIDATING, hook(cluster, webhooks, "/validate"))
    response = await until_code(cluster, 500, "configmaps", config())

    expected = f"received invalid webhook response: {why.replace('UID', uids[-1])}"
    assert failure(response.body) == expected


async def test_a_failure_is_ignored_if_the_webhook_says_so(cluster: Cluster, webhooks: Webhooks) -> None:
    webhooks.answer("/ignored", lambda _: {"response": None})
    ignored = hook(cluster, webhooks, "/ignored", failurePolicy="Ignore")
    webhooks.play("/validate", lambda request: {"allowed": request.get("name") != "no"})
    await configure(cluster, VALIDATING, ignored, hook(cluster, webhooks, "/validate"))

    await until_code(cluster, 400, "configmaps", config("no"))

    assert (await dry_run(cluster, "configmaps", config())).code == 201


async def test_a_service_that_does_not_exist_fails_the_request(cluster: Cluster, webhooks: Webhooks) -> None:
    service = {"name": "none", "namespace": cluster.namespace, "path": "/validate", "port": 8443}
    await configure(cluster, VALIDATING, hook(cluster, webhooks, "/validate", clientConfig={"service": service}))

    response = await until_code(cluster, 500, "configmaps", config())

    url = f"https://none.{cluster.namespace}.svc:8443/validate?timeout=10s"
    assert failure(response.body) == f'failed to call webhook: Post "{url}": service "none" not found'


async def test_a_patch_that_cannot_be_applied_fails_the_request(cluster: Cluster, webhooks: Webhooks) -> None:
    missing = patch({"op": "remove", "path": "/spec/none"})
    await mutate_by(cluster, webhooks, mutate=lambda _: missing)

    response = await until_code(cluster, 500, "configmaps", config())

    assert response.body["message"].startswith("Internal error occurred: ")
    assert "/spec/none" in json.dumps(response.body)


# ── reinvocation ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("reinvocation", "calls"), [("IfNeeded", 2), ("Never", 1)])
async def test_a_webhook_is_called_again_after_later_changes(
    cluster: Cluster, webhooks: Webhooks, reinvocation: str, calls: int
) -> None:
    webhooks.play("/first", labelled("a"))
    webhooks.play("/second", labelled("b"))
    first = hook(cluster, webhooks, "/first", reinvocationPolicy=reinvocation)
    await configure(cluster, MUTATING, first, hook(cluster, webhooks, "/second"))
    await labels(cluster)
    webhooks.requests.clear()

    created = await cluster.create("configmaps", config())

    assert created["metadata"]["labels"] == {"a": "yes", "b": "yes"}
    assert len(webhooks.requests["/first"]) == calls
    assert len(webhooks.requests["/second"]) == 1


async def test_a_scale_may_be_patched(cluster: Cluster, webhooks: Webhooks) -> None:
    await cluster.create("deployments", workload(replicas=1))
    webhooks.play("/mutate", lambda _: patch({"op": "replace", "path": "/spec/replicas", "value": 2}))
    rules = [rule("deployments/scale", "apps")]
    await configure(cluster, MUTATING, hook(cluster, webhooks, "/mutate", rules=rules))
    body: JSONObject = {"spec": {"replicas": 9}}

    async def limited() -> bool:
        scale = await cluster.patch("deployments/scale", "d", body)
        return bool(scale["spec"]["replicas"] == 2)

    await cluster.until(limited)
    assert (await cluster.get("deployments", "d"))["spec"]["replicas"] == 2
    assert webhooks.requests["/mutate"][-1]["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
