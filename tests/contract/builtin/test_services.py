"""Services: unique addresses and node ports, and the fields of each type."""

from __future__ import annotations

import pytest

from dynkube.errors import APIError, Invalid, NotFound, ServerError
from tests.contract.cluster import MERGE, Cluster
from tests.contract.objects import JSONObject, owners, service


def _causes(error: APIError) -> list[tuple[str, str]]:
    return [(cause.field, cause.message) for cause in error.status.causes]


async def test_an_address_that_is_in_use_is_an_error(cluster: Cluster) -> None:
    address = (await cluster.create("services", service("a")))["spec"]["clusterIP"]

    with pytest.raises(Invalid) as caught:
        await cluster.create("services", service("b", clusterIP=address))

    (cause,) = caught.value.status.causes
    assert cause.field == "spec.clusterIPs"
    assert address in cause.message
    assert cause.message.endswith("provided IP is already allocated")


async def test_an_address_outside_of_the_service_network_is_an_error(cluster: Cluster) -> None:
    with pytest.raises(Invalid) as caught:
        await cluster.create("services", service(clusterIP="192.0.2.1"))

    ((field, message),) = _causes(caught.value)
    assert (field, "192.0.2.1" in message) == ("spec.clusterIPs", True)
    old = "provided IP is not in the valid range. The range of valid IPs is"
    since = (1, 33)  # since then a ServiceCIDR can be added
    assert ("the provided network does not match the current range" if cluster.version >= since else old) in message


async def test_a_node_port_that_is_in_use_is_an_error(cluster: Cluster) -> None:
    first = await cluster.create("services", service("a", type="NodePort"))
    taken = first["spec"]["ports"][0]["nodePort"]

    with pytest.raises(Invalid) as caught:
        await cluster.create("services", service("b", type="NodePort", ports=[{"port": 80, "nodePort": taken}]))

    message = f"Invalid value: {taken}: provided port is already allocated"
    assert _causes(caught.value) == [("spec.ports[0].nodePort", message)]


async def test_a_node_port_outside_of_the_range_is_an_error(cluster: Cluster) -> None:
    with pytest.raises(Invalid, match="The range of valid ports is 30000-32767"):
        await cluster.create("services", service(type="NodePort", ports=[{"port": 80, "nodePort": 80}]))


@pytest.mark.since("1.25", "validation came first")
async def test_node_ports_are_allocated_before_validation(cluster: Cluster) -> None:
    with pytest.raises(Invalid) as caught:
        await cluster.create("services", service(type="NodePort", ports=[{"port": 0, "nodePort": 80}]))

    assert [field for field, _ in _causes(caught.value)] == ["spec.ports[0].nodePort"]


async def test_one_port_with_two_protocols_gets_one_node_port(cluster: Cluster) -> None:
    ports = [{"port": 53, "name": "t"}, {"port": 53, "name": "u", "protocol": "UDP"}]

    created = await cluster.create("services", service(type="NodePort", ports=ports))

    assert len({port["nodePort"] for port in created["spec"]["ports"]}) == 1


@pytest.mark.since("1.25", "other node ports were allocated")
async def test_a_port_keeps_its_node_port_by_name(cluster: Cluster) -> None:
    ports = [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]
    before = (await cluster.create("services", service(type="NodePort", ports=ports)))["spec"]["ports"]

    after = await cluster.patch("services", "s", {"spec": {"ports": [{"port": 90, "name": "b"}]}})

    assert after["spec"]["ports"][0]["nodePort"] == before[1]["nodePort"]


@pytest.mark.since("1.25", "fields of a former type stayed")
async def test_a_change_of_type_removes_the_fields_of_the_former_type(cluster: Cluster) -> None:
    local = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "loadBalancerClass": "e.com/x"}
    created = await cluster.create("services", service(**local))

    plain = await cluster.patch("services", "s", {"spec": {"type": "ClusterIP"}})

    assert {"healthCheckNodePort", "allocateLoadBalancerNodePorts"} <= created["spec"].keys()
    gone = {"healthCheckNodePort", "allocateLoadBalancerNodePorts", "loadBalancerClass", "externalTrafficPolicy"}
    assert not gone & plain["spec"].keys()
    assert "nodePort" not in plain["spec"]["ports"][0]
    assert plain["spec"]["clusterIP"] == created["spec"]["clusterIP"]


@pytest.mark.since("1.25", "fields of a former type stayed")
async def test_an_external_name_has_no_address(cluster: Cluster) -> None:
    await cluster.create("services", service())

    named = await cluster.patch("services", "s", {"spec": {"type": "ExternalName", "externalName": "example.com"}})

    gone = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"}
    assert not gone & named["spec"].keys()


async def test_a_health_check_node_port_that_is_in_use_is_an_error(cluster: Cluster) -> None:
    first = await cluster.create("services", service("a", type="NodePort"))
    taken = first["spec"]["ports"][0]["nodePort"]
    local = {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": taken}

    with pytest.raises(ServerError, match=f"failed to allocate requested HealthCheck NodePort {taken}: "):
        await cluster.create("services", service("b", **local))


_SEVERAL = "must be 'RequireDualStack' or 'PreferDualStack'"
_FAMILIES: dict[str, tuple[JSONObject, str, str]] = {
    "two families": (
        {"ipFamilyPolicy": "RequireDualStack"},
        "spec.ipFamilyPolicy",
        'Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
    ),
    "another family": (
        {"ipFamilies": ["IPv6"]},
        "spec.ipFamilies[0]",
        'Invalid value: "IPv6": not configured on this cluster',
    ),
    "a duplicate family": ({"ipFamilies": ["IPv4", "IPv4"]}, "spec.ipFamilies[1]", 'Duplicate value: "IPv4"'),
    "two families with SingleStack": (
        {"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "SingleStack"},
        "spec.ipFamilyPolicy",
        f'Invalid value: "SingleStack": {_SEVERAL} when multiple IP families are specified',
    ),
    "an address of another family": (
        {"clusterIP": "10.96.0.99", "ipFamilies": ["IPv6"]},
        "spec.clusterIPs[0]",
        'Invalid value: "10.96.0.99": expected an IPv6 value as indicated by `ipFamilies[0]`',
    ),
}


@pytest.mark.since("1.25", "services had one IP family")
@pytest.mark.parametrize("case", _FAMILIES)
async def test_ip_families_that_the_cluster_lacks_are_an_error(cluster: Cluster, case: str) -> None:
    spec, field, message = _FAMILIES[case]

    with pytest.raises(Invalid) as caught:
        await cluster.create("services", service(**spec))

    assert _causes(caught.value) == [(field, message)]


@pytest.mark.since("1.25", "services had one IP family")
async def test_a_headless_service_without_selector_has_both_ip_families(cluster: Cluster) -> None:
    created = await cluster.create("services", service(clusterIP="None"))

    assert created["spec"]["ipFamilies"] == ["IPv4", "IPv6"]
    assert created["spec"]["ipFamilyPolicy"] == "RequireDualStack"


_WARNINGS: dict[str, tuple[JSONObject, str]] = {
    "external name": (
        {"externalName": "example.com"},
        'spec.externalName is ignored when spec.type is not "ExternalName"',
    ),
    "external address": (
        {"externalIPs": ["192.0.2.1"]},
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    ),
    "external address of a headless service": (
        {"externalIPs": ["192.0.2.1"], "clusterIP": "None"},
        "spec.externalIPs is ignored for headless services",
    ),
    "session affinity of a headless service": (
        {"sessionAffinity": "ClientIP", "clusterIP": "None"},
        "spec.SessionAffinity is ignored for headless services",
    ),
}


@pytest.mark.since("1.36", "some of these warnings are new")
@pytest.mark.parametrize("case", _WARNINGS)
async def test_fields_without_effect_cause_a_warning(cluster: Cluster, case: str) -> None:
    spec, warning = _WARNINGS[case]

    response = await cluster.call("POST", cluster.path("services"), body=service(**spec))

    assert (response.code, response.warnings) == (201, [warning])


@pytest.mark.since("1.25", "the status was not validated")
async def test_only_load_balancers_may_have_an_address_in_their_status(cluster: Cluster) -> None:
    await cluster.create("services", service())
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}

    with pytest.raises(Invalid, match=r"may only be used when `spec\.type` is 'LoadBalancer'"):
        await cluster.patch("services/status", "s", status)

    await cluster.patch("services", "s", {"spec": {"type": "LoadBalancer"}})
    written = await cluster.patch("services/status", "s", status)
    assert written["status"]["loadBalancer"]["ingress"] == [{"ip": "192.0.2.7", "ipMode": "VIP"}]


@pytest.mark.since("1.25", "managedFields had fields that the status does not write")
async def test_writing_the_status_of_a_missing_service_creates_it_without_an_address(cluster: Cluster) -> None:
    body = service("a")
    body["metadata"]["labels"] = {"x": "y"}
    updated = await cluster.update("services/status", body)
    applied = await cluster.apply("services/status", service("b"), "m")

    with pytest.raises(NotFound):
        await cluster.patch("services/status", "c", {"status": {}}, MERGE)

    assert not {"clusterIP", "clusterIPs", "ipFamilyPolicy"} & (updated["spec"].keys() | applied["spec"].keys())
    assert [*owners(updated).values()] == [{"f:metadata": {"f:labels": {".": {}, "f:x": {}}}}]
    assert applied["spec"]["ports"][0]["targetPort"] == 80
