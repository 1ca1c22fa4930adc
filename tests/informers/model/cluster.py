"""The machine's access to the cluster; each write is recorded in ``ExpectedState``, as the server returned it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from dynkube import GVR
from dynkube.errors import APIError, NoMatch
from dynkube.meta._object import Key
from dynkube_testing import APIServer, Kind, Snapshot
from tests.informers.kit import CRDS, crd, namespace
from tests.informers.model.expected_state import CUSTOM, EXTRA, GROUP, METRICS, CRDState, ExpectedState, StoredObject

KINDS = {"widgets": "Widget", "gadgets": "Gadget", "configmaps": "ConfigMap", "gauges": "Gauge", "extras": "Extra"}
GAUGES = Kind(gvr=GVR(METRICS, "v1", "gauges"), kind="Gauge", namespaced=True)
EXTRAS = Kind(gvr=GVR(EXTRA, "v1", "extras"), kind="Extra", namespaced=True)
"""The resources that are served without a CRD."""
_APIS = {"gauges": METRICS, "extras": EXTRA}


class Cluster:
    """An embedded server, and the state that it should have.

    Requests that the server rejects (the kind is not served, the namespace is gone) change neither.
    """

    def __init__(self, server: APIServer, expected_state: ExpectedState) -> None:
        self.server = server
        self.expected_state = expected_state
        self.ever_written: set[Key] = set()
        self.changed: Callable[[], object] = lambda: None
        """Called after each change."""
        self._writes = 0
        expected_state.objects["namespaces"] = {}
        for found in server.list("namespaces"):
            self._note("namespaces", found, None)
        expected_state.objects["configmaps"] = {}
        for name in ("blue", "green"):
            self.put_namespace(name, chosen=False)

    # ── objects ──────────────────────────────────────────────────────────────────────────────

    def put(self, resource: str, key: Key, team: str, size: str) -> Mapping[str, Any] | None:
        """Create an object, or replace its content; return the stored object."""
        body = self._body(resource, key, team, size)
        if body is None:
            return None
        with suppress(APIError, NoMatch):
            write = self.server.update if self._known(resource, key) else self.server.create
            stored = write(body)
            self._note(resource, stored, self._writes)
            return stored
        return None

    def put_as(self, gvr: GVR, key: Key, team: str, size: str) -> Mapping[str, Any] | None:
        """Like ``put``, in a version of the resource; ``None`` if that version is not served."""
        return self.put(gvr.resource, key, team, size) if self.expected_state.is_served(gvr) else None

    def flash(self, resource: str) -> None:
        """Create an object with a new name, and delete it."""
        key = ("blue", f"flash-{self._writes}")
        if self.put(resource, key, "x", "small") is not None:
            self.delete(resource, key)

    def delete(self, resource: str, key: Key) -> None:
        """Delete an object, if it exists."""
        key = self._placed(resource, key)
        if self._known(resource, key):
            with suppress(APIError, NoMatch):
                self.server.delete(self._plural(resource), key[1], key[0] or None)
                del self.expected_state.objects[resource][key]
                self.changed()

    def _known(self, resource: str, key: Key) -> bool:
        return self._placed(resource, key) in self.expected_state.objects.get(resource, {})

    def _placed(self, resource: str, key: Key) -> Key:
        defined = self.expected_state.crds.get(resource)
        return ("", key[1]) if defined is not None and not defined.namespaced else key

    def _plural(self, resource: str) -> str:
        if resource in _APIS:
            return f"{resource}.{_APIS[resource]}"
        return f"{resource}.{GROUP}" if resource in CUSTOM else resource

    def _body(self, resource: str, key: Key, team: str, size: str) -> dict[str, Any] | None:
        if resource not in KINDS:
            return None
        version, where = f"{_APIS[resource]}/v1" if resource in _APIS else "v1", self._placed(resource, key)[0]
        if resource in CUSTOM:
            defined = self.expected_state.crds.get(resource)
            if defined is None or not defined.served:
                return None
            version = f"{GROUP}/{min(defined.served)}"
        self._writes += 1
        field = "data" if resource == "configmaps" else "spec"
        return {
            "apiVersion": version,
            "kind": KINDS[resource],
            "metadata": {
                "name": key[1],
                **({"namespace": where} if where else {}),
                "labels": {"team": team},
                "annotations": {"size": size},
            },
            field: {"content": str(self._writes)},
        }

    def _note(self, resource: str, stored: Mapping[str, Any], content: int | None) -> None:
        metadata = stored["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        self.ever_written.add(key)
        self.expected_state.objects.setdefault(resource, {})[key] = StoredObject(
            resource=resource,
            key=key,
            uid=metadata["uid"],
            version=metadata["resourceVersion"],
            labels=metadata.get("labels") or {},
            size=(metadata.get("annotations") or {}).get("size", ""),
            content=content,
        )
        self.changed()

    # ── namespaces ───────────────────────────────────────────────────────────────────────────

    def put_namespace(self, name: str, *, chosen: bool) -> None:
        """Create a namespace, or change its labels."""
        body = namespace(name, {"chosen": "yes"} if chosen else {})
        with suppress(APIError):
            known = self._known("namespaces", ("", name))
            self._note("namespaces", self.server.update(body) if known else self.server.create(body), None)

    def delete_namespace(self, name: str) -> None:
        """Delete a namespace and all its objects."""
        with suppress(APIError):
            self.server.delete("namespaces", name)
            self.expected_state.delete_namespace(name)
            self.changed()

    # ── CRDs ─────────────────────────────────────────────────────────────────────────────────

    def define(self, plural: str, versions: Iterable[str], *, namespaced: bool) -> None:
        """Create a CRD."""
        with suppress(APIError):
            self.server.create(crd(plural, served=versions, scope="Namespaced" if namespaced else "Cluster"))
            self.expected_state.crds[plural] = CRDState(namespaced=namespaced, served=frozenset(versions))
            self.changed()

    def serve(self, plural: str, versions: Iterable[str]) -> None:
        """Edit a CRD to serve exactly these versions. Versions that it had before stay in it, not served."""
        if plural not in self.expected_state.crds:
            return
        body: Any = self.server.get(CRDS, f"{plural}.{GROUP}")
        listed = body["spec"]["versions"]
        missing = set(versions) - {version["name"] for version in listed}
        listed += [{**listed[0], "name": name, "storage": False} for name in sorted(missing)]
        for version in listed:
            version["served"] = version["name"] in versions
        with suppress(APIError):
            self.server.update(body)
            self.expected_state.crds[plural].served = frozenset(versions)
            self.changed()

    def undefine(self, plural: str) -> None:
        """Delete a CRD and all of its objects."""
        with suppress(APIError):
            self.server.delete(CRDS, f"{plural}.{GROUP}")
            self.expected_state.undefine(plural)
            self.changed()

    # ── resources without a CRD ──────────────────────────────────────────────────────────────

    def aggregate(self, *, served: bool) -> None:
        """Start or stop serving an API without a CRD; its objects are kept."""
        if served == self.expected_state.aggregated:
            return
        if served:
            self.server.register(GAUGES)
        else:
            self.server.unregister(GAUGES.gvr)
        self.expected_state.aggregated = served
        self.changed()

    def upgrade(self) -> None:
        """Serve a built-in API that was not served before."""
        if not self.expected_state.upgraded:
            self.server.register(EXTRAS)
            self.expected_state.upgraded = True
            self.changed()

    # ── history ──────────────────────────────────────────────────────────────────────────────

    def back_up(self) -> tuple[Snapshot, ExpectedState]:
        """Return a snapshot of the server and a copy of the expected state."""
        return self.server.snapshot(), self.expected_state.copy()

    def restore(self, backup: tuple[Snapshot, ExpectedState], *, rewind: bool) -> None:
        """Restore exactly that state. With ``rewind``, resourceVersions are counted from there again."""
        (snapshot, expected_state), aggregated = backup, self.expected_state.aggregated
        self.server.restore(snapshot, rewind=rewind)
        self.expected_state.become(expected_state)
        # The backup does not contain whether the API is served; its APIService has to agree with that.
        self.expected_state.aggregated = aggregated
        if aggregated:
            self.server.register(GAUGES)
        else:
            with suppress(APIError):
                self.server.delete("apiservices", f"v1.{METRICS}")
        self.changed()
