"""The machine's hand on the cluster: whatever it writes is noted in the truth, from what the write returned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from dynkube.errors import APIError, NoMatch
from dynkube.meta import Key
from dynkube.testing import APIServer
from tests.informers.kit import CRDS, crd, namespace
from tests.informers.model.truth import CUSTOM, GROUP, Definition, Thing, Truth

KINDS = {"widgets": "Widget", "gadgets": "Gadget", "configmaps": "ConfigMap"}


class Cluster:
    """An embedded server and the truth about it.

    What the server refuses (nothing serves this kind now, the namespace is gone) changes neither.
    """

    def __init__(self, server: APIServer, truth: Truth) -> None:
        self.server = server
        self.truth = truth
        self.ever_written: set[Key] = set()
        self._writes = 0
        truth.objects["namespaces"] = {}
        for found in server.list("namespaces"):
            self._note("namespaces", found, None)
        truth.objects["configmaps"] = {}
        for name in ("blue", "green"):
            self.put_namespace(name, chosen=False)

    # ── objects ──────────────────────────────────────────────────────────────────────────────

    def put(self, resource: str, key: Key, team: str, size: str) -> None:
        """Create an object, or replace its content."""
        body = self._body(resource, key, team, size)
        if body is None:
            return
        with suppress(APIError, NoMatch):
            write = self.server.update if self._known(resource, key) else self.server.create
            self._note(resource, write(body), self._writes)

    def delete(self, resource: str, key: Key) -> None:
        """Delete an object, if there is one."""
        key = self._placed(resource, key)
        if self._known(resource, key):
            with suppress(APIError, NoMatch):
                self.server.delete(self._plural(resource), key[1], key[0] or None)
                del self.truth.objects[resource][key]

    def _known(self, resource: str, key: Key) -> bool:
        return self._placed(resource, key) in self.truth.objects.get(resource, {})

    def _placed(self, resource: str, key: Key) -> Key:
        definition = self.truth.definitions.get(resource)
        return ("", key[1]) if definition is not None and not definition.namespaced else key

    def _plural(self, resource: str) -> str:
        return f"{resource}.{GROUP}" if resource in CUSTOM else resource

    def _body(self, resource: str, key: Key, team: str, size: str) -> dict[str, Any] | None:
        version, where = "v1", self._placed(resource, key)[0]
        if resource in CUSTOM:
            definition = self.truth.definitions.get(resource)
            if definition is None or not definition.served:
                return None
            version = f"{GROUP}/{min(definition.served)}"
        self._writes += 1
        field = "spec" if resource in CUSTOM else "data"
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
        self.truth.objects.setdefault(resource, {})[key] = Thing(
            resource=resource,
            key=key,
            uid=metadata["uid"],
            version=metadata["resourceVersion"],
            labels=metadata.get("labels") or {},
            size=(metadata.get("annotations") or {}).get("size", ""),
            content=content,
        )

    # ── namespaces ───────────────────────────────────────────────────────────────────────────

    def put_namespace(self, name: str, *, chosen: bool) -> None:
        """Create a namespace, or label it otherwise."""
        body = namespace(name, {"chosen": "yes"} if chosen else {})
        with suppress(APIError):
            known = self._known("namespaces", ("", name))
            self._note("namespaces", self.server.update(body) if known else self.server.create(body), None)

    def delete_namespace(self, name: str) -> None:
        """Delete a namespace and all that is in it."""
        with suppress(APIError):
            self.server.delete("namespaces", name)
            self.truth.delete_namespace(name)

    # ── CRDs ─────────────────────────────────────────────────────────────────────────────────

    def define(self, plural: str, versions: Iterable[str], *, namespaced: bool) -> None:
        """Create a CRD."""
        with suppress(APIError):
            self.server.create(crd(plural, served=versions, scope="Namespaced" if namespaced else "Cluster"))
            self.truth.definitions[plural] = Definition(namespaced=namespaced, served=frozenset(versions))

    def serve(self, plural: str, versions: Iterable[str]) -> None:
        """Edit a CRD: serve these versions and no others. Those it once had stay in it, not served."""
        if plural not in self.truth.definitions:
            return
        definition: Any = self.server.get(CRDS, f"{plural}.{GROUP}")
        listed = definition["spec"]["versions"]
        missing = set(versions) - {version["name"] for version in listed}
        listed += [{**listed[0], "name": name, "storage": False} for name in sorted(missing)]
        for version in listed:
            version["served"] = version["name"] in versions
        with suppress(APIError):
            self.server.update(definition)
            self.truth.definitions[plural].served = frozenset(versions)

    def undefine(self, plural: str) -> None:
        """Delete a CRD and all of its objects."""
        with suppress(APIError):
            self.server.delete(CRDS, f"{plural}.{GROUP}")
            self.truth.undefine(plural)
