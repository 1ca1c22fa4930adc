"""Query parameters of writes: validation, the default field manager, and the order of errors."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import Invalid, UnsupportedMediaType
from tests.contract.cluster import APPLY, MERGE, Cluster
from tests.contract.objects import JSONObject, config

WRITES = {
    "CreateOptions": ("POST", "", "application/json"),
    "UpdateOptions": ("PUT", "a", "application/json"),
    "PatchOptions": ("PATCH", "a", MERGE),
}


async def error_body(cluster: Cluster, options: str, params: dict[str, str]) -> JSONObject:
    method, name, content_type = WRITES[options]
    path = cluster.path("configmaps", name)
    response = await cluster.call(method, path, body=config(), params=params, content_type=content_type)
    assert response.code == 422, response.body
    body: JSONObject = response.body
    return body


@pytest.mark.parametrize("options", WRITES)
@pytest.mark.parametrize(
    ("params", "field", "message"),
    [
        ({"dryRun": "Some"}, "dryRun", 'Unsupported value: ["Some"]: supported values: "All"'),
        ({"dryRun": ""}, "dryRun", 'Unsupported value: [""]: supported values: "All"'),
        ({"fieldManager": "x" * 129}, "fieldManager", "Too long: may not be more than 128 bytes"),
        ({"fieldManager": "é" * 65}, "fieldManager", "Too long: may not be more than 128 bytes"),
        (
            {"fieldManager": "x\ty"},
            "fieldManager",
            'Invalid value: "x\\ty": invalid character U+0009 (at position 1)',
        ),
    ],
)
async def test_an_invalid_option_is_a_cause_with_its_field(
    cluster: Cluster, options: str, params: dict[str, str], field: str, message: str
) -> None:
    if cluster.version < (1, 27):
        message = message.replace("may not be more than 128", "must have at most 128").replace("[", "[]string{")
        message = message.replace("]:", "}:")

    body = await error_body(cluster, options, params)

    (cause,) = body["details"]["causes"]
    assert (cause["field"], cause["message"]) == (field, message)
    assert (body["details"]["kind"], body["details"]["group"]) == (options, "meta.k8s.io")
    assert body["message"] == f'{options}.meta.k8s.io "" is invalid: {field}: {message}'


@pytest.mark.since("1.25", "field validation came with 1.25")
@pytest.mark.parametrize("options", WRITES)
async def test_the_cause_of_an_invalid_field_validation_is_the_last(cluster: Cluster, options: str) -> None:
    params = {"fieldValidation": "Loose", "fieldManager": "x" * 129, "dryRun": "Some"}

    body = await error_body(cluster, options, params)

    causes = body["details"]["causes"]
    assert [cause["field"] for cause in causes] == ["fieldManager", "dryRun", "fieldValidation"]
    supported = '"", "Ignore", "Strict", "Warn"'
    assert causes[-1]["message"] == f'Unsupported value: "Loose": supported values: {supported}'


@pytest.mark.parametrize(
    ("agent", "manager"),
    [
        ("kubectl/v1.37.0 (linux/amd64)", "kubectl"),
        ("my program", "my program"),
        ("", "unknown"),
        ("/v1", "unknown"),
        ("x" * 200 + "/v1", "x" * 128),
        ("a\tb/1", "ab"),
    ],
)
async def test_the_default_manager_is_the_program_in_the_user_agent(cluster: Cluster, agent: str, manager: str) -> None:
    created = await cluster.create("configmaps", config(), headers={"User-Agent": agent})

    assert [entry["manager"] for entry in created["metadata"]["managedFields"]] == [manager]


async def test_an_apply_requires_a_manager_and_other_patches_cannot_be_forced(cluster: Cluster) -> None:
    with pytest.raises(Invalid, match="fieldManager: Required value: is required for apply patch"):
        await cluster.patch("configmaps", "a", config(), APPLY)
    with pytest.raises(Invalid, match="force: Forbidden: may not be specified for non-apply patch"):
        await cluster.patch("configmaps", "a", {}, params={"force": "true"})


@pytest.mark.parametrize(
    ("method", "content_type", "first"),
    [
        ("POST", "text/plain", UnsupportedMediaType),
        ("PATCH", "application/json", UnsupportedMediaType),
        ("PUT", "text/plain", Invalid),
    ],
)
async def test_the_content_type_is_checked_before_the_options_except_in_updates(
    cluster: Cluster, method: str, content_type: str, first: type[Any]
) -> None:
    path = cluster.path("configmaps", "" if method == "POST" else "a")

    with pytest.raises(first):
        await cluster.request(method, path, body="{}", content_type=content_type, params={"dryRun": "Some"})


async def test_options_are_checked_before_the_body(cluster: Cluster) -> None:
    with pytest.raises(Invalid, match="dryRun"):
        await cluster.request("POST", cluster.path("configmaps"), body="{", params={"dryRun": "Some"})
