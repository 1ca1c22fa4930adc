"""Immutable fields of built-in kinds."""

from __future__ import annotations

import pytest

from dynkube.errors import Invalid
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config, pod, service, workload

SECRET = {"metadata": {"name": "s"}, "stringData": {"k": "v"}}
JOB_POD = {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}
JOB = {"metadata": {"name": "j"}, "spec": {"template": {"spec": JOB_POD}}}


@pytest.mark.parametrize(
    ("resource", "body", "patch", "field", "message"),
    [
        (
            "configmaps",
            {**config(), "immutable": True},
            {"data": {"k": "w"}},
            "data",
            "Forbidden: field is immutable when",
        ),
        ("configmaps", {**config(), "immutable": True}, {"immutable": False}, "immutable", "Forbidden: field is immut"),
        (
            "secrets",
            {**SECRET, "immutable": True},
            {"data": {"k": "eA=="}},
            "data",
            "Forbidden: field is immutable when",
        ),
        ("secrets", SECRET, {"type": "other"}, "type", 'Invalid value: "other": field is immutable'),
        ("services", service(), {"spec": {"clusterIP": "10.96.1.1"}}, "spec.clusterIPs[0]", "may not change once set"),
        (
            "pods",
            pod(),
            {"spec": {"hostNetwork": True}},
            "spec",
            "Forbidden: pod updates may not change fields other than",
        ),
        (
            "deployments",
            workload(),
            {"spec": {"selector": {"matchLabels": {"a": "b"}}}},
            "spec.selector",
            "is immutable",
        ),
        ("jobs", JOB, {"spec": {"completions": 3}}, "spec.completions", "field is immutable"),
        (
            "persistentvolumeclaims",
            {
                "metadata": {"name": "c"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            },
            {"spec": {"volumeName": None, "accessModes": ["ReadOnlyMany"]}},
            "spec",
            "Forbidden: spec is immutable after creation except",
        ),
    ],
)
async def test_a_change_of_an_immutable_field_is_a_422(
    cluster: Cluster, resource: str, body: JSONObject, patch: JSONObject, field: str, message: str
) -> None:
    await cluster.create("serviceaccounts", {"metadata": {"name": "default"}})
    name = (await cluster.create(resource, body))["metadata"]["name"]

    with pytest.raises(Invalid) as caught:
        await cluster.patch(resource, name, patch)

    assert message in {cause.field: cause.message for cause in caught.value.causes}[field]


async def test_metadata_of_an_immutable_object_can_change(cluster: Cluster) -> None:
    await cluster.create("configmaps", {**config(), "immutable": True})

    patched = await cluster.patch("configmaps", "a", {"metadata": {"labels": {"a": "b"}}})

    assert patched["metadata"]["labels"] == {"a": "b"}


async def test_the_image_of_a_pod_can_change(cluster: Cluster) -> None:
    await cluster.create("serviceaccounts", {"metadata": {"name": "default"}})
    created = await cluster.create("pods", pod())

    created["spec"]["containers"][0]["image"] = "app:2"
    updated = await cluster.update("pods", created)

    assert updated["spec"]["containers"][0]["image"] == "app:2"
