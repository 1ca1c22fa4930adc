"""Validation of resource limits and requests."""

from __future__ import annotations

from dynkube_testing._builtin import checks
from dynkube_testing._builtin.fields import Field
from dynkube_testing._kinds import naming
from dynkube_testing._schemas.quantities import each, value_of

_FOR_CONTAINERS = {"cpu", "memory", "ephemeral-storage"}
_COUNTED = {
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims",
    "services.nodeports", "services.loadbalancers",
}  # fmt: skip
_STANDARD = {
    *_FOR_CONTAINERS, *_COUNTED, *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _FOR_CONTAINERS),
    "storage", "requests.storage",
}  # fmt: skip


def check_resources(resources: Field) -> None:
    """Validate the limits and requests of a container."""
    limits, requests = each(resources.value or {}, "limits"), each(resources.value or {}, "requests")
    for name in limits:
        _check_quantity(resources.at("limits").key(name), name)
    for name, quantity in requests.items():
        _check_quantity(resources.at("requests").key(name), name)
        if name in limits:
            _compare(resources.at("requests"), name, quantity, limits[name])
        elif not overcommits(name):
            resources.at("limits").required("Limit must be set for non overcommitable resources")
    names = {*limits, *requests}
    if any(name.startswith("hugepages-") for name in names) and not names & {"cpu", "memory"}:
        resources.forbidden("HugePages require cpu or memory")


def _check_quantity(field: Field, name: str) -> None:
    check_container_resource(field, name)
    checks.not_negative_quantity(field)
    if name in _COUNTED and value_of(field.value) % 1:
        field.invalid("must be an integer")


def check_resource(field: Field, name: str) -> None:
    """Check the name of a resource of any object, which is the key of ``field``."""
    problems = naming.qualified_name_problems(name)
    for problem in problems:
        field.invalid(problem, name)
    if not problems and "/" not in name and not name.startswith("hugepages-") and name not in _STANDARD:
        field.invalid("must be a standard resource type or fully qualified", name)


def check_container_resource(field: Field, name: str) -> None:
    """Check the name of a resource of a container, which is the key of ``field``."""
    check_resource(field, name)
    if "/" not in name:
        if not name.startswith("hugepages-") and name not in _FOR_CONTAINERS:
            field.invalid("must be a standard resource for containers", name)
    elif "kubernetes.io/" not in name and (
        name.startswith("requests.") or naming.qualified_name_problem(f"requests.{name}")
    ):
        field.invalid("doesn't follow extended resource name standard", name)


def _compare(requests: Field, name: str, request: object, limit: object) -> None:
    difference = value_of(request) - value_of(limit)
    if difference and not overcommits(name):
        requests.invalid(f"must be equal to {name} limit of {limit}", request)
    elif difference > 0:
        requests.invalid(f"must be less than or equal to {name} limit of {limit}", request)


def overcommits(name: str) -> bool:
    """Whether the limit of a resource may exceed its request."""
    return ("/" not in name or "kubernetes.io/" in name) and not name.startswith("hugepages-")
