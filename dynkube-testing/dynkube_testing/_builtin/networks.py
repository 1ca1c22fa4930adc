"""Ingresses, IngressClasses, NetworkPolicies, Endpoints and EndpointSlices."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from functools import partial

from dynkube_testing._builtin import checks, typechecks, typedefaults
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.rules import BuiltinRules, Factory
from dynkube_testing._builtin.sections import section
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import quoted
from dynkube_testing._kinds import naming

_CIDR_HELP = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
_INGRESS_CLASS = "kubernetes.io/ingress.class"

# ── Ingress ───────────────────────────────────────────────────────────────────────────────────


def _check_ingress(spec: Field) -> None:
    if not spec.get("rules") and not spec.get("defaultBackend"):
        spec.invalid("either `defaultBackend` or `rules` must be specified", None)


def _check_host(host: Field) -> None:
    host.invalid(naming.subdomain_problem(host.value.removeprefix("*.")))


def _check_path(path: Field) -> None:
    if path.get("pathType") in {"Exact", "Prefix"} and not (text := path.get("path") or "").startswith("/"):
        path.at("path").invalid("must be an absolute path", text)


def _check_backend(backend: Field) -> None:
    service, resource = backend.at("service"), backend.get("resource")
    if service.value is None and resource is None:
        backend.invalid("resource or service backend is required", "")
    elif service.value is not None and resource is not None:
        backend.invalid("cannot set both resource and service backends", "")
    elif service.value is not None:
        service.check()
        port = service.at("port")
        if port.get("name") and port.get("number"):
            backend.invalid("cannot set both port name & port number", "")
        elif not port.get("name") and not port.get("number"):
            backend.required("port name or number is required")
        elif port.get("number"):
            checks.port(port.at("number"))


def _check_controller(spec: Field) -> None:
    controller = spec.at("controller")
    if not controller.value:
        controller.required()
    elif "/" not in controller.value.strip("/"):
        controller.invalid('must be a domain-prefixed path (such as "acme.io/foo")')


# ── NetworkPolicy ─────────────────────────────────────────────────────────────────────────────


def _complete_policy(spec: JSONObject) -> None:
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") is not None else ["Ingress"]


def _check_policy_port(ports: Field) -> None:
    first, last = ports.at("port"), ports.at("endPort")
    if first.value is None and last.value is not None:
        last.invalid("may not be specified when `port` is not specified")
    elif isinstance(first.value, str):
        if last.value is not None:
            last.invalid("may not be specified when `port` is non-numeric")
        checks.port_name(first)
    elif first.value is not None:
        checks.port(first)
        if last.value is not None:
            if last.value < first.value:
                last.invalid("must be greater than or equal to `port`", first.value)
            checks.port(last)


def _check_peer(peer: Field) -> None:
    for field in ("podSelector", "namespaceSelector"):
        peer.at(field).check()
    chosen = peer.given(("podSelector", "namespaceSelector", "ipBlock"))
    if not chosen:
        peer.required("must specify a peer")
    elif "ipBlock" in chosen and len(chosen) > 1:
        peer.forbidden("may not specify both ipBlock and another peer")
    elif "ipBlock" in chosen:
        peer.at("ipBlock").check()


def _check_network(cidr: Field) -> None:
    try:
        ipaddress.ip_network(cidr.value, strict=False)
        valid = "/" in cidr.value
    except ValueError:
        valid = False
    if not valid:
        cidr.invalid(_CIDR_HELP)


# ── Endpoints ─────────────────────────────────────────────────────────────────────────────────


def _check_subset(subset: Field) -> None:
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        subset.required("must specify `addresses` or `notReadyAddresses`")


def _check_endpoint(address: Field) -> None:
    ip = address.at("ip")
    checks.address(ip)
    if not checks.is_address(ip.value or ""):
        ip.invalid("must be a valid IP address", ip.value or "")


def _check_slice(slice_: Field) -> None:
    if not slice_.get("addressType"):
        slice_.at("addressType").required()
        return
    for name in ("ports", "endpoints"):
        slice_.at(name).check()


def _check_addresses(endpoint: Field) -> None:
    addresses = endpoint.at("addresses")
    for index, address in enumerate(addresses.value or ()):
        if endpoint.above("EndpointSlice").get("addressType") in {"IPv4", "IPv6"} and not checks.is_address(address):
            addresses.item(index).invalid(checks.NO_ADDRESS)


def _caution_ingress(obj: JSONObject, old: JSONObject | None) -> list[str]:
    annotated = _INGRESS_CLASS in (obj["metadata"].get("annotations") or {})
    if old is not None or not annotated or obj["spec"].get("ingressClassName") is not None:
        return []
    return [f"annotation {quoted(_INGRESS_CLASS)} is deprecated, please use 'spec.ingressClassName' instead"]


_TCP = {"protocol": "TCP"}

DEFAULTS: typedefaults.Table = {
    "networking.v1.IngressClassParametersReference": ({"scope": "Cluster"},),
    "networking.v1.NetworkPolicySpec": (_complete_policy,),
    "networking.v1.NetworkPolicyPort": (_TCP,),
    "core.v1.EndpointPort": (_TCP,),
    "discovery.v1.EndpointPort": ({"name": "", **_TCP},),
}
CHECKS: typechecks.Table = {
    "networking.v1.Ingress": ("spec",),
    "networking.v1.IngressSpec": (_check_ingress, "rules", "defaultBackend", ("ingressClassName?", checks.subdomain)),
    "networking.v1.IngressRule": (("host?", _check_host), "http"),
    "networking.v1.HTTPIngressRuleValue": ("paths!",),
    "networking.v1.HTTPIngressPath": (
        (
            "pathType",
            checks.required("pathType must be specified"),
            checks.one_of("Exact", "ImplementationSpecific", "Prefix"),
        ),
        _check_path,
        "backend",
    ),
    "networking.v1.IngressBackend": (_check_backend,),
    "networking.v1.IngressServiceBackend": (("name!", checks.dns1035),),
    "networking.v1.IngressClass": ("spec",),
    "networking.v1.IngressClassSpec": (_check_controller,),
    "networking.v1.NetworkPolicy": ("spec",),
    "networking.v1.NetworkPolicySpec": (
        "podSelector",
        "ingress",
        "egress",
        ("policyTypes[]", checks.one_of("Ingress", "Egress")),
    ),
    "networking.v1.NetworkPolicyIngressRule": ("ports", "from"),
    "networking.v1.NetworkPolicyEgressRule": ("ports", "to"),
    "networking.v1.NetworkPolicyPort": (
        ("protocol", checks.one_of("TCP", "UDP", "SCTP")),
        _check_policy_port,
    ),
    "networking.v1.NetworkPolicyPeer": (_check_peer,),
    "networking.v1.IPBlock": (("cidr!", _check_network),),
    "core.v1.Endpoints": ("subsets",),
    "core.v1.EndpointSubset": (_check_subset, "addresses", "notReadyAddresses", "ports"),
    "core.v1.EndpointAddress": (_check_endpoint,),
    "core.v1.EndpointPort": (("port", checks.port),),
    "discovery.v1.EndpointSlice": (("addressType?", checks.one_of("FQDN", "IPv4", "IPv6")), _check_slice),
    "discovery.v1.EndpointPort": (("protocol", checks.one_of(*checks.PROTOCOLS)),),
    "discovery.v1.Endpoint": (("addresses", checks.required("must contain at least 1 address")), _check_addresses),
}
RULES: Mapping[str, Factory] = {
    "ingresses.networking.k8s.io": partial(
        BuiltinRules, decides=lambda obj, old: section(obj, "status", "loadBalancer"), cautions=_caution_ingress
    ),
    "ingressclasses.networking.k8s.io": partial(BuiltinRules, fixed=("spec.controller",)),
    "endpointslices.discovery.k8s.io": partial(BuiltinRules, fixed=("addressType",)),
}
