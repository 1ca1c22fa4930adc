"""Services: defaults, addresses and node ports that nobody else has, and what may not change.

Addresses come from 10.96.0.0/12 and node ports from 30000-32767, as in clusters that kubeadm made. One family
only: IPv4.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Iterator
from dataclasses import dataclass

from dynkube.errors import StatusCause
from dynkube.testing._builtin.findings import Findings, fill, indexed, items, section
from dynkube.testing._builtin.rules import BuiltinRules
from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds import naming
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._store.storage import Storage

_NETWORK = ipaddress.ip_network("10.96.0.0/12")
_NODE_PORTS = range(30000, 32768)
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_REACHABLE = {"LoadBalancer", "NodePort"}
_NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_THREE_HOURS = 10800


def _complete(obj: JSONObject) -> None:
    spec = section(obj, "spec")
    fill(spec, type="ClusterIP", sessionAffinity="None")
    if spec["sessionAffinity"] == "ClientIP":
        fill(section(spec, "sessionAffinityConfig", "clientIP"), timeoutSeconds=_THREE_HOURS)
    else:
        spec.pop("sessionAffinityConfig", None)
    for port in items(spec, "ports"):
        fill(port, protocol="TCP")
        if port.get("targetPort") in (None, "", 0):
            port["targetPort"] = port.get("port", 0)
    if spec["type"] != "ExternalName":
        fill(spec, internalTrafficPolicy="Cluster")
    if spec["type"] in _REACHABLE or spec.get("externalIPs"):
        fill(spec, externalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        fill(spec, allocateLoadBalancerNodePorts=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRules(BuiltinRules):
    """Services of one storage, among which addresses are told apart."""

    storage: Storage
    random: random.Random

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Addresses and node ports.

        Raises:
            Invalid: The address or a port that is asked for belongs to another service.
        """
        section(section(obj, "status"), "loadBalancer")
        spec = obj["spec"]
        if old is not None:
            _take_over(spec, old["spec"])
        findings = Findings()
        _check(findings, obj, old)
        if findings.causes:
            return  # told by `causes`; nothing is given to a service that is refused
        if spec["type"] == "ExternalName":
            for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
                spec.pop(field, None)
            return
        self._address(kind, obj, old)
        if spec["type"] in _REACHABLE:
            self._node_ports(kind, obj, old)

    def _address(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        spec = obj["spec"]
        wanted = spec.get("clusterIP") or next(iter(spec.get("clusterIPs") or ()), "")
        if not wanted:
            taken = self._taken_addresses()
            wanted = next(address for address in self._candidates() if address not in taken)
        elif old is None and wanted != "None" and wanted in self._taken_addresses():
            detail = f"failed to allocate IP {wanted}: provided IP is already allocated"
            raise _refused(kind, obj, "spec.clusterIPs", [wanted], detail)
        spec["clusterIP"], spec["clusterIPs"] = wanted, [wanted]
        fill(spec, ipFamilies=["IPv4"], ipFamilyPolicy="SingleStack")

    def _candidates(self) -> Iterator[str]:
        while True:
            yield str(_NETWORK[self.random.randrange(1, _NETWORK.num_addresses - 1)])

    def _taken_addresses(self) -> set[str]:
        current = self.storage.collection("services").current.values()
        return {version.fields.get("spec.clusterIP", "") for version in current}

    def _node_ports(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        spec, taken = obj["spec"], self._taken_ports(kind, obj)
        before = {port["port"]: port.get("nodePort") for port in items((old or {}).get("spec") or {}, "ports")}
        given: set[tuple[str, int]] = set()
        for at, port in indexed(spec, "spec", "ports"):
            wanted, protocol = port.get("nodePort") or before.get(port["port"]), port["protocol"]
            if wanted in taken:
                raise _refused(kind, obj, f"{at}.nodePort", wanted, "provided port is already allocated")
            if not wanted and not (spec["type"] == "LoadBalancer" and not spec["allocateLoadBalancerNodePorts"]):
                free = [number for number in _NODE_PORTS if number not in taken and (protocol, number) not in given]
                wanted = self.random.choice(free)
            if wanted:
                port["nodePort"] = wanted
                given.add((protocol, wanted))

    def _taken_ports(self, kind: Kind, obj: JSONObject) -> set[int]:
        own = (obj["metadata"].get("namespace", ""), obj["metadata"].get("name", ""))
        return {
            port["nodePort"]
            for version in self.storage.collection("services").current.values()
            if version.fields.get("spec.type") in _REACHABLE and (version.namespace, version.name) != own
            for port in items(version.decode(kind)["spec"], "ports")
            if port.get("nodePort")
        }


def _take_over(spec: JSONObject, before: JSONObject) -> None:
    """What a client need not repeat on an update."""
    if spec["type"] == "ExternalName" or before.get("type") == "ExternalName":
        return
    if not spec.get("clusterIP") and not spec.get("clusterIPs"):
        fields = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
        spec.update({field: before[field] for field in fields if field in before})
    elif spec.get("clusterIP") and (spec.get("clusterIPs") or [""])[0] == before.get("clusterIP"):
        # Clients that know one address only change it in one place.
        spec["clusterIPs"] = [spec["clusterIP"]]


def _refused(kind: Kind, obj: JSONObject, field: str, value: object, detail: str) -> Exception:
    cause: StatusCause = refuse.bad_value(field, value, detail)
    return refuse.invalid(kind, obj["metadata"].get("name", ""), [cause])


# ── checks ────────────────────────────────────────────────────────────────────────────────────


def _check(findings: Findings, obj: JSONObject, old: JSONObject | None) -> None:
    spec = obj["spec"]
    kind, headless = spec["type"], spec.get("clusterIP") == "None"
    if not spec.get("ports") and not headless and kind != "ExternalName":
        findings.required("spec.ports")
    if kind in _REACHABLE and headless:
        findings.invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        if name := spec.get("externalName", ""):
            findings.text("spec.externalName", naming.subdomain_problem(name.removesuffix(".")), name)
        else:
            findings.required("spec.externalName")
    _check_ports(findings, spec, headless)
    findings.labels("spec.selector", spec.get("selector"))
    findings.one_of("spec.sessionAffinity", spec["sessionAffinity"], ("ClientIP", "None"))
    address = spec.get("clusterIP")
    if address and not headless and not is_address(address):
        findings.invalid("spec.clusterIPs[0]", address, _NO_ADDRESS)
    for index, address in enumerate(spec.get("externalIPs") or ()):
        if not is_address(address):
            findings.invalid(f"spec.externalIPs[{index}]", address, _NO_ADDRESS)
    findings.one_of("spec.type", kind, _TYPES)
    _check_node_ports(findings, spec)
    _check_traffic(findings, spec)


def _check_ports(findings: Findings, spec: JSONObject, headless: bool) -> None:
    several, names = len(items(spec, "ports")) > 1, set()
    for at, port in indexed(spec, "spec", "ports"):
        if name := port.get("name"):
            problem = naming.label_problem(name)
            findings.text(f"{at}.name", problem, name)
            if not problem and name in names:
                findings.duplicate(f"{at}.name", name)
            names.add(name)
        elif several:
            findings.required(f"{at}.name")
        findings.port(f"{at}.port", port.get("port", 0))
        findings.one_of(f"{at}.protocol", port["protocol"], _PROTOCOLS)
        findings.port_or_name(f"{at}.targetPort", port["targetPort"])
    _check_twice(findings, spec)


def _check_twice(findings: Findings, spec: JSONObject) -> None:
    seen: set[tuple[object, object]] = set()
    for at, port in indexed(spec, "spec", "ports"):
        key = (port["protocol"], port.get("port"))
        if key in seen:
            shown = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            findings.duplicate(at, shown)
        seen.add(key)


def _check_node_ports(findings: Findings, spec: JSONObject) -> None:
    if spec["type"] != "ClusterIP":
        return
    for at, port in indexed(spec, "spec", "ports"):
        if port.get("nodePort"):
            findings.forbidden(f"{at}.nodePort", "may not be used when `type` is 'ClusterIP'")


def _check_traffic(findings: Findings, spec: JSONObject) -> None:
    if spec["type"] != "LoadBalancer":
        for field in ("allocateLoadBalancerNodePorts", "loadBalancerClass"):
            if spec.get(field) is not None:
                findings.forbidden(f"spec.{field}", "may only be used when `type` is 'LoadBalancer'")
    policy = spec.get("externalTrafficPolicy")
    if policy and spec["type"] not in _REACHABLE and not spec.get("externalIPs"):
        detail = "may only be set for externally-accessible services"
        findings.invalid("spec.externalTrafficPolicy", policy, detail)
    elif policy:
        findings.one_of("spec.externalTrafficPolicy", policy, ("Cluster", "Local"))


def _check_change(findings: Findings, obj: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    new, before = obj["spec"], old["spec"]
    if "ExternalName" in {new["type"], before["type"]} or not before.get("clusterIP"):
        return
    if new.get("clusterIP") != before["clusterIP"]:
        findings.invalid("spec.clusterIPs[0]", new.get("clusterIPs"), "may not change once set")


def is_address(text: str) -> bool:
    """Whether it is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def service_rules(storage: Storage, random: random.Random) -> dict[str, BuiltinRules]:
    """By storage group."""
    return {
        "services": ServiceRules(
            storage=storage, random=random, defaults=_complete, checks=_check, changes=_check_change
        )
    }
