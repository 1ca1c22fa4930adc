"""Conversion of ``managedFields`` between an object and its Scale.

As in the real server's ``ScaleHandler``, the owners of the field with the object's replicas are the owners of
``spec.replicas`` in the Scale. An owner that a write to the Scale removes loses the field in the object.

The identity of an updater includes the version, and the version of a Scale differs from that of the object. Therefore
an updater in the Scale never matches its entry in the object, and gets a second entry without a time, which the next
write removes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from dynkube.meta import GVR
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._kinds.schemas import builtin_schemas
from dynkube_testing._patching.elements import Path
from dynkube_testing._patching.entries import Entry
from dynkube_testing._patching.fieldset import to_fields_v1

SCALE_TYPE = "io.k8s.api.autoscaling.v1.Scale"
_REPLICAS: Path = ("f:spec", "f:replicas")


def scale_kind(*, namespaced: bool) -> Kind:
    """Return the kind of Scales, which have no resource of their own."""
    return Kind(
        gvr=GVR("autoscaling", "v1", "scales"),
        kind="Scale",
        namespaced=namespaced,
        schema_source=lambda: builtin_schemas().resolved(SCALE_TYPE),
    )


@dataclass(frozen=True, slots=True)
class ScaledOwners:
    """The entries of ``managedFields`` of one object, and of its Scale.

    Attributes:
        api_version: The version of the request to the ``scale`` subresource.
        paths: The path of the replicas in each version; ``None`` in versions without a ``scale`` subresource.
        entries: The entries of the object.
    """

    api_version: str
    paths: Mapping[str, Path | None]
    entries: tuple[Entry, ...]

    def of_scale(self) -> list[Entry]:
        """Return the entries of the Scale."""
        encoded, version = to_fields_v1([_REPLICAS]), "autoscaling/v1"
        owners = (entry for entry in self.entries if self._owns_replicas(entry))
        return [replace(entry, api_version=version, encoded=encoded) for entry in owners]

    def of_object(self, scale: Iterable[Entry]) -> list[Entry]:
        """Return the new entries of the object, after a write to the Scale.

        ``scale`` are the entries of the written Scale. Those that are not in the object are added, without a time.
        """
        path = self.paths[self.api_version]
        assert path is not None, "it is scaled in this version"
        there = {entry.sort_key: entry for entry in scale if entry.owns(_REPLICAS)}
        found = []
        for entry in self.entries:
            if entry.api_version not in self.paths:
                continue
            if not self._owns_replicas(entry) or there.pop(entry.sort_key, None) is not None:
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
