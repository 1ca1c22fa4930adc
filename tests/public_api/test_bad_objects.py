"""Invalid objects are rejected before a request is sent, with the field and the fix."""

from __future__ import annotations

from typing import Any

import pytest

import dynkube
from dynkube.errors import Invalid, InvalidInput, InvalidObject
from dynkube_testing import APIServer
from tests.public_api.kit import config_map

CASES: list[tuple[object, str]] = [
    (config_map(apiVersion=None), "object 'settings' has no apiVersion: add apiVersion: 'v1'"),
    (config_map(kind=None), "object 'settings' has no kind: add kind: 'ConfigMap'"),
    (config_map(metadata={}), r"ConfigMap has (no|neither) metadata\.name"),
    (config_map(metadata=None), r"ConfigMap has (no|neither) metadata\.name"),
    (config_map(metadata={"name": 3}), "metadata.name is a number, expected a string"),
    (config_map(metadata={"name": "c", "labels": {"a": 1}}), r"metadata.labels\[...\] is a number, expected a string"),
    (config_map(apiVersion="v2"), "is v2 ConfigMap, but configmaps.v1 expects v1 ConfigMap: correct apiVersion"),
    (
        config_map(kind="Pod"),
        r"is v1 Pod, but configmaps.v1 expects v1 ConfigMap: .*client\.resource\(GVK\('', 'v1', 'Pod'",
    ),
    (b'{"apiVersion": "v1",', "not a Kubernetes object: Input data was truncated"),
    ("hello", "not a Kubernetes object: JSON is malformed"),
    (
        "kind: ConfigMap",
        r"one object, as a dict or as JSON: dynkube\.meta\.yaml\.load_document\(text\) reads one of YAML",
    ),
    ([config_map()], r"an object must be JSON \(bytes or str\), a mapping or a model, not a list"),
    (None, r"an object must be JSON \(bytes or str\), a mapping or a model, not None"),
    (config_map(data={"x": object()}), "the object cannot be written as JSON"),
]


@pytest.mark.parametrize("verb", ["create", "update", "apply"])
@pytest.mark.parametrize(("obj", "message"), CASES)
async def test_an_invalid_object_is_not_sent(
    server: APIServer, client: dynkube.Client, verb: str, obj: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidObject, match=message):
        await getattr(client.resource("configmaps"), verb)(obj)

    assert not [request for request in server.requests if "configmaps" in request.path]


async def test_the_error_for_an_invalid_api_version_has_the_expected_form(client: dynkube.Client) -> None:
    with pytest.raises(InvalidInput, match="apiVersion 'a/b/c' is neither 'VERSION' nor 'GROUP/VERSION'"):
        await client.resource("configmaps").create(config_map(apiVersion="a/b/c"))


async def test_validation_errors_of_the_server_have_the_field(client: dynkube.Client) -> None:
    with pytest.raises(Invalid, match=r"metadata\.name: Invalid value") as caught:
        await client.resource("configmaps").create(config_map("Not_A_Name"))

    assert caught.value.causes[0].field == "metadata.name"


async def test_a_patch_of_the_wrong_type_is_rejected(client: dynkube.Client) -> None:
    with pytest.raises(InvalidInput, match="patch"):
        await client.resource("configmaps").patch("settings", [{"op": "remove", "path": "/data"}])
