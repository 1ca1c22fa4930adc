"""What a cluster holds, as the machine that writes to it knows it: no server is asked."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from dynkube import GVR
from dynkube.meta import Key

CUSTOM = ("widgets", "gadgets")
"""Plurals of the resources that come and go with their CRDs; all in :data:`GROUP`."""
GROUP = "example.com"


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


@dataclass(slots=True)
class Truth:
    """The CRDs, the objects of each resource, and the namespaces among them.

    CRDs and namespaces take their objects with them.
    """

    definitions: dict[str, Definition] = field(default_factory=dict)
    objects: dict[str, dict[Key, Thing]] = field(default_factory=dict)

    def copy(self) -> Truth:
        """The same, which stays as it is."""
        return deepcopy(self)

    def become(self, other: Truth) -> None:
        """Hold what ``other`` holds."""
        self.definitions, self.objects = deepcopy(other.definitions), deepcopy(other.objects)

    def of(self, gvr: GVR) -> Mapping[Key, Thing]:
        """The objects that a server serves of a resource in this version; none if it does not."""
        if gvr.group == GROUP:
            definition = self.definitions.get(gvr.resource)
            if definition is None or gvr.version not in definition.served:
                return {}
        return self.objects.get(gvr.resource, {})

    def is_served(self, gvr: GVR) -> bool:
        """Whether a server serves it."""
        if gvr.group == GROUP:
            definition = self.definitions.get(gvr.resource)
            return definition is not None and gvr.version in definition.served
        return True

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
