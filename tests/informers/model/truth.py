"""What a cluster holds, as the machine that writes to it knows it: no server is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dynkube import GVR
from dynkube.meta._object import Key

CUSTOM = ("widgets", "gadgets")
"""Plurals of the resources that come and go with their CRDs; all in :data:`GROUP`."""
GROUP = "example.com"
METRICS = "metrics.test"
"""The group of an API that is served without a CRD; it may come and go too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """One object, in the state that was written last."""

    resource: str
    key: Key
    uid: str
    version: str
    labels: Mapping[str, str]
    size: str
    content: int | None
    """A number that no two writes share; ``None`` where the kind has no room for one."""


@dataclass(slots=True, kw_only=True)
class Definition:
    """One CRD."""

    namespaced: bool
    served: frozenset[str]

    def serves(self, version: str) -> bool:
        """Whether it serves a version; any at all if that is empty."""
        return version in self.served if version else bool(self.served)


@dataclass(slots=True)
class Truth:
    """The CRDs, the objects of each resource, and the namespaces among them.

    CRDs and namespaces take their objects with them.
    """

    definitions: dict[str, Definition] = field(default_factory=dict)
    objects: dict[str, dict[Key, Thing]] = field(default_factory=dict)
    aggregated: bool = False
    """Whether the API of :data:`METRICS` is served."""

    def of(self, gvr: GVR) -> Mapping[Key, Thing]:
        """The objects that a server serves of a resource in this version; none if it does not."""
        if gvr.group == GROUP:
            definition = self.definitions.get(gvr.resource)
            if definition is None or not definition.serves(gvr.version):
                return {}
        if gvr.group == METRICS and not self.aggregated:
            return {}
        return self.objects.get(gvr.resource, {})

    def is_served(self, gvr: GVR) -> bool:
        """Whether a server serves it."""
        if gvr.group == GROUP:
            definition = self.definitions.get(gvr.resource)
            return definition is not None and definition.serves(gvr.version)
        return self.aggregated if gvr.group == METRICS else True

    def version_of(self, gvr: GVR) -> str:
        """The version that an informer on ``gvr`` follows: the newest if it names none."""
        if gvr.version or gvr.group != GROUP:
            return gvr.version or "v1"
        definition = self.definitions.get(gvr.resource)
        return max(definition.served, default="") if definition is not None else ""

    def is_namespaced(self, gvr: GVR) -> bool:
        """Whether its objects are in namespaces."""
        if gvr.group == GROUP:
            definition = self.definitions.get(gvr.resource)
            return definition is not None and definition.namespaced
        return gvr.resource != "namespaces"

    def namespace_labels(self, name: str) -> Mapping[str, str] | None:
        """The labels of a namespace; ``None`` if there is none of that name."""
        thing = self.objects["namespaces"].get(("", name))
        return None if thing is None else thing.labels

    def copy(self) -> Truth:
        """The same, unmoved by whatever happens to this one."""
        return Truth(
            definitions={plural: replace(definition) for plural, definition in self.definitions.items()},
            objects={resource: dict(things) for resource, things in self.objects.items()},
            aggregated=self.aggregated,
        )

    def become(self, other: Truth) -> None:
        """Take over the state of another one."""
        copied = other.copy()
        self.definitions, self.objects, self.aggregated = copied.definitions, copied.objects, copied.aggregated

    def undefine(self, plural: str) -> None:
        """A CRD went, and its objects with it."""
        self.definitions.pop(plural, None)
        self.objects.pop(plural, None)

    def delete_namespace(self, name: str) -> None:
        """A namespace went, and all that was in it."""
        self.objects["namespaces"].pop(("", name), None)
        for things in self.objects.values():
            for key in [key for key in things if key[0] == name]:
                del things[key]
