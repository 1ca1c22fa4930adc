"""Tables of nodes, namespaces, events and small objects of the core group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dynkube_testing._tables.ages import Ages
from dynkube_testing._tables.columns import AGE, CREATED_AT, NAME, Cell, Printer, column, wide
from dynkube_testing._tables.fields import Fields
from dynkube_testing._tables.text import NONE

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"
_UNKNOWN = "<unknown>"


def _node(obj: Fields, ages: Ages) -> Sequence[Cell]:
    info = obj.at("status.nodeInfo")
    kernel, architecture = info.text("kernelVersion") or _UNKNOWN, info.text("architecture")
    return [
        obj.name,
        _node_status(obj),
        ",".join(_roles(obj)) or NONE,
        ages.of(obj),
        info.text("kubeletVersion"),
        _address(obj, "InternalIP"),
        _address(obj, "ExternalIP"),
        info.text("osImage") or _UNKNOWN,
        f"{kernel} ({architecture})" if architecture else kernel,
        info.text("containerRuntimeVersion") or _UNKNOWN,
    ]


def _node_status(obj: Fields) -> str:
    status = "Unknown" if obj.condition("Ready") is None else "Ready" if obj.is_true("Ready") else "NotReady"
    return f"{status},SchedulingDisabled" if obj.flag("spec.unschedulable") else status


def _roles(obj: Fields) -> list[str]:
    labels = obj.mapping("metadata.labels")
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    return sorted((roles | {str(labels.get(_ROLE, ""))}) - {""})


def _address(obj: Fields, kind: str) -> str:
    addresses = (each.text("address") for each in obj.each("status.addresses") if each.text("type") == kind)
    return next(addresses, NONE)


def _namespace(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, obj.text("status.phase"), ages.of(obj)]


def _config_map(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, len(obj.mapping("data")) + len(obj.mapping("binaryData")), ages.of(obj)]


def _secret(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, obj.text("type", "Opaque"), len(obj.mapping("data")), ages.of(obj)]


def _name_and_age(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, ages.of(obj)]


def _name_and_time(obj: Fields, _ages: Ages) -> Sequence[Cell]:
    return [obj.name, obj.text("metadata.creationTimestamp")]


def _event(obj: Fields, ages: Ages) -> Sequence[Cell]:
    """Return the cells of an event of either group.

    ``events.k8s.io`` renamed some fields, and prefixed others with ``deprecated``.
    """
    target = obj.at("involvedObject") if obj.has("involvedObject") else obj.at("regarding")
    first = _first(obj, "firstTimestamp", "deprecatedFirstTimestamp", "eventTime")
    last = _first(obj, "lastTimestamp", "deprecatedLastTimestamp") or first
    count = obj.number("count") or obj.number("deprecatedCount") or 1
    if obj.has("series"):
        last, count = obj.text("series.lastObservedTime"), obj.number("series.count")
    kind = target.text("kind").lower()
    return [
        ages.since(last),
        obj.text("type"),
        obj.text("reason"),
        f"{kind}/{target.text('name')}" if target.text("name") else kind,
        target.text("fieldPath"),
        _event_source(obj),
        _first(obj, "message", "note").strip(),
        ages.since(first),
        count,
        obj.name,
    ]


def _event_source(obj: Fields) -> str:
    component = _first(
        obj, "source.component", "deprecatedSource.component", "reportingComponent", "reportingController"
    )
    host = _first(obj, "source.host", "deprecatedSource.host", "reportingInstance")
    return f"{component}, {host}" if host else component


def _first(obj: Fields, *paths: str) -> str:
    return next(filter(None, map(obj.text, paths)), "")


def _quota(obj: Fields, ages: Ages) -> Sequence[Cell]:
    hard, used = obj.mapping("status.hard"), obj.mapping("status.used")
    lines = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    limits = [line for name, line in lines.items() if name.startswith("limits.")]
    requests = [line for name, line in lines.items() if not name.startswith("limits.")]
    return [obj.name, ", ".join(requests), ", ".join(limits), ages.of(obj)]


def _component_status(obj: Fields, _ages: Ages) -> Sequence[Cell]:
    healthy = obj.condition("Healthy", "conditions")
    if healthy is None:
        return [obj.name, "Unknown", "", ""]
    status = "Healthy" if healthy.text("status") == "True" else "Unhealthy"
    return [obj.name, status, healthy.text("message"), healthy.text("error")]


def _lease(obj: Fields, ages: Ages) -> Sequence[Cell]:
    return [obj.name, obj.text("spec.holderIdentity"), ages.of(obj)]


def _priority_class(obj: Fields, ages: Ages) -> Sequence[Cell]:
    policy = obj.text("preemptionPolicy")
    return [obj.name, obj.number("value"), obj.flag("globalDefault"), ages.of(obj), policy]


NAME_AND_AGE = Printer((NAME, AGE), _name_and_age)
NAME_AND_TIME = Printer((NAME, CREATED_AT), _name_and_time)

COMPONENT_STATUSES = Printer(
    (
        NAME,
        column("Status", "Whether the component is healthy"),
        column("Message", "What it says"),
        column("Error", "What went wrong when it was asked"),
    ),
    _component_status,
)
CONFIG_MAPS = Printer((NAME, column("Data", "How many entries it has"), AGE), _config_map)
EVENTS = Printer(
    (
        column("Last Seen", "Time since it happened last"),
        column("Type", "Normal, or a warning"),
        column("Reason", "Why, in a word"),
        column("Object", "What it is about"),
        wide("Subobject", "Which part of the object it is about"),
        wide("Source", "Who says so, and where"),
        column("Message", "What happened"),
        wide("First Seen", "Time since it happened first"),
        wide("Count", "How often it happened"),
        replace(NAME, priority=1),
    ),
    _event,
)
LEASES = Printer((NAME, column("Holder", "Who holds the lease"), AGE), _lease)
NAMESPACES = Printer((NAME, column("Status", "Whether it is in use or being emptied"), AGE), _namespace)
NODES = Printer(
    (
        NAME,
        column("Status", "Whether the node is ready for pods"),
        column("Roles", "What the node is for"),
        AGE,
        column("Version", "Version of the kubelet"),
        wide("Internal-IP", "Address inside the cluster"),
        wide("External-IP", "Address outside the cluster"),
        wide("OS-Image", "Operating system"),
        wide("Kernel-Version", "Kernel, and the architecture it is built for"),
        wide("Container-Runtime", "Container runtime and its version"),
    ),
    _node,
)
PRIORITY_CLASSES = Printer(
    (
        NAME,
        column("Value", "Priority of pods of this class", "integer"),
        column("Global-Default", "Whether pods without a class get this one", "boolean"),
        AGE,
        column("PreemptionPolicy", "Whether such pods take the room of others"),
    ),
    _priority_class,
)
RESOURCE_QUOTAS = Printer(
    (
        NAME,
        column("Request", "What is used, of what may be asked for"),
        column("Limit", "What is used, of the limits that may be set"),
        AGE,
    ),
    _quota,
)
SECRETS = Printer(
    (
        NAME,
        column("Type", "What the secret is for"),
        column("Data", "How many entries it has"),
        AGE,
    ),
    _secret,
)
