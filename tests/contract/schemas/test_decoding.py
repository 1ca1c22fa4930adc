"""Objects that Go cannot decode into its types: a 400 with the decoder's message, as in kube-apiserver 1.36."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dynkube.errors import BadRequest, Invalid, ServerError
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config
from tests.contract.schemas.kit import STRING, Fields

pytestmark = pytest.mark.since("1.25", "the decoder was another one with other messages")

SCHEMAS = [STRING]


def deployment(container: JSONObject, **spec: Any) -> JSONObject:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i", **container}]}}
    return {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}}


CONTAINER = "Container.spec.template.spec.containers"
QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            deployment({}, replicas="x"),
            "cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            deployment({}, replicas=1.5),
            "cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (deployment({"image": 1}), f"cannot unmarshal number into Go struct field {CONTAINER}.image of type string"),
        (
            deployment({"ports": {}}),
            f"cannot unmarshal object into Go struct field {CONTAINER}.ports of type []v1.ContainerPort",
        ),
        (
            deployment({"ports": [3]}),
            f"cannot unmarshal number into Go struct field {CONTAINER}.ports of type v1.ContainerPort",
        ),
        (deployment({"tty": "yes"}), f"cannot unmarshal string into Go struct field {CONTAINER}.tty of type bool"),
    ],
)
async def test_the_error_for_a_value_of_another_type_has_its_field_and_gos_types(
    cluster: Cluster, body: JSONObject, message: str
) -> None:
    with pytest.raises(BadRequest) as caught:
        await cluster.create("deployments", body)

    prefix = 'Deployment in version "v1" cannot be handled as a Deployment: json: '
    assert caught.value.status.message == prefix + message


@pytest.mark.parametrize(
    ("resource", "body", "message"),
    [
        (
            "configmaps",
            {"data": []},
            "json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string",
        ),
        (
            "configmaps",
            {"data": {"a": 1}},
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        ("configmaps", {"binaryData": {"a": "!!"}}, "illegal base64 data at input byte 0"),
        ("pods", {"spec": "x"}, "json: cannot unmarshal string into Go struct field Pod.spec of type v1.PodSpec"),
        (
            "pods",
            {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "abc"}}}]}},
            QUANTITY,
        ),
        (
            "services",
            {"spec": {"ports": [{"port": 99999999999}]}},
            "json: cannot unmarshal number 99999999999 into Go struct field ServicePort.spec.ports.port of type int32",
        ),
        (
            "services",
            {"spec": {"ports": [{"port": 80, "targetPort": True}]}},
            "json: cannot unmarshal bool into Go struct field ServicePort.spec.ports.targetPort of type int32",
        ),
        (
            "configmaps",
            {"metadata": {"name": "a", "creationTimestamp": "x"}},
            'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
        ),
    ],
)
async def test_go_types_with_their_own_decoder_have_their_own_messages(
    cluster: Cluster, resource: str, body: JSONObject, message: str
) -> None:
    with pytest.raises(BadRequest) as caught:
        await cluster.create(resource, {"metadata": {"name": "a"}, **body})

    assert caught.value.status.message.partition(": ")[2] == message


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"labels": {"a": 1}}, "cannot unmarshal number into Go struct field ObjectMeta.labels of type string"),
        ({"finalizers": "x"}, "cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string"),
        ({"generation": "x"}, "cannot unmarshal string into Go struct field ObjectMeta.generation of type int64"),
        (
            {"ownerReferences": [{"uid": 1}]},
            "cannot unmarshal number into Go struct field OwnerReference.ownerReferences.uid of type types.UID",
        ),
        ("x", "cannot unmarshal string into Go value of type v1.ObjectMeta"),
    ],
)
async def test_the_metadata_of_custom_resources_is_decoded_into_go_types(
    widgets: Fields, metadata: Any, message: str
) -> None:
    cluster = widgets.cluster
    given = {"name": "w", **metadata} if isinstance(metadata, dict) else metadata

    with pytest.raises(BadRequest) as caught:
        await cluster.create("widgets", {**cluster.widget(), "metadata": given})

    assert caught.value.status.message == f'Widget in version "v1" cannot be handled as a Widget: json: {message}'


async def test_a_patch_with_such_a_result_is_a_422(cluster: Cluster) -> None:
    await cluster.create("configmaps", config())

    with pytest.raises(Invalid) as caught:
        await cluster.patch("configmaps", "a", {"data": {"k": 1}})

    message = "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    assert caught.value.status.message.startswith(' "" is invalid: patch: Invalid value: "{')
    assert caught.value.status.message.endswith(f": {message}")


async def test_a_custom_resource_of_another_kind_is_invalid(widgets: Fields) -> None:
    cluster = widgets.cluster

    message = f'Gadget.{cluster.group} "w" is invalid: kind: Invalid value: "Gadget": must be Widget'
    with pytest.raises(Invalid, match=re.escape(message)):
        await cluster.create("widgets", {**cluster.widget(), "kind": "Gadget"})


async def test_an_object_over_the_size_limit_of_etcd_is_an_error(cluster: Cluster) -> None:
    revision = {"metadata": {"name": "a"}, "revision": 1, "data": {"k": "x" * 1_600_000}}

    with pytest.raises(ServerError, match="etcdserver: request is too large"):
        await cluster.create("controllerrevisions", revision)

    assert await cluster.names("controllerrevisions") == []
