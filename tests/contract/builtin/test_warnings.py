"""Warnings for objects that are valid but probably mistakes: for which writes they are sent, and how many."""

from __future__ import annotations

import pytest

from tests.contract.cluster import APPLY, Cluster, Response
from tests.contract.objects import JSONObject, pod, workload

pytestmark = pytest.mark.since("1.36", "older servers have fewer warnings or other messages")

BETA_OS = 'deprecated since v1.14; use "kubernetes.io/os" instead'
FRACTION = 'fractional byte value "1500m" is invalid, must be an integer'
CLASS = "volume.beta.kubernetes.io/storage-class"


async def created(cluster: Cluster, resource: str, body: JSONObject) -> Response:
    response = await cluster.call("POST", cluster.path(resource), body=body, params={"dryRun": "All"})
    assert response.code == 201, response.body
    return response


def templated(spec: JSONObject) -> JSONObject:
    body = workload()
    body["spec"]["template"]["spec"] = spec
    return body


BETA: JSONObject = {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}


@pytest.mark.parametrize(
    ("resource", "prefix"),
    [
        ("deployments", ""),
        ("replicasets", ""),
        ("daemonsets", ""),
        ("statefulsets", ""),
        ("jobs", ""),
        ("cronjobs", "spec.jobTemplate."),
    ],
)
async def test_warnings_name_the_path_of_the_template_in_each_kind(
    cluster: Cluster, resource: str, prefix: str
) -> None:
    template = templated({**pod(**BETA)["spec"]})["spec"]
    if resource in {"jobs", "cronjobs"}:
        del template["selector"]
        template["template"]["spec"]["restartPolicy"] = "Never"
    spec = {"schedule": "* * * * *", "jobTemplate": {"spec": template}} if prefix else template

    response = await created(cluster, resource, {"metadata": {"name": "d"}, "spec": spec})

    assert response.warnings == [f"{prefix}spec.template.spec.nodeSelector[beta.kubernetes.io/os]: {BETA_OS}"]


async def test_the_length_of_all_warnings_is_limited(cluster: Cluster) -> None:
    many = 40
    names = [f"{index:03}{'x' * 240}" for index in range(many)]
    secrets = [{"name": name} for name in names for _ in range(2)]

    response = await created(cluster, "deployments", templated(pod(imagePullSecrets=secrets)["spec"]))

    assert {len(text) for text in response.warnings} == {256}
    assert len(response.warnings) == 16


async def applied(cluster: Cluster, resource: str, body: JSONObject) -> list[str]:
    path = cluster.path(resource, body["metadata"]["name"])
    response = await cluster.call("PATCH", path, body=body, content_type=APPLY, params={"fieldManager": "me"})
    assert response.code < 300, response.body
    return response.warnings


async def test_an_apply_of_a_template_warns_only_if_the_spec_changes(cluster: Cluster) -> None:
    body, warning = templated(pod(**BETA)["spec"]), f"spec.template.spec.nodeSelector[beta.kubernetes.io/os]: {BETA_OS}"

    assert await applied(cluster, "deployments", body) == [warning]
    assert await applied(cluster, "deployments", body) == []
    body["metadata"]["labels"] = {"a": "b"}
    assert await applied(cluster, "deployments", body) == []
    body["spec"]["replicas"] = 2
    assert await applied(cluster, "deployments", body) == [warning]


async def test_a_negative_grace_period_warns_only_in_templates(cluster: Cluster) -> None:
    spec = pod(terminationGracePeriodSeconds=-1)["spec"]

    of_pod = await created(cluster, "pods", {**pod(), "spec": spec})
    of_template = await created(cluster, "deployments", templated(spec))

    assert (of_pod.body["spec"]["terminationGracePeriodSeconds"], of_pod.warnings) == (1, [])
    path, negative = "spec.template.spec.terminationGracePeriodSeconds", "negative values are invalid"
    assert of_template.body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == -1
    assert of_template.warnings == [f"{path}: must be >= 0; {negative} and will be treated as 1"]


async def test_an_update_of_a_pod_causes_no_warnings(cluster: Cluster) -> None:
    body = pod(**BETA)

    assert await applied(cluster, "pods", body) == [f"spec.nodeSelector[beta.kubernetes.io/os]: {BETA_OS}"]
    body["spec"]["containers"][0]["image"] = "app:2"
    assert await applied(cluster, "pods", body) == []


async def test_annotations_of_ingresses_and_claims_that_fields_have_replaced_cause_warnings(cluster: Cluster) -> None:
    annotation = "kubernetes.io/ingress.class"
    service = {"service": {"name": "s", "port": {"number": 80}}}
    metadata = {"name": "i", "annotations": {annotation: "x"}}
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata}
    storage = {"requests": {"storage": "1500m"}}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "annotations": {CLASS: "x"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": storage},
    }

    assert await applied(cluster, "ingresses", {**ingress, "spec": {"defaultBackend": service}}) == [
        f"annotation \"{annotation}\" is deprecated, please use 'spec.ingressClassName' instead"
    ]
    assert await applied(cluster, "persistentvolumeclaims", claim) == [
        f'metadata.annotations[{CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead',
        f"spec.resources.requests[storage]: {FRACTION}",
    ]
