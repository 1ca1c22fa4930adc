"""Validation of services, including immutable fields."""

from __future__ import annotations

import ipaddress

from dynkube_testing._builtin import checks
from dynkube_testing._builtin.fields import IMMUTABLE, Field
from dynkube_testing._builtin.typechecks import Table
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming

TRAFFIC_POLICIES = ("Cluster", "Local")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_ONE_DAY = 86400
_ONLY_LOAD_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
_UNCHANGEABLE = "may not change once set"


def is_headless(spec: JSONObject) -> bool:
    """Return whether a service is headless (its cluster IP is ``None``)."""
    return list(spec.get("clusterIPs") or ()) == ["None"]


def is_reachable(spec: JSONObject) -> bool:
    """Return whether a service can be reached from outside the cluster."""
    kind = spec["type"]
    return kind in {"LoadBalancer", "NodePort"} or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def _check_type(spec: Field) -> None:
    kind, headless = spec.get("type"), is_headless(spec.value)
    if not spec.get("ports") and not headless and kind != "ExternalName":
        spec.at("ports").required()
    if kind in {"LoadBalancer", "NodePort"} and headless:
        spec.at("clusterIPs").item(0).invalid(f"may not be set to 'None' for {kind} services", "None")
    if kind == "ExternalName":
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name):
                spec.at(name).forbidden("may not be set for ExternalName services")
        external = spec.at("externalName")
        if host := (external.value or "").removesuffix("."):
            checks.subdomain(external.with_value(host))
        else:
            external.required()


def _check_port_name(port: Field) -> None:
    name, service = port.at("name"), port.owner
    if name.value:
        checks.label(name)
        checks.unique("name")(port)
    elif service is not None and len(service.get("ports")) > 1:
        name.required()


def _check_affinity(spec: Field) -> None:
    if spec.get("sessionAffinity") == "ClientIP":
        seconds = spec.at("sessionAffinityConfig", "clientIP", "timeoutSeconds")
        checks.between(1, _ONE_DAY, f"must be greater than 0 and less than {_ONE_DAY}")(seconds)


def check_addresses(spec: Field) -> None:
    """Validate the cluster IPs and their families."""
    if spec.get("type") == "ExternalName":
        return
    addresses, families = spec.at("clusterIPs"), spec.at("ipFamilies")
    own: list[str] = addresses.value or []
    first = spec.get("clusterIP") or ""
    if first and not own:
        addresses.required()
    elif first and own[0] != first:
        addresses.invalid("first value must match `clusterIP`", own)
    elif own and not first:
        addresses.invalid("must be empty when `clusterIP` is not specified", own)
    for index, family in enumerate(families.value or ()):
        families.item(index).one_of(_FAMILIES)
        if family in families.value[:index]:
            families.item(index).duplicate()
    if spec.get("ipFamilyPolicy") is not None:
        spec.at("ipFamilyPolicy").one_of(_FAMILY_POLICIES)
    if _check_each(addresses):
        _check_together(addresses, families.value or [])


def _check_each(addresses: Field) -> bool:
    """Validate each cluster IP; return whether all are valid."""
    own, wrong = addresses.value or [], False
    for index, address in enumerate(own):
        if index == 0 and address == "None":
            if len(own) > 1:
                addresses.invalid("'None' must be the first and only value")
                wrong = True
        elif not checks.is_address(address):
            addresses.item(index).invalid(checks.NO_ADDRESS)
            wrong = True
    if len(own) > 2:
        addresses.invalid("may only hold up to 2 values")
    return not wrong


def _check_together(addresses: Field, families: list[str]) -> None:
    if addresses.value == ["None"]:
        return
    own = [family_of(address) for address in addresses.value or ()]
    if len(own) > 1 and set(own) != set(_FAMILIES):
        addresses.invalid("may specify no more than one IP for each IP family")
    for index, (actual, family) in enumerate(zip(own, families, strict=False)):
        if family in _FAMILIES and family != actual:
            addresses.item(index).invalid(f"expected an {family} value as indicated by `ipFamilies[{index}]`")


def family_of(address: str) -> str:
    """Return the IP family of ``address``: ``IPv4`` or ``IPv6``."""
    return f"IPv{ipaddress.ip_address(address).version}"


def _check_external(field: Field) -> None:
    checks.address(field)
    if not checks.is_address(text := field.value):
        return
    address = ipaddress.ip_address(text)
    if address.is_unspecified:
        field.invalid(f"may not be unspecified ({text})")
    if address.is_loopback:
        field.invalid("may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        field.invalid("may not be in the link-local range (169.254.0.0/16, fe80::/10)")


def _check_twice(port: Field) -> None:
    key = (port.get("protocol"), port.get("port") or 0)
    if any((other.get("protocol"), other.get("port") or 0) == key for other in port.earlier()):
        own = {"Name": "", "Protocol": key[0], "AppProtocol": None, "Port": key[1], "TargetPort": 0, "NodePort": 0}
        port.duplicate(own)


def _check_node_ports(spec: Field) -> None:
    asked = [port for port in spec.each("ports") if port.get("nodePort")]
    for port in asked if spec.get("type") == "ClusterIP" else ():
        port.at("nodePort").forbidden("may not be used when `type` is 'ClusterIP'")
    for port in asked:
        key = (port.get("protocol"), port.get("nodePort"))
        if any((other.get("protocol"), other.get("nodePort")) == key for other in port.earlier()):
            port.at("nodePort").duplicate()
    for port in spec.each("ports"):
        _check_twice(port)
    balanced = spec.at("allocateLoadBalancerNodePorts")
    if balanced.value is not None and spec.get("type") != "LoadBalancer":
        balanced.forbidden(_ONLY_LOAD_BALANCERS)


def _check_class(spec: Field) -> None:
    name = spec.at("loadBalancerClass")
    if name.value is None:
        return
    if spec.get("type") != "LoadBalancer":
        name.forbidden(_ONLY_LOAD_BALANCERS)
        return
    for problem in naming.qualified_name_problems(name.value):
        name.invalid(problem)


def _check_traffic(spec: Field) -> None:
    policy, port = spec.at("externalTrafficPolicy"), spec.at("healthCheckNodePort")
    if is_reachable(spec.value):
        policy.one_of(TRAFFIC_POLICIES)
    elif policy.value:
        policy.invalid("may only be set for externally-accessible services")
    if needs_health_check(spec.value):
        if port.value:
            checks.port(port)
        else:
            port.required()
    elif port.value:
        port.invalid("may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'")


def needs_health_check(spec: JSONObject) -> bool:
    """Return whether the service needs a health check port.

    Load balancers use it to find the nodes that have an endpoint.
    """
    return spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _check_ingress(service: Field) -> None:
    ingress = service.at("status", "loadBalancer", "ingress")
    if service.get("spec", "type") != "LoadBalancer" and ingress.value:
        ingress.forbidden("may only be used when `spec.type` is 'LoadBalancer'")
    else:
        ingress.check()


def _check_ingress_address(ingress: Field) -> None:
    address, mode, host = (ingress.at(name) for name in ("ip", "ipMode", "hostname"))
    if address.value:
        checks.address(address)
    if mode.value is not None and not address.value:
        mode.forbidden("may not be specified when `ip` is not set")
    elif mode.value is not None:
        mode.one_of(("Proxy", "VIP"))
    if host.value:
        checks.subdomain(host)
        if checks.is_address(host.value):
            host.invalid("must be a DNS name, not an IP address")


CHECKS: Table = {
    "core.v1.Service": ("spec", _check_ingress),
    "core.v1.ServiceSpec": (
        _check_type,
        "ports",
        ("selector", checks.labels),
        ("sessionAffinity", checks.one_of("ClientIP", "None")),
        _check_affinity,
        check_addresses,
        ("externalIPs[]", _check_external),
        ("type", checks.one_of(*_TYPES)),
        _check_node_ports,
        _check_class,
        _check_traffic,
        ("internalTrafficPolicy?", checks.one_of(*TRAFFIC_POLICIES)),
        ("trafficDistribution?", checks.one_of("PreferClose", "PreferSameZone", "PreferSameNode")),
    ),
    "core.v1.ServicePort": (
        _check_port_name,
        ("port", checks.port),
        ("protocol", checks.one_of(*checks.PROTOCOLS)),
        ("targetPort", checks.port_or_name),
        ("appProtocol", checks.key),
    ),
    "core.v1.LoadBalancerIngress": (_check_ingress_address,),
}

# ── changes ───────────────────────────────────────────────────────────────────────────────────


def check_change(service: Field, old: JSONObject) -> None:
    """Check fields of a service that are immutable as long as its type is unchanged."""
    spec, before = service.at("spec"), old["spec"]
    if "ExternalName" not in {spec.get("type"), before["type"]}:
        _check_address_change(spec.at("clusterIPs"), before)
        if not is_headless(spec.value) and not is_headless(before):
            _check_family_change(spec, before)
    name = spec.at("loadBalancerClass")
    if spec.get("type") == before["type"] == "LoadBalancer":
        name.immutable(before.get("loadBalancerClass"), _UNCHANGEABLE)
    _check_class(spec)
    port, both = spec.at("healthCheckNodePort"), needs_health_check(spec.value) and needs_health_check(before)
    if both and port.value != before.get("healthCheckNodePort"):
        port.forbidden(IMMUTABLE)


def _check_address_change(addresses: Field, before: JSONObject) -> None:
    new, old = addresses.value or [], before.get("clusterIPs") or []
    first = addresses.renamed(f"{addresses.path}[0]")
    if len(new) == len(old):
        for index, address in enumerate(old):
            if new[index] != address:
                addresses.item(index).invalid(_UNCHANGEABLE, new)
    elif not new:
        first.invalid("primary clusterIP can not be unset", None)
    elif old and new[0] != old[0]:
        first.invalid(_UNCHANGEABLE)


def _check_family_change(spec: Field, before: JSONObject) -> None:
    new, old = spec.get("ipFamilies") or [], before.get("ipFamilies") or []
    first = spec.at("ipFamilies").renamed("spec.ipFamilies[0]")
    if len(new) == len(old):
        for index, family in enumerate(old):
            if new[index] != family:
                first.invalid(_UNCHANGEABLE)
    elif new and old and new[0] != old[0]:
        first.invalid(_UNCHANGEABLE, spec.get("clusterIPs"))
