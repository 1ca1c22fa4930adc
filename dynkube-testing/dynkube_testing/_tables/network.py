"""Tables of services, endpoints and ingresses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dynkube_testing._tables.ages import Ages
from dynkube_testing._tables.columns import AGE, NAME, SELECTION, Cell, Printer, column, joined, text, wide
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.text import NONE, UNSET, addresses_text, labels_text, selector_text, shortened


def _cluster_ip(obj: Fields) -> str:
    return next(iter(obj.texts("spec.clusterIPs")), "") or obj.text("spec.clusterIP", NONE)


def _external_ip(obj: Fields) -> str:
    given = obj.texts("spec.externalIPs")
    match obj.text("spec.type", "ClusterIP"):
        case "ClusterIP" | "NodePort":
            return ",".join(given) or NONE
        case "LoadBalancer":
            balancer = addresses_text(obj.each("status.loadBalancer.ingress"))
            return ",".join(filter(None, (balancer, *given))) or "<pending>"
        case "ExternalName":
            return obj.text("spec.externalName")
    return "<unknown>"


def _service_port(port: Fields) -> str:
    node_port, protocol = port.number("nodePort"), port.text("protocol", "TCP")
    return f"{port.number('port')}:{node_port}/{protocol}" if node_port else f"{port.number('port')}/{protocol}"


def _endpoints(obj: Fields) -> str:
    addresses: list[str] = []
    for subset in obj.each("subsets"):
        hosts = [address.text("ip") for address in subset.each("addresses")]
        ports = subset.each("ports")
        # A headless service may have no ports.
        addresses += [_host_port(host, port.number("port")) for port in ports for host in hosts] if ports else hosts
    return shortened(addresses) if obj.each("subsets") else NONE


def _host_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _slice_ports(obj: Fields) -> str:
    return shortened([port.scalar("port") or port.text("name", "*") for port in obj.each("ports")]) or UNSET


def _slice_addresses(obj: Fields) -> str:
    return shortened([each for endpoint in obj.each("endpoints") for each in endpoint.texts("addresses")]) or UNSET


def _hosts(rules: list[Fields], shown: int = 3) -> str:
    """Format the hosts of the first ``shown`` rules that have one.

    As in the real server, the number of further hosts is computed from the number of rules.
    """
    hosts: list[str] = []
    for rule in rules:
        if len(hosts) == shown:
            return f"{','.join(hosts)} + {len(rules) - shown} more..."
        if rule.text("host"):
            hosts.append(rule.text("host"))
    return ",".join(hosts) or "*"


def _class_name(obj: Fields) -> str:
    default = obj.mapping("metadata.annotations").get("ingressclass.kubernetes.io/is-default-class") == "true"
    return f"{obj.name} (default)" if default else obj.name


def _parameters(obj: Fields) -> str:
    if not obj.has("spec.parameters"):
        return NONE
    given = obj.at("spec.parameters")
    kind = f"{given.text('kind')}.{given.text('apiGroup')}" if given.has("apiGroup") else given.text("kind")
    return f"{kind}/{given.text('name')}"


def _ip_address(obj: Fields, ages: Ages) -> Sequence[Cell]:
    # The last cell, the age, has no column. kube-apiserver 1.36 sends it too, and kubectl ignores it.
    return [obj.name, _parent(obj.at("spec.parentRef")) if obj.has("spec.parentRef") else NONE, ages.of(obj)]


def _parent(ref: Fields) -> str:
    resource = ".".join(filter(None, (ref.text("resource"), ref.text("group")))).lower()
    return "/".join(filter(None, (resource, ref.text("namespace"), ref.text("name"))))


SERVICES = Printer(
    (
        NAME,
        column("Type", "How the service is exposed", text("spec.type", "ClusterIP")),
        column("Cluster-IP", "Address inside the cluster", _cluster_ip),
        column("External-IP", "Addresses outside the cluster", _external_ip),
        column(
            "Port(s)",
            "Port, port on the nodes, and protocol",
            lambda obj: ",".join(map(_service_port, obj.each("spec.ports"))) or NONE,
        ),
        AGE,
        wide("Selector", SELECTION, lambda obj: labels_text(obj.mapping("spec.selector"))),
    )
)
ENDPOINTS = Printer((NAME, column("Endpoints", "Addresses and ports that take the traffic", _endpoints), AGE))
ENDPOINT_SLICES = Printer(
    (
        NAME,
        column("AddressType", "What kind of addresses these are", "addressType"),
        column("Ports", "Ports of each of them", _slice_ports),
        column("Endpoints", "The addresses", _slice_addresses),
        AGE,
    )
)
INGRESSES = Printer(
    (
        NAME,
        column("Class", "Which ingress class it belongs to", text("spec.ingressClassName", NONE)),
        column("Hosts", "Hosts it routes", lambda obj: _hosts(obj.each("spec.rules"))),
        column(
            "Address",
            "Addresses of its load balancer",
            lambda obj: addresses_text(obj.each("status.loadBalancer.ingress")),
        ),
        column("Ports", "Ports it listens on", lambda obj: "80, 443" if obj.each("spec.tls") else "80"),
        AGE,
    )
)
INGRESS_CLASSES = Printer(
    (
        replace(NAME, cell=lambda obj, _ages: _class_name(obj)),
        column("Controller", "What implements ingresses of this class", "spec.controller"),
        column("Parameters", "Object with its settings", _parameters),
        AGE,
    )
)
NETWORK_POLICIES = Printer(
    (
        NAME,
        column(
            "Pod-Selector", "Pods it applies to, by their labels", lambda obj: selector_text(obj, "spec.podSelector")
        ),
        AGE,
    )
)
SERVICE_CIDRS = Printer(
    (NAME, column("CIDRs", "Ranges that addresses of services come from", joined("spec.cidrs")), AGE)
)
IP_ADDRESSES = Printer((NAME, column("ParentRef", "What has the address")), _ip_address)
