"""Services: defaults, allocation, changes of the type, and warnings."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial

from dynkube_testing._builtin import typedefaults
from dynkube_testing._builtin.rules import BuiltinRules, Factory
from dynkube_testing._builtin.sections import fill, items, section
from dynkube_testing._builtin.serviceaddresses import REACHABLE, Allocator, same_addresses
from dynkube_testing._builtin.servicechecks import (
    CHECKS,
    TRAFFIC_POLICIES,
    check_change,
    is_reachable,
    needs_health_check,
)
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.storage import Storage

_THREE_HOURS = 10800
_IP_MODE = "VIP"


def _complete(obj: JSONObject) -> None:
    spec = section(obj, "spec")
    fill(spec, type="ClusterIP", sessionAffinity="None")
    if spec["sessionAffinity"] == "ClientIP":
        fill(section(spec, "sessionAffinityConfig", "clientIP"), timeoutSeconds=_THREE_HOURS)
    elif spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    if spec["type"] in {"ClusterIP", *REACHABLE}:
        fill(spec, internalTrafficPolicy="Cluster")
    if is_reachable(spec):
        fill(spec, externalTrafficPolicy="Cluster")
    if spec["type"] == "LoadBalancer":
        fill(spec, allocateLoadBalancerNodePorts=True)
        for ingress in items((obj.get("status") or {}).get("loadBalancer") or {}, "ingress"):
            if ingress.get("ip"):
                fill(ingress, ipMode=_IP_MODE)


def _complete_port(port: JSONObject) -> None:
    if port.get("targetPort") in (None, "", 0):
        port["targetPort"] = port.get("port", 0)


DEFAULTS: typedefaults.Table = {
    "core.v1.Service": (_complete,),
    "core.v1.ServicePort": ({"protocol": "TCP"}, _complete_port),
}
__all__ = ["CHECKS", "DEFAULTS", "service_rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRules(BuiltinRules):
    """The rules of services; addresses and node ports are unique in one storage."""

    allocator: Allocator

    def allocate(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Allocate addresses and node ports; as in a real server, before validation.

        Raises:
            Invalid: A requested address or port is not available.
            ServerError: The requested health check port is not available, or two ports request the same node port.
                A real server responds with an internal error too.
        """
        before = old["spec"] if old is not None else None
        if causes := self.allocator.give(kind, obj, before):
            raise refuse.invalid(kind, obj["metadata"].get("name", ""), causes)
        if old is not None:
            _drop_inapplicable_fields(obj, old)
        if obj["spec"]["type"] == "ExternalName" and obj["spec"].get("internalTrafficPolicy") in TRAFFIC_POLICIES:
            del obj["spec"]["internalTrafficPolicy"]  # a real server does not return it for this type

    def prepare(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> None:
        """Set an empty status, and remove empty fields."""
        section(obj, "status", "loadBalancer")
        for field in ("clusterIP", "clusterIPs", "ipFamilies"):
            if not obj["spec"].get(field):
                obj["spec"].pop(field, None)

    def warnings(self, kind: Kind, obj: JSONObject, old: JSONObject | None) -> list[str]:
        """Return warnings for fields that have no effect, or are deprecated."""
        return _warnings(obj["spec"])


def _drop_inapplicable_fields(obj: JSONObject, old: JSONObject) -> None:
    """Remove fields that do not apply to the new type of a service.

    Fields that the request changed together with the type are kept.
    """
    spec, before = obj["spec"], old["spec"]
    kind, former = spec["type"], before["type"]
    if kind == "ExternalName" != former:
        if spec.get("clusterIP") == before.get("clusterIP") and same_addresses(spec, before):
            _drop_unchanged(spec, before, "clusterIP", "clusterIPs")
        _drop_unchanged(spec, before, "ipFamilies", "ipFamilyPolicy")
    if former in REACHABLE and kind not in REACHABLE:
        ports = {port.get("nodePort") for port in items(spec, "ports")} - {None, 0}
        if ports <= {port.get("nodePort") for port in items(before, "ports")}:
            for port in items(spec, "ports"):
                port.pop("nodePort", None)
    if needs_health_check(before) and not needs_health_check(spec):
        _drop_unchanged(spec, before, "healthCheckNodePort")
    if former == "LoadBalancer" != kind:
        _drop_unchanged(spec, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if is_reachable(before) and not is_reachable(spec):
        _drop_unchanged(spec, before, "externalTrafficPolicy")
    if kind != "LoadBalancer" and "status" in obj:
        obj["status"] = {**obj["status"], "loadBalancer": {}}


def _drop_unchanged(spec: JSONObject, before: JSONObject, *fields: str) -> None:
    for field in fields:
        if spec.get(field) == before.get(field):
            spec.pop(field, None)


def _warnings(spec: JSONObject) -> list[str]:
    headless = spec["type"] == "ClusterIP" and spec.get("clusterIP") == "None"
    external = spec["type"] == "ExternalName"
    warnings = []
    if headless:
        ignored = {
            "spec.loadBalancerIP": spec.get("loadBalancerIP"),
            "spec.externalIPs": spec.get("externalIPs"),
            "spec.SessionAffinity": spec["sessionAffinity"] != "None",
        }
        warnings += [f"{field} is ignored for headless services" for field, given in ignored.items() if given]
    if spec.get("externalIPs") and not headless:
        warnings.append(
            'spec.externalIPs is ignored when spec.type is "ExternalName"'
            if external
            else "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
        )
    if spec.get("externalName") and not external:
        warnings.append('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        warnings.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return warnings


def service_rules(storage: Storage, random: random.Random) -> dict[str, Factory]:
    """Return the rules of services by storage group."""
    allocator = Allocator(storage=storage, random=random)
    return {"services": partial(ServiceRules, allocator=allocator, changes=check_change)}
