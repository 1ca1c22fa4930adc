"""Allocation of cluster IPs, IP families and node ports to services.

A cluster IP or node port is allocated to one service only. Addresses are in 10.96.0.0/12 and node ports in 30000-32767,
as in clusters created by kubeadm. The cluster is single-stack, with IPv4.
"""

from __future__ import annotations

import ipaddress
import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from dynkube.errors import StatusCause
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.sections import indexed, items
from dynkube_testing._builtin.servicechecks import check_addresses, family_of, needs_health_check
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.storage import Storage

REACHABLE = frozenset({"LoadBalancer", "NodePort"})
_NETWORK = ipaddress.ip_network("10.96.0.0/12")
_NODE_PORTS = range(30000, 32768)
_CLUSTER_FAMILY, _OTHER_FAMILY = "IPv4", "IPv6"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocator:
    """Allocates addresses and node ports to the services of one storage."""

    storage: Storage
    random: random.Random

    def give(self, kind: Kind, obj: JSONObject, before: JSONObject | None) -> list[StatusCause]:
        """Set addresses and ports in a service; return the causes if one is not available.

        Args:
            kind: The kind of services.
            obj: The service to be stored; its spec is modified.
            before: The spec of the stored service; ``None`` for a create.

        Raises:
            ServerError: Two ports request the same node port, or the health check port is not available.
        """
        spec = obj["spec"]
        if before is not None:
            _take_over(spec, before)
        _synchronize(spec, before)
        causes = settle_families(spec, before) or self._address(spec, before)
        if causes or spec["type"] not in REACHABLE:
            return causes
        ports = _Ports(taken=self._taken_ports(kind), random=self.random)
        causes = ports.give(spec) if before is None else ports.give_again(spec, before)
        if not causes and needs_health_check(spec) and not (before and needs_health_check(before)):
            ports.give_for_health_checks(spec)
        return causes

    def _address(self, spec: JSONObject, before: JSONObject | None) -> list[StatusCause]:
        if spec["type"] == "ExternalName" or spec.get("clusterIP") == "None":
            return []
        if before is not None and before["type"] != "ExternalName":
            return []  # it already has its address
        wanted = next(iter(spec.get("clusterIPs") or ()), "")
        taken = self._taken_addresses()
        if not wanted:
            while not wanted or wanted in taken:
                wanted = str(_NETWORK[self.random.randrange(1, _NETWORK.num_addresses - 1)])
        elif why := _why_not(wanted, taken):
            detail = f"failed to allocate IP {wanted}: {why}"
            return [bad_value("spec.clusterIPs", spec["clusterIPs"], detail)]
        spec["clusterIP"], spec["clusterIPs"] = wanted, [wanted]
        return []

    def _taken_addresses(self) -> set[str]:
        current = self.storage.collection("services").current.values()
        return {version.fields.get("spec.clusterIP", "") for version in current}

    def _taken_ports(self, kind: Kind) -> set[int]:
        current = self.storage.collection("services").current.values()
        specs = [version.decode(kind)["spec"] for version in current if version.fields.get("spec.type") in REACHABLE]
        health = {spec["healthCheckNodePort"] for spec in specs if spec.get("healthCheckNodePort")}
        return health.union(*(_node_ports(spec) for spec in specs))


def _why_not(address: str, taken: set[str]) -> str:
    parsed = ipaddress.ip_address(address)
    if parsed not in _NETWORK:
        return "the provided network does not match the current range"
    return "provided IP is already allocated" if address in taken else ""


def _node_ports(spec: JSONObject) -> set[int]:
    return {port["nodePort"] for port in items(spec, "ports") if port.get("nodePort")}


def same_addresses(spec: JSONObject, other: JSONObject) -> bool:
    """Return whether two services have the same cluster IPs."""
    return list(spec.get("clusterIPs") or ()) == list(other.get("clusterIPs") or ())


# ── values kept by updates ─────────────────────────────────────────────────────────────


def _take_over(spec: JSONObject, before: JSONObject) -> None:
    """Set allocated values that an update omits to their former values."""
    if "ExternalName" not in {spec["type"], before["type"]}:
        for own in ("clusterIP", "clusterIPs"):
            if not spec.get(own) and before.get(own):
                spec[own] = before[own]
    if _wants_ports(spec) and _wants_ports(before):
        used = _node_ports(before) & _node_ports(spec)
        named = {port.get("name", ""): port.get("nodePort") for port in items(before, "ports")}
        for port in items(spec, "ports"):
            former = named.get(port.get("name", ""))
            if not port.get("nodePort") and former and former not in used:
                port["nodePort"] = former
    if needs_health_check(spec) and needs_health_check(before) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort", 0)


def _synchronize(spec: JSONObject, before: JSONObject | None) -> None:
    """Make ``clusterIPs`` consistent with ``clusterIP``.

    Old clients only write ``clusterIP``.
    """
    address = spec.get("clusterIP") or ""
    if before is None:
        if address and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [address]
        return
    former = before.get("clusterIP") or ""
    if address == former:
        if before.get("clusterIPs") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = before["clusterIPs"]
    elif same_addresses(spec, before):
        spec["clusterIPs"] = [address] if address else []


def _wants_ports(spec: JSONObject) -> bool:
    given = spec.get("allocateLoadBalancerNodePorts") is not False
    return spec["type"] == "NodePort" or (spec["type"] == "LoadBalancer" and given)


# ── families ──────────────────────────────────────────────────────────────────────────────────


def settle_families(spec: JSONObject, before: JSONObject | None) -> list[StatusCause]:
    """Set ``ipFamilies`` and ``ipFamilyPolicy``; return the causes if invalid.

    They must be consistent with each other and with the cluster.
    """
    if spec["type"] == "ExternalName" or (before is not None and _stays_preferred(spec, before)):
        return []
    headless = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        former = (before or {}).get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = former or ("RequireDualStack" if headless else "SingleStack")
    field = Field(spec, "spec")
    for check in (check_addresses, lambda spec: _check_policy(spec, before)):
        check(field)
        if field.causes:
            return field.causes
    if headless:
        families = spec["ipFamilies"] = list(spec.get("ipFamilies") or [_CLUSTER_FAMILY])
        if len(families) == 1 and spec["ipFamilyPolicy"] != "SingleStack":
            families.append(_OTHER_FAMILY if families[0] == _CLUSTER_FAMILY else _CLUSTER_FAMILY)
        return []
    _check_configured(field)
    if not spec.get("ipFamilies"):
        spec["ipFamilies"] = [_CLUSTER_FAMILY]
    return field.causes


def _stays_preferred(spec: JSONObject, before: JSONObject) -> bool:
    """Return whether the policy is still PreferDualStack, and the families are kept."""
    preferred = spec.get("ipFamilyPolicy") == "PreferDualStack" == before.get("ipFamilyPolicy", "PreferDualStack")
    same = spec["type"] == before["type"] and spec.get("ipFamilies") == before.get("ipFamilies")
    return preferred and same and same_addresses(spec, before)


def _check_policy(field: Field, before: JSONObject | None) -> None:
    """Check that the policy is consistent with the numbers of addresses and families."""
    spec, policy = field.value, field.at("ipFamilyPolicy")
    addresses, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    former = (before or {}).get("ipFamilies") or []
    if policy.value == "SingleStack":
        if before is not None and families == former:
            families = spec["ipFamilies"] = families[:1]
        rule = "must be 'RequireDualStack' or 'PreferDualStack' when multiple"
        if len(addresses) == 2:
            policy.invalid(f"{rule} cluster IPs are specified")
        if len(families) == 2:
            policy.invalid(f"{rule} IP families are specified")
    elif families and len(families) < len(former):
        policy.invalid("must be 'SingleStack' to release the secondary IP family")
    for index, address in enumerate(addresses):
        if address == "None" or index < len(families):
            continue
        if (family := family_of(address)) == _CLUSTER_FAMILY:
            families = spec["ipFamilies"] = [*families, family]
        else:
            field.at("clusterIPs").item(index).invalid(f"{family} is not configured on this cluster", addresses)


def _check_configured(spec: Field) -> None:
    policy, families = spec.at("ipFamilyPolicy"), spec.at("ipFamilies")
    if policy.value == "RequireDualStack":
        policy.invalid("this cluster is not configured for dual-stack services")
    for index, family in enumerate(families.value or ()):
        if family != _CLUSTER_FAMILY:
            families.item(index).invalid("not configured on this cluster")


# ── node ports ────────────────────────────────────────────────────────────────────────────────


@dataclass(slots=True, kw_only=True)
class _Ports:
    """Allocation of node ports for one write to a service.

    Attributes:
        taken: The node ports of all services.
        random: Random numbers for new ports.
    """

    taken: set[int]
    random: random.Random
    _new: set[int] = field(default_factory=set)

    def give(self, spec: JSONObject) -> list[StatusCause]:
        """Allocate node ports for a new service.

        Ports with the same number and different protocols get the same node port, unless the request has different
        ones.
        """
        by_port: dict[int, int] = {}
        for at, port in indexed(spec, "spec", "ports"):
            if not port.get("nodePort") and not _wants_ports(spec):
                continue
            number, own = port.get("port", 0), port.get("nodePort") or 0
            if not (wanted := by_port.get(number, 0)):
                wanted = _requested_port(number, items(spec, "ports"))
                if wanted and (cause := self._reserve(at, wanted)):
                    return [cause]
                by_port[number] = port["nodePort"] = wanted or self._any()
            elif not own:
                port["nodePort"] = wanted
            elif own != wanted and (cause := self._reserve(at, own)):
                return [cause]
        return []

    def give_again(self, spec: JSONObject, before: JSONObject) -> list[StatusCause]:
        """Allocate node ports for an update.

        Raises:
            ServerError: Two ports request the same node port.
        """
        former, given = _node_ports(before), set()
        for at, port in indexed(spec, "spec", "ports"):
            wanted = port.get("nodePort") or 0
            if not wanted and not _wants_ports(spec):
                continue
            if wanted and wanted not in former | self._new and (cause := self._reserve(at, wanted)):
                return [cause]
            port["nodePort"] = wanted or self._any()
            key = (port["protocol"], port["nodePort"])
            if key in given:
                raise refuse.failed(f"duplicate nodePort: {{{key[0]} {key[1]}}}")
            given.add(key)
        return []

    def give_for_health_checks(self, spec: JSONObject) -> None:
        """Allocate the health check port, which load balancers probe.

        Raises:
            ServerError: The requested port is not available.
        """
        wanted = spec.get("healthCheckNodePort") or 0
        if wanted and (why := self._why_not(wanted)):
            raise refuse.internal(f"failed to allocate requested HealthCheck NodePort {wanted}: {why}")
        spec["healthCheckNodePort"] = wanted or self._any()

    def _reserve(self, at: str, wanted: int) -> StatusCause | None:
        if why := self._why_not(wanted):
            return bad_value(f"{at}.nodePort", wanted, why)
        self._new.add(wanted)
        return None

    def _why_not(self, wanted: int) -> str:
        if wanted not in _NODE_PORTS:
            valid = f"{_NODE_PORTS[0]}-{_NODE_PORTS[-1]}"
            return f"provided port is not in the valid range. The range of valid ports is {valid}"
        return "provided port is already allocated" if wanted in self.taken | self._new else ""

    def _any(self) -> int:
        free = [number for number in _NODE_PORTS if number not in self.taken | self._new]
        chosen = self.random.choice(free)
        self._new.add(chosen)
        return chosen


def _requested_port(number: int, ports: Iterable[JSONObject]) -> int:
    """Return the node port requested for the port ``number``; 0 if there is none."""
    return next((port["nodePort"] for port in ports if port.get("port", 0) == number and port.get("nodePort")), 0)
