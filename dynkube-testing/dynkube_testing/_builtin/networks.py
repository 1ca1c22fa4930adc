"""Ingresses, IngressClasses, NetworkPolicies, Endpoints and EndpointSlices."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from dynkube_testing._builtin.findings import BuiltinFindings, fill, given, indexed, items, section
from dynkube_testing._builtin.pairs import NO_ADDRESS, is_address
from dynkube_testing._builtin.rules import BuiltinRules
from dynkube_testing._builtin.selectors import check_selector
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import quoted
from dynkube_testing._kinds import naming

_CIDR_HELP = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_INGRESS_CLASS = "kubernetes.io/ingress.class"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")

# ── Ingress ───────────────────────────────────────────────────────────────────────────────────


def _decide_ingress(obj: JSONObject, old: JSONObject | None) -> None:
    section(obj, "status", "loadBalancer")


def _check_ingress(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    spec = obj["spec"]
    if not spec.get("rules") and not spec.get("defaultBackend"):
        findings.invalid("spec", None, "either `defaultBackend` or `rules` must be specified")
    for at, rule in indexed(spec, "spec", "rules"):
        if host := rule.get("host"):
            plain = host.removeprefix("*.")
            findings.text(f"{at}.host", naming.subdomain_problem(plain), host)
        if isinstance(http := rule.get("http"), dict):
            _check_paths(findings, f"{at}.http", http)
    if isinstance(backend := spec.get("defaultBackend"), dict):
        _check_backend(findings, "spec.defaultBackend", backend)
    findings.name("spec.ingressClassName", spec.get("ingressClassName"))


def _check_paths(findings: BuiltinFindings, at: str, http: JSONObject) -> None:
    if not http.get("paths"):
        findings.required(f"{at}.paths")
    for path_at, path in indexed(http, at, "paths"):
        kind, text = path.get("pathType"), path.get("path") or ""
        if not kind:
            findings.required(f"{path_at}.pathType", "pathType must be specified")
        else:
            findings.one_of(f"{path_at}.pathType", kind, _PATH_TYPES)
        if kind in {"Exact", "Prefix"} and not text.startswith("/"):
            findings.invalid(f"{path_at}.path", text, "must be an absolute path")
        _check_backend(findings, f"{path_at}.backend", path.get("backend") or {})


def _check_backend(findings: BuiltinFindings, at: str, backend: JSONObject) -> None:
    service, resource = backend.get("service"), backend.get("resource")
    if service is None and resource is None:
        findings.invalid(at, "", "resource or service backend is required")
    elif service is not None and resource is not None:
        findings.invalid(at, "", "cannot set both resource and service backends")
    elif isinstance(service, dict):
        if name := service.get("name"):
            findings.text(f"{at}.service.name", naming.dns1035_problem(name), name)
        else:
            findings.required(f"{at}.service.name")
        port = service.get("port") or {}
        if port.get("name") and port.get("number"):
            findings.invalid(at, "", "cannot set both port name & port number")
        elif not port.get("name") and not port.get("number"):
            findings.required(at, "port name or number is required")
        elif port.get("number"):
            findings.port(f"{at}.service.port.number", port["number"])


def _complete_ingress_class(obj: JSONObject) -> None:
    if isinstance(parameters := section(obj, "spec").get("parameters"), dict):
        fill(parameters, scope="Cluster")


def _check_ingress_class(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    controller = obj["spec"].get("controller") or ""
    if not controller:
        findings.required("spec.controller")
    elif "/" not in controller.strip("/"):
        findings.invalid("spec.controller", controller, 'must be a domain-prefixed path (such as "acme.io/foo")')


def _keep_ingress_class(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    findings.immutable("spec.controller", obj["spec"].get("controller"), old["spec"].get("controller"))


# ── NetworkPolicy ─────────────────────────────────────────────────────────────────────────────


def _complete_policy(obj: JSONObject) -> None:
    spec = section(obj, "spec")
    section(spec, "podSelector")
    for direction in ("ingress", "egress"):
        for rule in items(spec, direction):
            for port in items(rule, "ports"):
                fill(port, protocol="TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") is not None else ["Ingress"]


def _check_policy(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    spec = obj["spec"]
    check_selector(findings, "spec.podSelector", spec["podSelector"])
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for at, rule in indexed(spec, "spec", direction):
            for port_at, port in indexed(rule, at, "ports"):
                findings.one_of(f"{port_at}.protocol", port["protocol"], ("TCP", "UDP", "SCTP"))
                if port.get("port") is not None:
                    findings.port_or_name(f"{port_at}.port", port["port"])
            for peer_at, peer in indexed(rule, at, peers):
                _check_peer(findings, peer_at, peer)
    for index, kind in enumerate(spec["policyTypes"]):
        findings.one_of(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress"))


def _check_peer(findings: BuiltinFindings, at: str, peer: JSONObject) -> None:
    chosen = given(peer, ("podSelector", "namespaceSelector", "ipBlock"))
    for field in ("podSelector", "namespaceSelector"):
        if field in chosen:
            check_selector(findings, f"{at}.{field}", peer[field])
    if not chosen:
        findings.required(at, "must specify a peer")
    elif "ipBlock" in chosen and len(chosen) > 1:
        findings.forbidden(at, "may not specify both ipBlock and another peer")
    elif "ipBlock" in chosen:
        cidr = peer["ipBlock"].get("cidr") or ""
        if not cidr:
            findings.required(f"{at}.ipBlock.cidr")
        elif not _is_network(cidr):
            findings.invalid(f"{at}.ipBlock.cidr", cidr, _CIDR_HELP)


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "/" in text


# ── Endpoints ─────────────────────────────────────────────────────────────────────────────────


def _complete_endpoints(obj: JSONObject) -> None:
    for subset in items(obj, "subsets"):
        for port in items(subset, "ports"):
            fill(port, protocol="TCP")


def _check_endpoints(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    for at, subset in indexed(obj, "", "subsets"):
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            findings.required(at, "must specify `addresses` or `notReadyAddresses`")
        for field in ("addresses", "notReadyAddresses"):
            for address_at, address in indexed(subset, at, field):
                if not is_address(ip := address.get("ip") or ""):
                    findings.invalid(f"{address_at}.ip", ip, NO_ADDRESS)
                    findings.invalid(f"{address_at}.ip", ip, "must be a valid IP address")
        for port_at, port in indexed(subset, at, "ports"):
            findings.port(f"{port_at}.port", port.get("port", 0))


def _complete_slice(obj: JSONObject) -> None:
    for port in items(obj, "ports"):
        port.setdefault("name", "")
        fill(port, protocol="TCP")
    for endpoint in items(obj, "endpoints"):
        section(endpoint, "conditions")


def _check_slice(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    kind = obj.get("addressType")
    if not kind:
        findings.required("addressType")
        return
    findings.one_of("addressType", kind, ("FQDN", "IPv4", "IPv6"))
    for index, port in enumerate(items(obj, "ports")):
        findings.one_of(f"ports[{index}].protocol", port["protocol"], ("SCTP", "TCP", "UDP"))
    for index, endpoint in enumerate(items(obj, "endpoints")):
        at, addresses = f"endpoints[{index}].addresses", endpoint.get("addresses") or ()
        if not addresses:
            findings.required(at, "must contain at least 1 address")
        for position, address in enumerate(addresses):
            if kind in {"IPv4", "IPv6"} and not is_address(address):
                findings.invalid(f"{at}[{position}]", address, NO_ADDRESS)


def _keep_slice(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    findings.immutable("addressType", obj.get("addressType"), old.get("addressType"))


def _caution_ingress(obj: JSONObject, old: JSONObject | None) -> list[str]:
    annotated = _INGRESS_CLASS in (obj["metadata"].get("annotations") or {})
    if old is not None or not annotated or obj["spec"].get("ingressClassName") is not None:
        return []
    return [f"annotation {quoted(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"]


RULES: Mapping[str, BuiltinRules] = {
    "ingresses.networking.k8s.io": BuiltinRules(
        defaults=lambda obj: fill(obj, spec={}),
        decides=_decide_ingress,
        checks=_check_ingress,
        cautions=_caution_ingress,
    ),
    "ingressclasses.networking.k8s.io": BuiltinRules(
        defaults=_complete_ingress_class, checks=_check_ingress_class, changes=_keep_ingress_class
    ),
    "networkpolicies.networking.k8s.io": BuiltinRules(defaults=_complete_policy, checks=_check_policy),
    "servicecidrs.networking.k8s.io": BuiltinRules(decides=lambda obj, old: fill(obj, status={})),
    "endpoints": BuiltinRules(defaults=_complete_endpoints, checks=_check_endpoints),
    "endpointslices.discovery.k8s.io": BuiltinRules(defaults=_complete_slice, checks=_check_slice, changes=_keep_slice),
}
