"""``extract`` returns the configuration that a manager has applied; it can be changed and applied again."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import extract, fields_of, owners
from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config, structural, version, workload

KEYED = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "zone"]}
ITEM = {"name": {"type": "string"}, "zone": {"type": "string", "default": "here"}, "size": {"type": "integer"}}
SCHEMA = structural(
    keyed=KEYED | {"items": {"type": "object", "required": ["name"], "properties": ITEM}},
    tags={"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    steps={"type": "array", "items": {"type": "string"}},
    whole={"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
    parts={"type": "object", "additionalProperties": {"type": "string"}},
    free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    none={"type": "string", "nullable": True},
)


def in_namespace(cluster: Cluster, obj: JSONObject) -> JSONObject:
    return {**obj, "metadata": {**obj["metadata"], "namespace": cluster.namespace}}


def deployment() -> JSONObject:
    """Return a Deployment with common fields, to whose lists and maps the server adds no defaults.

    Its lists are sorted by key, as old servers sort the lists that they merge.
    """
    container = {
        "name": "app",
        "image": "app:1",
        "args": ["--quiet", "--fast"],
        "ports": [{"containerPort": 53, "protocol": "UDP", "name": "dns"}, {"containerPort": 80, "protocol": "TCP"}],
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "resources": {"requests": {"cpu": "100m"}},
        "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],
    }
    pods = {
        "containers": [container],
        "volumes": [{"name": "scratch", "emptyDir": {"medium": "Memory"}}],
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "nodeSelector": {"disk": "ssd"},
    }
    template = {"metadata": {"labels": {"app": "d"}, "annotations": {"example.com/x": "1"}}, "spec": pods}
    return workload(template=template, replicas=2)


async def test_extract_returns_exactly_the_configuration_of_each_manager(cluster: Cluster) -> None:
    base = deployment()
    sidecar = {"name": "side", "image": "side:1"}
    more = {"name": "app", "env": [{"name": "C", "value": "3"}], "ports": [{"containerPort": 80, "protocol": "TCP"}]}
    mesh: JSONObject = {**base, "spec": {"template": {"spec": {"containers": [more, sidecar]}}}}
    mesh["metadata"] = {"name": "d", "labels": {"mesh": "on"}, "finalizers": ["example.com/mesh"]}
    scaler: JSONObject = {**base, "spec": {"replicas": 5}}

    await cluster.apply("deployments", base, "team")
    await cluster.apply("deployments", mesh, "mesh")
    live = await cluster.apply("deployments", scaler, "scaler", force=True)

    del base["spec"]["replicas"]  # scaler has taken it over by force
    for manager, obj in (("team", base), ("mesh", mesh), ("scaler", scaler)):
        assert extract(live, manager) == in_namespace(cluster, obj)


async def test_extract_from_a_custom_resource(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(schema=SCHEMA)]))
    spec = {
        "keyed": [{"name": "b", "size": 2}, {"name": "a", "zone": "there"}],
        "tags": ["y", "x"],
        "steps": ["one", "two", "one"],
        "whole": {"a": "1"},
        "parts": {"a.b/c": "1", "d": "2"},
        "free": {"deep": {"er": [{"a": 1}], "empty": {}}, "text": "<&>"},
    }
    other = {"keyed": [{"name": "b", "zone": "there", "size": 3}], "tags": ["z"], "parts": {"e": "3"}, "free": {"x": 1}}

    await cluster.apply("widgets", cluster.widget(spec=spec), "one")
    live = await cluster.apply("widgets", cluster.widget(spec=other), "two")

    assert extract(live, "one") == in_namespace(cluster, cluster.widget(spec=spec))
    assert extract(live, "two") == in_namespace(cluster, cluster.widget(spec=other))


async def test_extract_from_a_custom_resource_without_a_schema(cluster: Cluster) -> None:
    await cluster.create_crd()
    spec = {"list": [{"name": "a"}, 1, None], "map": {"a": {"b": [], "c": {}}}, "off": False}

    live = await cluster.apply("widgets", cluster.widget(spec=spec), "one")
    live = await cluster.apply("widgets", cluster.widget(spec={"map": {"a": {"d": "x"}}}), "two")

    assert extract(live, "one") == in_namespace(cluster, cluster.widget(spec=spec))


async def test_applying_an_extracted_configuration_writes_nothing(cluster: Cluster) -> None:
    base = deployment()
    await cluster.apply("deployments", base, "team")
    live = await cluster.apply("deployments", {**base, "spec": {"replicas": 2}}, "scaler")

    for manager in ("team", "scaler"):
        again = await cluster.apply("deployments", extract(live, manager).to_dict(), manager)

        assert again["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]
        assert again["metadata"]["managedFields"] == live["metadata"]["managedFields"]


async def test_applying_an_extracted_configuration_removes_and_adds_fields(cluster: Cluster) -> None:
    await cluster.apply("configmaps", {**config(), "data": {"a": "1", "b": "2"}}, "one")
    live = await cluster.apply("configmaps", {**config(), "data": {"c": "3"}}, "two")

    mine = extract(live, "one").to_dict()
    del mine["data"]["a"]
    mine["data"]["d"] = "4"
    changed = await cluster.apply("configmaps", mine, "one")

    assert changed["data"] == {"b": "2", "c": "3", "d": "4"}
    assert list(map(str, fields_of(changed, "one"))) == [".data.b", ".data.d"]


@pytest.mark.since("1.22", "entries did not have a subresource")
async def test_extract_separates_the_configurations_of_subresources(cluster: Cluster) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(subresources={"status": {}})]))
    await cluster.apply("widgets", cluster.widget(spec={"a": 1}), "one")
    live = await cluster.apply("widgets/status", cluster.widget(status={"ready": True}), "one")

    assert extract(live, "one") == in_namespace(cluster, cluster.widget(spec={"a": 1}))
    through: Any = extract(live, "one", subresource="status")
    assert through == in_namespace(cluster, cluster.widget(status={"ready": True}))


async def test_an_empty_map_is_extracted_as_empty_if_others_have_filled_it(cluster: Cluster) -> None:
    await cluster.create_crd()
    mine: JSONObject = {"a": {}, "b": {"c": {}}}
    theirs: JSONObject = {"a": {"x": 1}, "b": {"c": {"y": 2}}}

    await cluster.apply("widgets", cluster.widget(spec=mine), "one")
    live = await cluster.apply("widgets", cluster.widget(spec=theirs), "two")

    assert extract(live, "one") == in_namespace(cluster, cluster.widget(spec=mine))


async def test_owners_lists_the_managers_of_each_field(cluster: Cluster) -> None:
    labels = {"app.kubernetes.io/name": "shop"}
    await cluster.apply("configmaps", {**config(labels=labels), "data": {"a": "1"}}, "one")
    live = await cluster.apply("configmaps", {**config(), "data": {"a": "1"}}, "two")
    live = await cluster.patch("configmaps", "a", {"data": {"b": "2"}}, params={"fieldManager": "three"})

    found = {str(path): {manager.name for manager in managers} for path, managers in owners(live).items()}
    assert found == {
        ".data.a": {"one", "two"},
        ".data.b": {"three"},
        '.metadata.labels["app.kubernetes.io/name"]': {"one"},
    }
