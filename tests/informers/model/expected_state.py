"""The state that a cluster should have, as recorded by the machine that writes to it; the server is not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dynkube import GVR
from dynkube.meta._object import Key

CUSTOM = ("widgets", "gadgets")
"""Plurals of the resources that are served while their CRDs exist; all in :data:`GROUP`."""
GROUP = "example.com"
METRICS = "metrics.test"
"""The group of an API that is served without a CRD, at times."""
EXTRA = "extra"
"""The group of a built-in API, which an upgrade of the server adds: its name has no dot, so it has no CRD."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """One object, in its last written state."""

    resource: str
    key: Key
    uid: str
    version: str
    labels: Mapping[str, str]
    size: str
    content: int | None
    """A number that is unique to each write; ``None`` if the kind has no field for it."""


@dataclass(slots=True, kw_only=True)
class CRDState:
    """One CRD."""

    namespaced: bool
    served: frozenset[str]

    def serves(self, version: str) -> bool:
        """Return whether it serves a version, or any version if ``version`` is empty."""
        return version in self.served if version else bool(self.served)


@dataclass(slots=True)
class ExpectedState:
    """The CRDs, and the objects of each resource, including the namespaces.

    Deleting a CRD or a namespace deletes its objects.
    """

    crds: dict[str, CRDState] = field(default_factory=dict)
    objects: dict[str, dict[Key, StoredObject]] = field(default_factory=dict)
    aggregated: bool = False
    """Whether the API of :data:`METRICS` is served."""
    upgraded: bool = False
    """Whether the API of :data:`EXTRA` is served."""

    def of(self, gvr: GVR) -> Mapping[Key, StoredObject]:
        """Return the objects of a resource that are served in this version; none if it is not served."""
        if gvr.group == GROUP:
            crd = self.crds.get(gvr.resource)
            if crd is None or not crd.serves(gvr.version):
                return {}
        if gvr.group == METRICS and not self.aggregated:
            return {}
        if gvr.group == EXTRA and not self.upgraded:
            return {}
        return self.objects.get(gvr.resource, {})

    def is_served(self, gvr: GVR) -> bool:
        """Return whether the server serves the resource."""
        if gvr.group == GROUP:
            crd = self.crds.get(gvr.resource)
            return crd is not None and crd.serves(gvr.version)
        return {METRICS: self.aggregated, EXTRA: self.upgraded}.get(gvr.group, True)

    def version_of(self, gvr: GVR) -> str:
        """Return the version that an informer on ``gvr`` follows: the newest if ``gvr`` has none."""
        if gvr.version or gvr.group != GROUP:
            return gvr.version or "v1"
        crd = self.crds.get(gvr.resource)
        return max(crd.served, default="") if crd is not None else ""

    def is_namespaced(self, gvr: GVR) -> bool:
        """Return whether the resource is namespaced."""
        if gvr.group == GROUP:
            crd = self.crds.get(gvr.resource)
            return crd is not None and crd.namespaced
        return gvr.resource != "namespaces"

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        """Return the labels of a namespace; ``None`` if it does not exist."""
        stored = self.objects["namespaces"].get(("", name))
        return None if stored is None else stored.labels

    def chosen_namespaces(self) -> frozenset[str]:
        """Return the namespaces that have the label ``chosen``."""
        stored = self.objects.get("namespaces", {}).values()
        return frozenset(each.key[1] for each in stored if each.labels.get("chosen") == "yes")

    def copy(self) -> ExpectedState:
        """Return an independent copy."""
        return ExpectedState(
            crds={plural: replace(crd) for plural, crd in self.crds.items()},
            objects={resource: dict(objects) for resource, objects in self.objects.items()},
            aggregated=self.aggregated,
            upgraded=self.upgraded,
        )

    def become(self, other: ExpectedState) -> None:
        """Take over the state of ``other``."""
        copied = other.copy()
        self.crds, self.objects = copied.crds, copied.objects
        self.aggregated, self.upgraded = copied.aggregated, copied.upgraded

    def undefine(self, plural: str) -> None:
        """Delete a CRD, and its objects."""
        self.crds.pop(plural, None)
        self.objects.pop(plural, None)

    def delete_namespace(self, name: str) -> None:
        """Delete a namespace, and the objects in it."""
        self.objects["namespaces"].pop(("", name), None)
        for objects in self.objects.values():
            for key in [key for key in objects if key[0] == name]:
                del objects[key]
