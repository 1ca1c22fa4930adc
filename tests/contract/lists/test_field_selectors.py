"""Field selectors: the supported fields of each kind, escapes in values, and errors."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.errors import BadRequest
from tests.contract.cluster import Cluster
from tests.contract.objects import pod, structural, version

_NAMES = '"metadata.name", "metadata.namespace"'


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("metadata.name=b", "b"),
        ("metadata.name==b", "b"),
        ("metadata.name!=b", "acde"),
        ("metadata.name!=b,metadata.name!=c", "ade"),
        ("metadata.name=a,metadata.name=b", ""),
        ("metadata.name=b,", "b"),
        (",", "abcde"),
        ("metadata.name=", ""),
        ("metadata.name= b", ""),
        ("metadata.name=a\\,b", ""),
        ("metadata.name!=a\\=b\\\\c", "abcde"),
        ("metadata.namespace=nowhere", ""),
        ("metadata.namespace!=nowhere,metadata.name=c", "c"),
    ],
)
async def test_every_kind_can_be_selected_by_name_and_namespace(five: Cluster, selector: str, names: str) -> None:
    assert "".join(await five.names("configmaps", fieldSelector=selector)) == names


async def test_label_and_field_selectors_can_be_combined(five: Cluster) -> None:
    selectors = {"labelSelector": "tier=fe", "fieldSelector": "metadata.name!=c"}

    assert await five.names("configmaps", **selectors) == ["a", "e"]


async def test_the_selectable_fields_of_pods(cluster: Cluster) -> None:
    for name, node in (("a", "red"), ("b", "blue"), ("c", "blue")):
        await cluster.create("pods", pod(name, nodeName=node, restartPolicy="Never", schedulerName=f"s-{name}"))
    status = {"status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}}
    await cluster.patch("pods/status", "c", status)

    for selector, names in (
        ("spec.nodeName=blue", ["b", "c"]),
        ("spec.nodeName=blue,status.phase=Pending", ["b"]),
        ("status.phase!=Pending", ["c"]),
        ("status.podIP=10.0.0.1", ["c"]),
        ("spec.restartPolicy=Never,spec.schedulerName=s-a", ["a"]),
        ("status.nominatedNodeName=", ["a", "b", "c"]),
    ):
        assert await cluster.names("pods", fieldSelector=selector) == names, selector


@pytest.mark.since("1.30", "spec.hostNetwork was not supported")
async def test_the_values_of_a_boolean_field_are_true_and_false(cluster: Cluster) -> None:
    await cluster.create("pods", pod("a", hostNetwork=True))
    await cluster.create("pods", pod("b"))

    assert await cluster.names("pods", fieldSelector="spec.hostNetwork=true") == ["a"]
    assert await cluster.names("pods", fieldSelector="spec.hostNetwork=false") == ["b"]


async def test_the_selectable_fields_of_other_kinds(cluster: Cluster) -> None:
    event = {"involvedObject": {"kind": "Pod", "name": "p", "namespace": cluster.namespace}, "type": "Warning"}
    template = {**pod()["spec"], "restartPolicy": "Never"}
    labels = {"app": "r"}
    controller = {
        "metadata": {"name": "r"},
        "spec": {"template": {"metadata": {"labels": labels}, "spec": pod()["spec"]}},
    }
    event |= {"source": {"component": "kubelet"}}
    await cluster.create("events", {"metadata": {"name": "e"}, "reason": "Burnt", **event})
    await cluster.create("secrets", {"metadata": {"name": "s"}, "type": "example.com/mine"})
    await cluster.create("replicationcontrollers", controller)
    await cluster.create("jobs", {"metadata": {"name": "j"}, "spec": {"template": {"spec": template}}})

    for resource, selector, names in (
        ("events", "involvedObject.kind=Pod,reason=Burnt,type=Warning", ["e"]),
        ("events", "involvedObject.name=q", []),
        ("secrets", "type=example.com/mine", ["s"]),
        ("secrets", "type!=example.com/mine", []),
        ("events", "source=kubelet", ["e"]),
        ("replicationcontrollers", "status.replicas=0", ["r"]),
        ("replicationcontrollers", "status.replicas!=0", []),
        ("jobs", "status.successful=0", ["j"]),
    ):
        assert await cluster.names(resource, fieldSelector=selector) == names, selector


async def test_metadata_namespace_of_cluster_scoped_kinds_is_an_error_if_they_have_other_fields(
    cluster: Cluster,
) -> None:
    where = {"fieldSelector": "metadata.namespace=x"}

    assert await cluster.names("clusterroles", **where) == []
    with pytest.raises(BadRequest, match=r"field label not supported: metadata\.namespace"):
        await cluster.list_of("nodes", **where)


@pytest.mark.parametrize(
    ("resource", "path", "message"),
    [
        ("configmaps", "data.k", f'"data.k" is not a known field selector: only {_NAMES}'),
        ("configmaps", " metadata.name", f'" metadata.name" is not a known field selector: only {_NAMES}'),
        ("configmaps", "metadata.labels.a", f'"metadata.labels.a" is not a known field selector: only {_NAMES}'),
        ("deployments", "status.replicas", f'"status.replicas" is not a known field selector: only {_NAMES}'),
        ("pods", "spec.x", "field label not supported: spec.x"),
        ("nodes", "spec.podCIDR", "field label not supported: spec.podCIDR"),
        ("events", "action", "field label not supported: action"),
        ("secrets", "data", "field label not supported: data"),
        ("replicationcontrollers", "spec.replicas", "field label not supported: spec.replicas"),
    ],
)
async def test_an_unsupported_field_is_a_400(cluster: Cluster, resource: str, path: str, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        await cluster.list_of(resource, fieldSelector=f"{path}=v")

    assert caught.value.status.message == message


async def test_the_error_for_an_unsupported_field_of_jobs(cluster: Cluster) -> None:
    with pytest.raises(BadRequest) as caught:
        await cluster.list_of("jobs", fieldSelector="status.x=v")

    kind = "Job" if cluster.version >= (1, 22) else "batchv1.Job"
    assert caught.value.status.message == f'field label "status.x" not supported for {kind}'


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("a=b,metadata.name>b", "invalid selector: 'a=b,metadata.name>b'; can't understand 'metadata.name>b'"),
        ("metadata.name===b", "invalid field selector: unescaped character in value: 61"),
        ("metadata.name=b=c", "invalid field selector: unescaped character in value: 61"),
        ("metadata.name=b\\c", "invalid field selector: invalid escape sequence: \\c"),
        ("metadata.name=b\\", "invalid field selector: invalid escape sequence: \\"),
        ("metadata.name\\==b", f'"metadata.name\\\\" is not a known field selector: only {_NAMES}'),
    ],
)
async def test_an_invalid_selector_is_a_400(cluster: Cluster, selector: str, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        await cluster.list_of("configmaps", fieldSelector=selector)

    assert caught.value.status.message == message


async def test_without_selectable_fields_custom_resources_are_selected_only_by_name_and_namespace(
    cluster: Cluster,
) -> None:
    await cluster.create_crd()
    for name in "ab":
        await cluster.create("widgets", cluster.widget(name, spec={"color": "red"}))

    assert await cluster.names("widgets", fieldSelector="metadata.name=a") == ["a"]
    assert await cluster.names("widgets", fieldSelector="metadata.namespace=nowhere") == []
    with pytest.raises(BadRequest, match=r"field label not supported: spec\.color"):
        await cluster.list_of("widgets", fieldSelector="spec.color=red")


@pytest.mark.since("1.31", "selectableFields came with 1.30, and are enabled since 1.31")
async def test_custom_resources_can_be_selected_by_the_selectable_fields_of_their_crd(cluster: Cluster) -> None:
    schema = structural(color={"type": "string"}, size={"type": "integer"}, big={"type": "boolean"})
    selectable = [{"jsonPath": f".spec.{name}"} for name in ("color", "size", "big")]
    entry = version(schema=schema, selectableFields=selectable)
    await cluster.create_crd(cluster.crd(versions=[entry]))
    await cluster.create("widgets", cluster.widget("a", spec={"color": "red", "size": 3, "big": True}))
    await cluster.create("widgets", cluster.widget("b", spec={"size": 4}))

    for selector, names in (
        ("spec.color=red", ["a"]),
        ("spec.color!=red", ["b"]),
        ("spec.color=", ["b"]),
        ("spec.size=4", ["b"]),
        ("spec.big=true", ["a"]),
        ("spec.big=true,metadata.name=b", []),
    ):
        assert await cluster.names("widgets", fieldSelector=selector) == names, selector


@pytest.mark.since("1.31", "selectableFields came with 1.30, and are enabled since 1.31")
async def test_each_version_of_a_crd_has_its_own_selectable_fields(cluster: Cluster) -> None:
    fields: dict[str, Any] = {"color": {"type": "string"}, "size": {"type": "integer"}}
    old = version(schema=structural(**fields), selectableFields=[{"jsonPath": ".spec.color"}])
    schema = structural(**fields, more={"type": "string"})  # these may differ only if the schemas do
    new = version("v2", schema=schema, selectableFields=[{"jsonPath": ".spec.size"}], storage=False)
    await cluster.create_crd(cluster.crd(versions=[old, new]))
    await cluster.create("widgets", cluster.widget("a", spec={"color": "red", "size": 3}))

    assert await cluster.names("widgets.v1", fieldSelector="spec.color=red") == ["a"]
    assert await cluster.names("widgets.v2", fieldSelector="spec.size=3") == ["a"]
    with pytest.raises(BadRequest, match=r"field label not supported: spec\.color"):
        await cluster.names("widgets.v2", fieldSelector="spec.color=red")
