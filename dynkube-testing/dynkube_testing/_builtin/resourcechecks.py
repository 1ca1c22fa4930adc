"""Validation of resource limits and requests."""

from __future__ import annotations

from dynkube_testing._builtin.findings import BuiltinFindings
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming
from dynkube_testing._schemas.quantities import each, value_of

_STANDARD = {"cpu", "memory", "ephemeral-storage"}


def check_resources(findings: BuiltinFindings, path: str, resources: JSONObject) -> None:
    """Validate the limits and requests of a container."""
    limits, requests = each(resources, "limits"), each(resources, "requests")
    for field, quantities in (("limits", limits), ("requests", requests)):
        for name, quantity in quantities.items():
            at = f"{path}.{field}[{name}]"
            _check_resource_name(findings, at, name)
            if value_of(quantity) < 0:
                findings.invalid(at, quantity, "must be greater than or equal to 0")
            elif field == "requests" and name in limits and value_of(quantity) > value_of(limits[name]):
                detail = f"must be less than or equal to {name} limit of {limits[name]}"
                findings.invalid(f"{path}.requests", quantity, detail)
            elif field == "requests" and name not in limits and _is_extended(name):
                findings.required(f"{path}.limits", "Limit must be set for non overcommitable resources")


def _check_resource_name(findings: BuiltinFindings, at: str, name: str) -> None:
    if problem := naming.qualified_name_problem(name):
        findings.invalid(at, name, problem)
    elif "/" not in name and name not in _STANDARD and not name.startswith("hugepages-"):
        findings.invalid(at, name, "must be a standard resource type or fully qualified")
        findings.invalid(at, name, "must be a standard resource for containers")


def _is_extended(name: str) -> bool:
    return "/" in name and not name.partition("/")[0].endswith("kubernetes.io")
