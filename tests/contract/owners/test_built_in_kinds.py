"""Built-in kinds: which lists and maps merge, by which keys, and which are atomic."""

from __future__ import annotations

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, owners, service, workload
from tests.contract.owners.kit import applied, field_sets, owned


def template(**spec: object) -> JSONObject:
    body = workload()
    body["spec"]["template"]["spec"] |= spec
    return body


def container(**fields: object) -> JSONObject:
    return template(containers=[{"name": "app", "image": "app:1", **fields}])


def in_template(obj: JSONObject, manager: str) -> JSONObject:
    found: JSONObject = owners(obj)[manager]["f:spec"]["f:template"]["f:spec"]
    return found


# Fields of a pod template, with their representation in fieldsV1: by path element of an item, or ``{}`` if atomic.
LISTS: dict[str, tuple[object, JSONObject]] = {
    "volumes": ([{"name": "v", "emptyDir": {}}], {'k:{"name":"v"}': {".": {}, "f:emptyDir": {}, "f:name": {}}}),
    "imagePullSecrets": ([{"name": "s"}], {'k:{"name":"s"}': {}}),
    "hostAliases": (
        [{"ip": "10.0.0.1", "hostnames": ["h"]}],
        {'k:{"ip":"10.0.0.1"}': {".": {}, "f:hostnames": {}, "f:ip": {}}},
    ),
    "topologySpreadConstraints": (
        [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}],
        {
            'k:{"topologyKey":"z","whenUnsatisfiable":"ScheduleAnyway"}': {
                ".": {},
                "f:labelSelector": {},
                "f:maxSkew": {},
                "f:topologyKey": {},
                "f:whenUnsatisfiable": {},
            }
        },
    ),
    "tolerations": ([{"key": "k", "operator": "Exists"}], {}),
    "nodeSelector": ({"a": "b"}, {}),
}


@pytest.mark.since("1.22", "object references and selectors were not atomic")
@pytest.mark.parametrize("field", LISTS)
async def test_lists_and_maps_of_a_pod_template_merge_or_are_atomic(cluster: Cluster, field: str) -> None:
    value, fields = LISTS[field]

    obj = await cluster.apply("deployments", template(**{field: value}), "me")

    assert in_template(obj, "me")[f"f:{field}"] == fields


@pytest.mark.parametrize(
    ("ports", "keys"),
    [
        ([{"containerPort": 80}], ["80,TCP"]),
        ([{"containerPort": 80, "protocol": "TCP"}], ["80,TCP"]),
        ([{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}], ["80,TCP", "80,UDP"]),
    ],
)
async def test_the_keys_of_container_ports_are_number_and_protocol(
    cluster: Cluster, ports: list[JSONObject], keys: list[str]
) -> None:
    obj = await cluster.apply("deployments", container(ports=ports), "me")

    mine = owned(obj)["me"]
    place = "template.spec.containers[app].ports"
    assert {f"{place}[{key}]" for key in keys} <= mine
    assert sum(field.startswith(place) and field.endswith("]") for field in mine) == len(keys)


async def test_a_port_that_is_no_longer_applied_is_removed(cluster: Cluster) -> None:
    await cluster.apply("deployments", container(ports=[{"containerPort": 80}, {"containerPort": 81}]), "me")

    obj = await cluster.apply("deployments", container(ports=[{"containerPort": 81}]), "me")

    (remaining,) = obj["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert remaining == {"containerPort": 81, "protocol": "TCP"}


@pytest.mark.parametrize(
    ("port", "key"),
    [
        pytest.param({"port": 80, "name": "a"}, "80,TCP", marks=pytest.mark.since("1.21", "the protocol was required")),
        ({"port": 80, "name": "a", "protocol": "TCP"}, "80,TCP"),
        ({"port": 80, "name": "a", "protocol": "UDP"}, "80,UDP"),
    ],
)
async def test_the_keys_of_service_ports_are_number_and_protocol(cluster: Cluster, port: JSONObject, key: str) -> None:
    obj = await cluster.apply("services", service(ports=[port]), "me")

    given = {f"ports[{key}].{field}" for field in port}
    assert owned(obj)["me"] == {f"ports[{key}]", *given}


@pytest.mark.since("1.21", "the protocol was required")
async def test_two_managers_can_own_different_ports(cluster: Cluster) -> None:
    await cluster.apply("services", service(ports=[{"port": 80, "name": "a"}]), "one")

    obj = await cluster.apply("services", service(ports=[{"port": 81, "name": "b", "targetPort": 8081}]), "two")

    assert [port["port"] for port in obj["spec"]["ports"]] == [80, 81]
    code, error = await applied(cluster, "services", service(ports=[{"port": 80, "name": "c"}]), "two")
    assert (code, error["details"]["causes"][0]["field"]) == (409, '.spec.ports[port=80,protocol="TCP"].name')


@pytest.mark.since("1.22", "selectors were not atomic")
async def test_a_selector_is_atomic(cluster: Cluster) -> None:
    await cluster.apply("services", service(selector={"a": "1"}), "one")

    code, error = await applied(cluster, "services", service(selector={"b": "1"}), "two")
    assert (code, error["details"]["causes"][0]["field"]) == (409, ".spec.selector")

    forced = await cluster.apply("services", service(selector={"b": "1"}), "two", force=True)
    assert forced["spec"]["selector"] == {"b": "1"}


async def test_arguments_are_atomic_and_the_environment_merges_by_name(cluster: Cluster) -> None:
    env = [{"name": "A", "value": "1"}]
    obj = await cluster.apply("deployments", container(args=["x", "x"], env=env), "me")

    mine = in_template(obj, "me")["f:containers"]['k:{"name":"app"}']
    assert mine["f:args"] == {}
    assert mine["f:env"] == {'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}}


@pytest.mark.since("1.29", "the name was required")
async def test_the_key_of_a_reference_without_a_name_is_the_empty_string(cluster: Cluster) -> None:
    obj = await cluster.apply("deployments", template(imagePullSecrets=[{}]), "me")

    assert in_template(obj, "me")["f:imagePullSecrets"] == {'k:{"name":""}': {}}


async def test_different_quantities_are_a_conflict(cluster: Cluster) -> None:
    await cluster.apply("deployments", container(resources={"limits": {"cpu": "1"}}), "one")

    code, error = await applied(cluster, "deployments", container(resources={"limits": {"cpu": "2"}}), "two")
    assert code == 409
    assert error["details"]["causes"][0]["field"].endswith(".resources.limits.cpu")


async def test_values_with_html_characters_can_be_applied(cluster: Cluster) -> None:
    obj = await cluster.apply("deployments", template(hostAliases=[{"ip": "10.0.0.1"}]), "me")
    assert "f:hostAliases" in in_template(obj, "me")

    labels = {"metadata": {"name": "a", "annotations": {"x": "<&>"}}}
    named = await cluster.apply("configmaps", {"apiVersion": "v1", "kind": "ConfigMap", **labels}, "me")
    assert owned(named, "metadata") == field_sets({"me": "annotations.x"})
