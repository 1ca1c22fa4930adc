"""Tables of services, endpoints and ingresses."""

from __future__ import annotations

from collections.abc import Sequence

from dynkube_testing._tables.ages import Ages
from dynkube_testing._tables.columns import AGE, NAME, SELECTOR, Cell, Printer, column
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.text import NONE, UNSET, addresses_text, labels_text, selector_text, shortened


def _service(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [
        obj.name,
        obj.text("spec.type", "ClusterIP"),
        next(iter(obj.texts("spec.clusterIPs")), "") or obj.text("spec.clusterIP", NONE),
        _external_ip(obj),
        ",".join(_service_port(port) for port in obj.each("spec.ports")) or NONE,
        ages.of(obj),
        labels_text(obj.mapping("spec.selector")),
    ]


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


def _endpoints(obj: Fields, ages: Ages) -> Sequence[Cell]:
    addresses: list[str] = []
    for subset in obj.each("subsets"):
        hosts = [address.text("ip") for address in subset.each("addresses")]
        ports = subset.each("ports")
        # A headless service may have no ports.
        addresses += [_host_port(host, port.number("port")) for port in ports for host in hosts] if ports else hosts
    return [obj.name, shortened(addresses) if obj.each("subsets") else NONE, ages.of(obj)]


def _host_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _endpoint_slice(obj: Fields, ages: Ages) -> Sequence[Cell]:
    ports = [port.scalar("port") or port.text("name", "*") for port in obj.each("ports")]
    addresses = [address for endpoint in obj.each("endpoints") for address in endpoint.texts("addresses")]
    return [
        obj.name,
        obj.text("addressType"),
        shortened(ports) or UNSET,
        shortened(addresses) or UNSET,
        ages.of(obj),
    ]


def _ingress(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [
        obj.name,
        obj.text("spec.ingressClassName", NONE),
        _hosts(obj.each("spec.rules")),
        addresses_text(obj.each("status.loadBalancer.ingress")),
        "80, 443" if obj.each("spec.tls") else "80",
        ages.of(obj),
    ]


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


def _ingress_class(obj: Fields, ages: Ages) -> Sequence[Cell]:
    default = obj.mapping("metadata.annotations").get("ingressclass.kubernetes.io/is-default-class") == "true"
    parameters = NONE
    if obj.has("spec.parameters"):
        given = obj.at("spec.parameters")
        kind = f"{given.text('kind')}.{given.text('apiGroup')}" if given.has("apiGroup") else given.text("kind")
        parameters = f"{kind}/{given.text('name')}"
    name = f"{obj.name} (default)" if default else obj.name
    return [name, obj.text("spec.controller"), parameters, ages.of(obj)]


def _network_policy(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, selector_text(obj, "spec.podSelector"), ages.of(obj)]


def _service_cidr(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, ",".join(obj.texts("spec.cidrs")), ages.of(obj)]


def _ip_address(obj: Fields, ages: Ages) -> Sequence[Cell]:
    # The last cell, the age, has no column. kube-apiserver 1.36 sends it too, and kubectl ignores it.
    return [obj.name, _parent(obj.at("spec.parentRef")) if obj.has("spec.parentRef") else NONE, ages.of(obj)]


def _parent(ref: Fields) -> str:
    resource = ".".join(filter(None, (ref.text("resource"), ref.text("group")))).lower()
    return "/".join(filter(None, (resource, ref.text("namespace"), ref.text("name"))))


SERVICES = Printer(
    (
        NAME,
        column("Type", "How the service is exposed"),
        column("Cluster-IP", "Address inside the cluster"),
        column("External-IP", "Addresses outside the cluster"),
        column("Port(s)", "Port, port on the nodes, and protocol"),
        AGE,
        SELECTOR,
    ),
    _service,
)
ENDPOINTS = Printer((NAME, column("Endpoints", "Addresses and ports that take the traffic"), AGE), _endpoints)
ENDPOINT_SLICES = Printer(
    (
        NAME,
        column("AddressType", "What kind of addresses these are"),
        column("Ports", "Ports of each of them"),
        column("Endpoints", "The addresses"),
        AGE,
    ),
    _endpoint_slice,
)
INGRESSES = Printer(
    (
        NAME,
        column("Class", "Which ingress class it belongs to"),
        column("Hosts", "Hosts it routes"),
        column("Address", "Addresses of its load balancer"),
        column("Ports", "Ports it listens on"),
        AGE,
    ),
    _ingress,
)
INGRESS_CLASSES = Printer(
    (
        NAME,
        column("Controller", "What implements ingresses of this class"),
        column("Parameters", "Object with its settings"),
        AGE,
    ),
    _ingress_class,
)
NETWORK_POLICIES = Printer((NAME, column("Pod-Selector", "Pods it applies to, by their labels"), AGE), _network_policy)
SERVICE_CIDRS = Printer((NAME, column("CIDRs", "Ranges that addresses of services come from"), AGE), _service_cidr)
IP_ADDRESSES = Printer((NAME, column("ParentRef", "What has the address")), _ip_address)
