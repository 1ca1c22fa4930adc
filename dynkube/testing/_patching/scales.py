"""Mapping of the owners of an object's replicas to those of its Scale, and back.

An owner of the replicas owns one field of the Scale, which is another field in the object: as in the real server's
``ScaleHandler``, the owners of that field are the owners of the Scale, and an owner that is removed from the Scale
loses the field in the object. The identity of an updater includes the version, and a Scale has another one than its
object: so updaters are never found again, and each gets a second entry, without a time, which the next write drops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dynkube.meta import GVR
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._kinds.schemas import builtin_schemas
from dynkube.testing._patching.elements import Path
from dynkube.testing._patching.entries import Entry
from dynkube.testing._patching.fieldset import to_fields_v1

SCALE_TYPE = "io.k8s.api.autoscaling.v1.Scale"
_REPLICAS: Path = ("f:spec", "f:replicas")


def scale_kind(*, namespaced: bool) -> Kind:
    """Return the kind of all Scales; it is not served by itself."""
    return Kind(
        gvr=GVR("autoscaling", "v1", "scales"),
        kind="Scale",
        namespaced=namespaced,
        schema_source=lambda: builtin_schemas().resolved(SCALE_TYPE),
    )


@dataclass(frozen=True, slots=True)
class ScaledOwners:
    """The owners of one object, and of its Scale.

    Attributes:
        api_version: The version in which it is scaled.
        paths: The path of the replicas in each version; ``None`` in those that cannot be scaled.
        entries: The owners of the object.
    """

    api_version: str
    paths: Mapping[str, Path | None]
    entries: tuple[Entry, ...]

    def of_scale(self) -> list[Entry]:
        """Return the owners of the Scale."""
        encoded, version = to_fields_v1([_REPLICAS]), "autoscaling/v1"
        owners = (entry for entry in self.entries if self._owns_replicas(entry))
        return [replace(entry, api_version=version, encoded=encoded) for entry in owners]

    def of_object(self, scale: Iterable[Entry]) -> list[Entry]:
        """Return the object's owners, given those of its Scale; new ones have no time."""
        path = self.paths[self.api_version]
        assert path is not None, "it is scaled in this version"
        there = {entry.told: entry for entry in scale if entry.owns(_REPLICAS)}
        found = []
        for entry in self.entries:
            if entry.api_version not in self.paths:
                continue
            if not self._owns_replicas(entry) or there.pop(entry.told, None) is not None:
                found.append(entry)
            else:
                own = self.paths[entry.api_version]
                found.append(entry.without(frozenset({own} if own else ())))
        encoded = to_fields_v1([path])
        new = [replace(entry, api_version=self.api_version, time="", encoded=encoded) for entry in there.values()]
        return [entry for entry in (*found, *new) if entry.encoded]

    def _owns_replicas(self, entry: Entry) -> bool:
        path = self.paths.get(entry.api_version)
        return path is not None and entry.owns(path)
