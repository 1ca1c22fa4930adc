"""The APIService controller: APIServices of group-versions, and aggregated APIs.

An APIService without ``spec.service`` is a group-version of this server or of a CRD. The controller creates it, with
the label ``kube-aggregator.kubernetes.io/automanaged``. An APIService with ``spec.service`` is an aggregated API. If
kinds were registered for its group-version, this server serves them as a *stub*; otherwise the API is unavailable.
Deleting the APIService stops serving the API, and creating it again resumes it.

Known limits: requests are never proxied to the service, which only has to exist. The APIServices created by the
controller have no ``managedFields``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dynkube.meta import GroupVersion
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._store.history import Change
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version
from dynkube_testing._store.work import Allowance
from dynkube_testing._verbs.objectmeta import stamp_new
from dynkube_testing._verbs.sources import Identity

API_SERVICES = "apiservices.apiregistration.k8s.io"
_AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"
_SERVICES, _SLICES = "services", "endpointslices.discovery.k8s.io"

# groupPriorityMinimum and versionPriority of kube-apiserver's own groups.
_PRIORITIES = {
    "": (18000, 1),
    "apps": (17800, 15),
    "events.k8s.io": (17750, 15),
    "authentication.k8s.io": (17700, 15),
    "authorization.k8s.io": (17600, 15),
    "autoscaling": (17500, 15),
    "batch": (17400, 15),
    "certificates.k8s.io": (17300, 15),
    "networking.k8s.io": (17200, 15),
    "policy": (17100, 15),
    "rbac.authorization.k8s.io": (17000, 15),
    "storage.k8s.io": (16800, 15),
    "apiextensions.k8s.io": (16700, 15),
    "admissionregistration.k8s.io": (16700, 15),
    "scheduling.k8s.io": (16600, 15),
    "coordination.k8s.io": (16500, 15),
    "node.k8s.io": (16300, 15),
    "discovery.k8s.io": (16200, 15),
    "resource.k8s.io": (16200, 21),
    "flowcontrol.apiserver.k8s.io": (16100, 21),
}
_CUSTOM, _AGGREGATED = (1000, 100), (100, 100)
_LOCAL = "Local APIServices are always available"
_SERVICE_NAME = "kubernetes.io/service-name"


@dataclass(frozen=True, slots=True)
class _Seen:
    """The state of an APIService when it was last reconciled.

    Attributes:
        group_version: Its group-version.
        automanaged: Whether the controller deletes it once its group-version is not served.
        service: Whether it has a ``spec.service``.
    """

    group_version: GroupVersion
    automanaged: bool
    service: bool


class APIServiceController:
    """Keeps APIServices and served kinds consistent with each other.

    Args:
        storage: The storage of all objects.
        registry: The served kinds, and the group-versions that are unavailable.
        identity: Source of timestamps and UIDs.
        end_watches: Callback that ends the watches on a kind; called when an aggregated API is removed.
    """

    def __init__(
        self, storage: Storage, registry: Registry, identity: Identity, end_watches: Callable[[Kind], object]
    ) -> None:
        self._storage = storage
        self._registry = registry
        self._identity = identity
        self._end_watches = end_watches
        self._stubs: dict[GroupVersion, dict[str, Kind]] = {}
        self._broken: set[GroupVersion] = set()
        self._seen: dict[str, _Seen] = {}
        self._started: set[GroupVersion] = set()
        self._dirty: dict[str, None] = {}
        self._kinds_seen = -1
        storage.listen(self._changed)

    # ── called by the server ──────────────────────────────────────────────────────────────

    def register(self, kinds: tuple[Kind, ...]) -> None:
        """Serve ``kinds``.

        They are served as stubs, unless they are defined by a CRD or their group-version is one of this server. An
        APIService is created for each group-version of stubs that has none.
        """
        local = {kind.gvr.group_version for kind in self._registry} - self._stubs.keys()
        for kind in kinds:
            gv = kind.gvr.group_version
            self._registry.add(kind)
            if gv in local or kind.crd_uid is not None:
                continue
            self._stubs.setdefault(gv, {})[kind.gvr.resource] = kind
            name = _name(gv)
            self._dirty[name] = None
            if name not in self._seen:
                self._create(gv, _AGGREGATED, service=True)

    def unregister(self, kind: Kind) -> None:
        """Stop serving ``kind``.

        If it was the last kind of a stub's group-version, the APIService is deleted.
        """
        self._registry.remove(kind.gvr)
        gv = kind.gvr.group_version
        stub = self._stubs.get(gv, {})
        stub.pop(kind.gvr.resource, None)
        if gv in self._stubs and not stub:
            del self._stubs[gv]
            self._remove(_name(gv))

    def set_available(self, group_version: GroupVersion, available: bool) -> None:
        """Set whether the server of the API ``group_version`` is available."""
        (self._broken.discard if available else self._broken.add)(group_version)
        self._registry.set_available(group_version, available)
        self._dirty[_name(group_version)] = None

    # ── reconciliation ────────────────────────────────────────────────────────────

    def settle(self, allowance: Allowance) -> bool:
        """Reconcile changed APIServices; return whether there were any."""
        kinds = self._registry.of_storage(API_SERVICES)
        if not kinds:
            return False
        if self._kinds_seen != self._registry.revision:
            self._kinds_seen = self._registry.revision
            self._follow_served(allowance)
        dirty, self._dirty = self._dirty, {}
        for name in dirty:
            self._reconcile(kinds[0], name)
        return bool(dirty)

    def _changed(self, group: str, change: Change) -> None:
        if group in {_SERVICES, _SLICES}:
            self._dirty |= {name: None for name, seen in self._seen.items() if seen.service}
        if group == API_SERVICES:
            version = change.after or change.before
            assert version is not None
            self._dirty[version.name] = None

    def _follow_served(self, allowance: Allowance) -> None:
        served: dict[GroupVersion, Kind] = {}
        for kind in self._registry:
            if kind.listed:
                served.setdefault(kind.gvr.group_version, kind)
        for gv, kind in served.items():
            # kube-apiserver creates the APIServices of its own groups at startup, so a deleted one stays deleted until
            # the next start.
            if _name(gv) in self._seen or gv in self._stubs or gv in self._started:
                continue
            allowance.take()
            if kind.crd_uid is None:
                self._started.add(gv)
                group, version = _PRIORITIES.get(gv.group, _CUSTOM)
                self._create(gv, (group, 30 if gv.version == "v2" else version), label="onstart")
            else:
                self._create(gv, _CUSTOM, label="true")
        for name, seen in tuple(self._seen.items()):
            if seen.automanaged and seen.group_version not in served:
                self._remove(name)

    def _remove(self, name: str) -> None:
        # After a snapshot was restored, the APIService may not exist any more.
        if name in self._storage.collection(API_SERVICES).current:
            self._storage.remove(API_SERVICES, name)

    def _create(self, gv: GroupVersion, priorities: tuple[int, int], *, label: str = "", service: bool = False) -> None:
        kind = self._registry.stored(API_SERVICES)
        if kind is None or _name(gv) in self._storage.collection(API_SERVICES).current:
            return
        spec: JSONObject = {"group": gv.group} if gv.group else {}
        if service:
            where = {"namespace": "kube-system", "name": gv.group.replace(".", "-"), "port": 443}
            spec |= {"service": where, "insecureSkipTLSVerify": True}
        spec |= {"version": gv.version, "groupPriorityMinimum": priorities[0], "versionPriority": priorities[1]}
        metadata: JSONObject = {"name": _name(gv)} | ({"labels": {_AUTOMANAGED: label}} if label else {})
        obj: JSONObject = {"metadata": metadata, "spec": spec, "status": {}}
        stamp_new(obj, kind, self._identity)
        self._set_condition(obj, gv, service)
        self._note(self._storage.put(kind, obj), obj)

    def _reconcile(self, kind: Kind, name: str) -> None:
        version = self._storage.collection(API_SERVICES).current.get(name)
        if version is None:
            self._forget(name)
            return
        obj = version.decode(kind)
        seen = self._note(version, obj)
        available = self._set_condition(obj, seen.group_version, seen.service)
        if obj != version.decode(kind):
            self._storage.put(kind, obj)
        if seen.service:
            self._serve(seen.group_version)
        if seen.service or available or seen.group_version in self._broken:
            self._registry.set_available(seen.group_version, available)

    def _note(self, version: Version, obj: JSONObject) -> _Seen:
        spec = obj["spec"]
        seen = _Seen(
            group_version=GroupVersion(spec.get("group", ""), spec.get("version", "")),
            automanaged=obj["metadata"].get("labels", {}).get(_AUTOMANAGED) == "true",
            service=bool(spec.get("service")),
        )
        self._seen[version.name] = seen
        return seen

    def _forget(self, name: str) -> None:
        seen = self._seen.pop(name, None)
        if seen is None:
            return
        if seen.service:
            stubs = self._stubs.get(seen.group_version, {}).values()
            for kind in stubs:
                self._end_watches(kind)
            self._registry.remove(*(kind.gvr for kind in stubs))
            self._registry.set_available(seen.group_version, True)
        self._kinds_seen = -1  # if its group-version is still served, it gets a new APIService

    def _serve(self, gv: GroupVersion) -> None:
        missing = [kind for kind in self._stubs.get(gv, {}).values() if self._registry.get(kind.gvr) is None]
        if missing:
            self._registry.add(*missing)

    # ── availability ──────────────────────────────────────────────────────────────────────

    def _set_condition(self, obj: JSONObject, gv: GroupVersion, service: bool) -> bool:
        """Set the condition Available in ``obj``; return whether it is true."""
        reason, message = self._unavailable(obj["spec"], gv, service)
        status = "False" if reason else "True"
        if not reason:
            reason, message = ("Passed", "all checks passed") if service else ("Local", _LOCAL)
        conditions = (obj.setdefault("status", {}) or {}).get("conditions") or []
        old: JSONObject = next((entry for entry in conditions if entry.get("type") == "Available"), {})
        since = old["lastTransitionTime"] if old.get("status") == status else self._identity.timestamp()
        entry = {"lastTransitionTime": since, "message": message, "reason": reason, "status": status}
        others = [other for other in conditions if other.get("type") != "Available"]
        obj["status"] = {**obj["status"], "conditions": [*others, {**entry, "type": "Available"}]}
        return status == "True"

    def _unavailable(self, spec: JSONObject, gv: GroupVersion, service: bool) -> tuple[str, str]:
        """Return reason and message for an unavailable API; empty if it is available."""
        if not service:
            return ("FailedDiscoveryCheck", _unreachable(gv, "10.0.0.1:443")) if gv in self._broken else ("", "")
        if gv in self._stubs and gv not in self._broken:
            return "", ""
        namespace, name = spec["service"].get("namespace", ""), spec["service"].get("name", "")
        if gv not in self._stubs:
            if f"{namespace}/{name}" not in self._storage.collection(_SERVICES).current:
                return "ServiceNotFound", f'service/{name} in "{namespace}" is not present'
            slices = self._storage.collection(_SLICES).current.values()
            if not any(s.namespace == namespace and s.labels.get(_SERVICE_NAME) == name for s in slices):
                return "EndpointsNotFound", f'cannot find endpointslices for service/{name} in "{namespace}"'
        return "FailedDiscoveryCheck", _unreachable(gv, f"{name}.{namespace}.svc:{spec['service'].get('port', 443)}")


def _unreachable(gv: GroupVersion, host: str) -> str:
    url = f"https://{host}/apis/{gv}"
    trouble = "dial tcp: connect: connection refused"
    return f'failing or missing response from {url}: Get "{url}": {trouble}'


def _name(gv: GroupVersion) -> str:
    return f"{gv.version}.{gv.group}"
