"""Warnings about the variables, ports and quantities of containers."""

from __future__ import annotations

from collections.abc import Iterator

from dynkube_testing._builtin.sections import indexed
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import quoted
from dynkube_testing._schemas.quantities import each, value_of

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")


def named_containers(spec: JSONObject, at: str) -> Iterator[tuple[str, JSONObject]]:
    """Yield path and container for all types of containers of the pod spec at ``at``."""
    return (found for field in CONTAINER_LISTS for found in indexed(spec, at, field))


def container_warnings(spec: JSONObject, at: str) -> Iterator[str]:
    """Yield the warnings for all containers of the pod spec at the path ``at``."""
    containers = list(named_containers(spec, at))
    for path, container in containers:
        resources = container.get("resources") or {}
        yield from fractions(resources, f"{path}.resources", "limits", "requests")
        yield from _variable_warnings(path, container)
    ports = [found for path, container in containers for found in indexed(container, path, "ports")]
    yield from _port_warnings(ports)
    yield from _port_name_warnings(ports)


def fractions(owner: JSONObject, at: str, *names: str) -> Iterator[str]:
    """Yield warnings for fractional bytes in the maps ``names`` of ``owner``."""
    for resource in ("memory", "ephemeral-storage"):
        for name in names:
            if warning := fraction(each(owner, name).get(resource), f"{at}.{name}[{resource}]"):
                yield warning


def fraction(amount: object, path: str) -> str:
    """Return the warning if ``amount`` is a fractional number of bytes, else ``""``."""
    if amount is None or value_of(amount) % 1 == 0:
        return ""
    return f"{path}: fractional byte value {quoted(str(amount))} is invalid, must be an integer"


def _variable_warnings(path: str, container: JSONObject) -> Iterator[str]:
    """Yield warnings for redefined variables that do not refer to their former value.

    The name is the merge key of the list, so an apply may drop one of the definitions.
    """
    seen = set[str]()
    for place, variable in indexed(container, path, "env"):
        name = variable.get("name", "")
        value, former = variable.get("value") or "", f"$({name})"
        replaced = bool(variable.get("valueFrom")) or value == former or former not in value
        if name in seen and replaced:
            yield f"{place}: hides previous definition of {quoted(name)}, which may be dropped when using apply"
        seen.add(name)


def _port_warnings(ports: list[tuple[str, JSONObject]]) -> Iterator[str]:
    """Yield warnings for duplicate or overlapping ports, and for a ``hostIP`` alone."""
    others: dict[tuple[object, object], list[tuple[str, JSONObject]]] = {}
    for path, port in ports:
        address, on_host = port.get("hostIP") or "", port.get("hostPort") or 0
        if address and not on_host:
            yield f"{path}: hostIP set without hostPort: {_in_go(port)}"
        same = others.setdefault((port.get("containerPort"), port.get("protocol")), [])
        for place, other in same:
            other_address, other_on_host = other.get("hostIP") or "", other.get("hostPort") or 0
            if (address, on_host) == (other_address, other_on_host):
                yield f"{path}: duplicate port definition with {place}"
            elif not on_host or not other_on_host:
                yield f"{path}: overlapping port definition with {place}"
            elif on_host == other_on_host and bool(address) != bool(other_address):
                yield f"{path}: dangerously ambiguous port definition with {place}"
        same.append((path, port))


def _in_go(port: JSONObject) -> str:
    """Format a port like Go prints the struct."""
    fields = {
        "Name": port.get("name") or "",
        "HostPort": port.get("hostPort") or 0,
        "ContainerPort": port.get("containerPort") or 0,
        "Protocol": port.get("protocol") or "",
        "HostIP": port.get("hostIP") or "",
    }
    return f"{{{' '.join(f'{name}:{value}' for name, value in fields.items())}}}"


def _port_name_warnings(ports: list[tuple[str, JSONObject]]) -> Iterator[str]:
    first: dict[str, str] = {}
    for path, port in ports:
        if not (name := port.get("name")):
            continue
        if other := first.get(name):
            chosen = f"services and probes that select ports by name will use {other}"
            yield f"{path}: duplicate port name {quoted(name)} with {other}, {chosen}"
        first.setdefault(name, path)
