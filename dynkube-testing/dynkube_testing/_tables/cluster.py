"""Tables of nodes, namespaces, events and small objects of the core group."""

from __future__ import annotations

from dataclasses import replace

from dynkube_testing._tables.columns import (
    AGE,
    CREATED_AT,
    NAME,
    Printer,
    Value,
    boolean,
    column,
    count,
    integer,
    text,
    wide,
)
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.text import NONE

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"
_UNKNOWN = "<unknown>"


def _node_status(obj: Fields) -> str:
    status = "Unknown" if obj.condition("Ready") is None else "Ready" if obj.is_true("Ready") else "NotReady"
    return f"{status},SchedulingDisabled" if obj.flag("spec.unschedulable") else status


def _roles(obj: Fields) -> str:
    labels = obj.mapping("metadata.labels")
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    return ",".join(sorted((roles | {str(labels.get(_ROLE, ""))}) - {""})) or NONE


def _address(obj: Fields, kind: str) -> str:
    addresses = (each.text("address") for each in obj.each("status.addresses") if each.text("type") == kind)
    return next(addresses, NONE)


def _info(name: str) -> str:
    return f"status.nodeInfo.{name}"


def _known(name: str) -> Value:
    return lambda obj: obj.text(_info(name)) or _UNKNOWN


def _kernel(obj: Fields) -> str:
    kernel, architecture = obj.text(_info("kernelVersion")) or _UNKNOWN, obj.text(_info("architecture"))
    return f"{kernel} ({architecture})" if architecture else kernel


# Events of both groups. ``events.k8s.io`` renamed some fields, and prefixed others with ``deprecated``.


def _first_seen(obj: Fields) -> str:
    return _first(obj, "firstTimestamp", "deprecatedFirstTimestamp", "eventTime")


def _last_seen(obj: Fields) -> str:
    if obj.has("series"):
        return obj.text("series.lastObservedTime")
    return _first(obj, "lastTimestamp", "deprecatedLastTimestamp") or _first_seen(obj)


def _occurrences(obj: Fields) -> int:
    if obj.has("series"):
        return obj.number("series.count")
    return obj.number("count") or obj.number("deprecatedCount") or 1


def _target(obj: Fields) -> Fields:
    return obj.at("involvedObject") if obj.has("involvedObject") else obj.at("regarding")


def _target_name(obj: Fields) -> str:
    target = _target(obj)
    kind = target.text("kind").lower()
    return f"{kind}/{target.text('name')}" if target.text("name") else kind


def _event_source(obj: Fields) -> str:
    component = _first(
        obj, "source.component", "deprecatedSource.component", "reportingComponent", "reportingController"
    )
    host = _first(obj, "source.host", "deprecatedSource.host", "reportingInstance")
    return f"{component}, {host}" if host else component


def _first(obj: Fields, *paths: str) -> str:
    return next(filter(None, map(obj.text, paths)), "")


def _quota(*, limits: bool) -> Value:
    """Return the value of a column: what is used of a quota, for limits or for everything else."""

    def value(obj: Fields) -> str:
        hard, used = obj.mapping("status.hard"), obj.mapping("status.used")
        names = (name for name in sorted(hard) if name.startswith("limits.") == limits)
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return value


def _healthy(obj: Fields) -> str:
    healthy = obj.condition("Healthy", "conditions")
    status = "" if healthy is None else healthy.text("status")
    return "Unknown" if healthy is None else "Healthy" if status == "True" else "Unhealthy"


def _said(name: str) -> Value:
    return lambda obj: "" if (healthy := obj.condition("Healthy", "conditions")) is None else healthy.text(name)


NAME_AND_AGE = Printer((NAME, AGE))
NAME_AND_TIME = Printer((NAME, CREATED_AT))

COMPONENT_STATUSES = Printer(
    (
        NAME,
        column("Status", "Whether the component is healthy", _healthy),
        column("Message", "What it says", _said("message")),
        column("Error", "What went wrong when it was asked", _said("error")),
    )
)
CONFIG_MAPS = Printer((NAME, column("Data", "How many entries it has", count("data", "binaryData")), AGE))
EVENTS = Printer(
    (
        replace(column("Last Seen", "Time since it happened last"), cell=lambda obj, ages: ages.since(_last_seen(obj))),
        column("Type", "Normal, or a warning", "type"),
        column("Reason", "Why, in a word", "reason"),
        column("Object", "What it is about", _target_name),
        wide("Subobject", "Which part of the object it is about", lambda obj: _target(obj).text("fieldPath")),
        wide("Source", "Who says so, and where", _event_source),
        column("Message", "What happened", lambda obj: _first(obj, "message", "note").strip()),
        replace(
            wide("First Seen", "Time since it happened first"), cell=lambda obj, ages: ages.since(_first_seen(obj))
        ),
        wide("Count", "How often it happened", _occurrences),
        replace(NAME, priority=1),
    )
)
LEASES = Printer((NAME, column("Holder", "Who holds the lease", "spec.holderIdentity"), AGE))
NAMESPACES = Printer((NAME, column("Status", "Whether it is in use or being emptied", "status.phase"), AGE))
NODES = Printer(
    (
        NAME,
        column("Status", "Whether the node is ready for pods", _node_status),
        column("Roles", "What the node is for", _roles),
        AGE,
        column("Version", "Version of the kubelet", _info("kubeletVersion")),
        wide("Internal-IP", "Address inside the cluster", lambda obj: _address(obj, "InternalIP")),
        wide("External-IP", "Address outside the cluster", lambda obj: _address(obj, "ExternalIP")),
        wide("OS-Image", "Operating system", _known("osImage")),
        wide("Kernel-Version", "Kernel, and the architecture it is built for", _kernel),
        wide("Container-Runtime", "Container runtime and its version", _known("containerRuntimeVersion")),
    )
)
PRIORITY_CLASSES = Printer(
    (
        NAME,
        integer("Value", "Priority of pods of this class", "value"),
        boolean("Global-Default", "Whether pods without a class get this one", "globalDefault"),
        AGE,
        column("PreemptionPolicy", "Whether such pods take the room of others", "preemptionPolicy"),
    )
)
RESOURCE_QUOTAS = Printer(
    (
        NAME,
        column("Request", "What is used, of what may be asked for", _quota(limits=False)),
        column("Limit", "What is used, of the limits that may be set", _quota(limits=True)),
        AGE,
    )
)
SECRETS = Printer(
    (
        NAME,
        column("Type", "What the secret is for", text("type", "Opaque")),
        column("Data", "How many entries it has", count("data")),
        AGE,
    )
)
