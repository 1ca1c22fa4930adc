"""Validation of services, including immutable fields."""

from __future__ import annotations

import ipaddress

from dynkube_testing._builtin.findings import IMMUTABLE, BuiltinFindings, indexed, items
from dynkube_testing._builtin.pairs import NO_ADDRESS, is_address
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming

TRAFFIC_POLICIES = ("Cluster", "Local")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_DISTRIBUTIONS = ("PreferClose", "PreferSameZone", "PreferSameNode")
_ONE_DAY = 86400
_ONLY_LOAD_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
_UNCHANGEABLE = "may not change once set"


def check(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    """Validate a service; causes are in the order of the real server."""
    spec = obj["spec"]
    _check_type(findings, spec)
    _check_ports(findings, spec)
    findings.labels("spec.selector", spec.get("selector"))
    _check_affinity(findings, spec)
    check_addresses(findings, spec)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        _check_external(findings, f"spec.externalIPs[{index}]", address)
    findings.one_of("spec.type", spec["type"], _TYPES)
    _check_node_ports(findings, spec)
    _check_twice(findings, spec)
    if spec.get("allocateLoadBalancerNodePorts") is not None and spec["type"] != "LoadBalancer":
        findings.forbidden("spec.allocateLoadBalancerNodePorts", _ONLY_LOAD_BALANCERS)
    _check_class(findings, spec)
    _check_traffic(findings, spec)
    _check_ingress(findings, spec, obj.get("status") or {})


def is_headless(spec: JSONObject) -> bool:
    """Return whether a service is headless (its cluster IP is ``None``)."""
    return list(spec.get("clusterIPs") or ()) == ["None"]


def is_reachable(spec: JSONObject) -> bool:
    """Return whether a service can be reached from outside the cluster."""
    kind = spec["type"]
    return kind in {"LoadBalancer", "NodePort"} or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def _check_type(findings: BuiltinFindings, spec: JSONObject) -> None:
    kind, headless = spec["type"], is_headless(spec)
    if not spec.get("ports") and not headless and kind != "ExternalName":
        findings.required("spec.ports")
    if kind in {"LoadBalancer", "NodePort"} and headless:
        findings.invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(field):
                findings.forbidden(f"spec.{field}", "may not be set for ExternalName services")
        if name := spec.get("externalName", "").removesuffix("."):
            findings.text("spec.externalName", naming.subdomain_problem(name), name)
        else:
            findings.required("spec.externalName")


def _check_ports(findings: BuiltinFindings, spec: JSONObject) -> None:
    several, names = len(items(spec, "ports")) > 1, set()
    for at, port in indexed(spec, "spec", "ports"):
        if name := port.get("name"):
            findings.text(f"{at}.name", naming.label_problem(name), name)
            if name in names:
                findings.duplicate(f"{at}.name", name)
            names.add(name)
        elif several:
            findings.required(f"{at}.name")
        findings.port(f"{at}.port", port.get("port", 0))
        findings.one_of(f"{at}.protocol", port["protocol"], _PROTOCOLS)
        findings.port_or_name(f"{at}.targetPort", port["targetPort"])
        if (protocol := port.get("appProtocol")) is not None:
            findings.text(f"{at}.appProtocol", naming.qualified_name_problem(protocol), protocol)


def _check_affinity(findings: BuiltinFindings, spec: JSONObject) -> None:
    findings.one_of("spec.sessionAffinity", spec["sessionAffinity"], ("ClientIP", "None"))
    if spec["sessionAffinity"] == "ClientIP":
        seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"]
        if not 0 < seconds <= _ONE_DAY:
            field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds"
            findings.invalid(field, seconds, f"must be greater than 0 and less than {_ONE_DAY}")


def check_addresses(findings: BuiltinFindings, spec: JSONObject) -> None:
    """Validate the cluster IPs and their families."""
    if spec["type"] == "ExternalName":
        return
    addresses, families = list(spec.get("clusterIPs") or ()), list(spec.get("ipFamilies") or ())
    first = spec.get("clusterIP") or ""
    if first and not addresses:
        findings.required("spec.clusterIPs")
    elif first and addresses[0] != first:
        findings.invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`")
    elif addresses and not first:
        findings.invalid("spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified")
    for index, family in enumerate(families):
        findings.one_of(f"spec.ipFamilies[{index}]", family, _FAMILIES)
        if family in families[:index]:
            findings.duplicate(f"spec.ipFamilies[{index}]", family)
    if (policy := spec.get("ipFamilyPolicy")) is not None:
        findings.one_of("spec.ipFamilyPolicy", policy, _FAMILY_POLICIES)
    if _check_each(findings, addresses):
        _check_together(findings, addresses, families)


def _check_each(findings: BuiltinFindings, addresses: list[str]) -> bool:
    """Validate each cluster IP; return whether all are valid."""
    wrong = False
    for index, address in enumerate(addresses):
        if index == 0 and address == "None":
            if len(addresses) > 1:
                findings.invalid("spec.clusterIPs", addresses, "'None' must be the first and only value")
                wrong = True
        elif not is_address(address):
            findings.invalid(f"spec.clusterIPs[{index}]", address, NO_ADDRESS)
            wrong = True
    if len(addresses) > 2:
        findings.invalid("spec.clusterIPs", addresses, "may only hold up to 2 values")
    return not wrong


def _check_together(findings: BuiltinFindings, addresses: list[str], families: list[str]) -> None:
    if addresses == ["None"]:
        return
    own = [family_of(address) for address in addresses]
    if len(own) > 1 and set(own) != set(_FAMILIES):
        findings.invalid("spec.clusterIPs", addresses, "may specify no more than one IP for each IP family")
    for index, (address, actual, family) in enumerate(zip(addresses, own, families, strict=False)):
        if family in _FAMILIES and family != actual:
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            findings.invalid(f"spec.clusterIPs[{index}]", address, detail)


def family_of(address: str) -> str:
    """Return the IP family of ``address``: ``IPv4`` or ``IPv6``."""
    return f"IPv{ipaddress.ip_address(address).version}"


def _check_external(findings: BuiltinFindings, field: str, text: str) -> None:
    if not is_address(text):
        findings.invalid(field, text, NO_ADDRESS)
        return
    address = ipaddress.ip_address(text)
    if address.is_unspecified:
        findings.invalid(field, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        findings.invalid(field, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        findings.invalid(field, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")


def _check_twice(findings: BuiltinFindings, spec: JSONObject) -> None:
    seen: set[tuple[object, object]] = set()
    for at, port in indexed(spec, "spec", "ports"):
        key = (port["protocol"], port.get("port", 0))
        if key in seen:
            own = {"Name": "", "Protocol": key[0], "AppProtocol": None, "Port": key[1], "TargetPort": 0, "NodePort": 0}
            findings.duplicate(at, own)
        seen.add(key)


def _check_node_ports(findings: BuiltinFindings, spec: JSONObject) -> None:
    asked = [(f"{at}.nodePort", port) for at, port in indexed(spec, "spec", "ports") if port.get("nodePort")]
    if spec["type"] == "ClusterIP":
        for field, _ in asked:
            findings.forbidden(field, "may not be used when `type` is 'ClusterIP'")
    seen: set[tuple[object, object]] = set()
    for field, port in asked:
        key = (port["protocol"], port["nodePort"])
        if key in seen:
            findings.duplicate(field, port["nodePort"])
        seen.add(key)


def _check_class(findings: BuiltinFindings, spec: JSONObject) -> None:
    if (name := spec.get("loadBalancerClass")) is None:
        return
    if spec["type"] == "LoadBalancer":
        for problem in naming.qualified_name_problems(name):
            findings.invalid("spec.loadBalancerClass", name, problem)
    else:
        findings.forbidden("spec.loadBalancerClass", _ONLY_LOAD_BALANCERS)


def _check_traffic(findings: BuiltinFindings, spec: JSONObject) -> None:
    policy, port = spec.get("externalTrafficPolicy"), spec.get("healthCheckNodePort") or 0
    if is_reachable(spec):
        findings.one_of("spec.externalTrafficPolicy", policy, TRAFFIC_POLICIES)
    elif policy:
        findings.invalid("spec.externalTrafficPolicy", policy, "may only be set for externally-accessible services")
    if needs_health_check(spec):
        if port:
            findings.port("spec.healthCheckNodePort", port)
        else:
            findings.required("spec.healthCheckNodePort")
    elif port:
        detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        findings.invalid("spec.healthCheckNodePort", port, detail)
    if (policy := spec.get("internalTrafficPolicy")) is not None:
        findings.one_of("spec.internalTrafficPolicy", policy, TRAFFIC_POLICIES)
    if (distribution := spec.get("trafficDistribution")) is not None:
        findings.one_of("spec.trafficDistribution", distribution, _DISTRIBUTIONS)


def needs_health_check(spec: JSONObject) -> bool:
    """Return whether the service needs a health check port.

    Load balancers use it to find the nodes that have an endpoint.
    """
    return spec["type"] == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _check_ingress(findings: BuiltinFindings, spec: JSONObject, status: JSONObject) -> None:
    owner = status.get("loadBalancer") or {}
    if spec["type"] != "LoadBalancer" and owner.get("ingress"):
        findings.forbidden("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")
        return
    for at, ingress in indexed(owner, "status.loadBalancer", "ingress"):
        address, mode, host = (ingress.get(field) for field in ("ip", "ipMode", "hostname"))
        if address and not is_address(address):
            findings.invalid(f"{at}.ip", address, NO_ADDRESS)
        if mode is not None and not address:
            findings.forbidden(f"{at}.ipMode", "may not be specified when `ip` is not set")
        elif mode is not None:
            findings.one_of(f"{at}.ipMode", mode, ("Proxy", "VIP"))
        if host:
            findings.name(f"{at}.hostname", host)
            if is_address(host):
                findings.invalid(f"{at}.hostname", host, "must be a DNS name, not an IP address")


# ── changes ───────────────────────────────────────────────────────────────────────────────────


def check_change(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    """Check fields of a service that are immutable as long as its type is unchanged."""
    assert old is not None, "called for updates"
    spec, before = obj["spec"], old["spec"]
    if "ExternalName" not in {spec["type"], before["type"]}:
        _check_address_change(findings, spec, before)
        if not is_headless(spec) and not is_headless(before):
            _check_family_change(findings, spec, before)
    own, former = spec.get("loadBalancerClass"), before.get("loadBalancerClass")
    if spec["type"] == before["type"] == "LoadBalancer" and own != former:
        findings.invalid("spec.loadBalancerClass", own, _UNCHANGEABLE)
    _check_class(findings, spec)
    own, former = (each.get("healthCheckNodePort") for each in (spec, before))
    if needs_health_check(spec) and needs_health_check(before) and own != former:
        findings.forbidden("spec.healthCheckNodePort", IMMUTABLE)


def _check_address_change(findings: BuiltinFindings, spec: JSONObject, before: JSONObject) -> None:
    new, old = list(spec.get("clusterIPs") or ()), list(before.get("clusterIPs") or ())
    if len(new) == len(old):
        for index, address in enumerate(old):
            if new[index] != address:
                findings.invalid(f"spec.clusterIPs[{index}]", new, _UNCHANGEABLE)
    elif not new:
        findings.invalid("spec.clusterIPs[0]", None, "primary clusterIP can not be unset")
    elif old and new[0] != old[0]:
        findings.invalid("spec.clusterIPs[0]", new, _UNCHANGEABLE)


def _check_family_change(findings: BuiltinFindings, spec: JSONObject, before: JSONObject) -> None:
    new, old = list(spec.get("ipFamilies") or ()), list(before.get("ipFamilies") or ())
    if len(new) == len(old):
        for index, family in enumerate(old):
            if new[index] != family:
                findings.invalid("spec.ipFamilies[0]", new, _UNCHANGEABLE)
    elif new and old and new[0] != old[0]:
        findings.invalid("spec.ipFamilies[0]", spec.get("clusterIPs"), _UNCHANGEABLE)
