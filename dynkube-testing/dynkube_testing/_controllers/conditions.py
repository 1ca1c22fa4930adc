"""The conditions of a namespace that is being deleted.

They are those of the namespace controller in kube-controller-manager.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dynkube.meta import GVR
from dynkube_testing._calls.api import JSONObject


class _Text(NamedTuple):
    reason: str
    message: str


# All conditions in order, with reason and message while the status is False, which means no problem.
_WELL: Mapping[str, _Text] = {
    "NamespaceDeletionDiscoveryFailure": _Text("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": _Text(
        "ParsedGroupVersions", "All legacy kube types successfully parsed"
    ),
    "NamespaceDeletionContentFailure": _Text(
        "ContentDeleted", "All content successfully deleted, may be waiting on finalization"
    ),
    "NamespaceContentRemaining": _Text("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": _Text("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


@dataclass(slots=True)
class Remains:
    """The remaining content of a namespace that is being deleted.

    Attributes:
        objects: The number of remaining objects of each resource.
        finalizers: The number of remaining objects with each finalizer.
        undiscovered: Group-versions whose server is unavailable, so that their objects are unknown.
        refusals: The messages of errors of deletions.
    """

    objects: dict[GVR, int] = field(default_factory=dict)
    finalizers: dict[str, int] = field(default_factory=dict)
    undiscovered: tuple[str, ...] = ()
    refusals: list[str] = field(default_factory=list)

    def add(self, gvr: GVR, finalizers: tuple[str, ...]) -> None:
        """Count a remaining object of the resource ``gvr``, with its finalizers."""
        self.objects[gvr] = self.objects.get(gvr, 0) + 1
        for name in finalizers:
            self.finalizers[name] = self.finalizers.get(name, 0) + 1

    def __bool__(self) -> bool:
        """Return whether the namespace must not be removed yet."""
        return bool(self.objects or self.undiscovered or self.refusals)

    def troubles(self) -> dict[str, _Text]:
        """Return reason and message of the conditions whose status is True, by type."""
        troubles = {}
        if groups := self.undiscovered:
            stale = ", ".join(f"{group}: stale GroupVersion discovery: {group}" for group in groups)
            text = (
                f"Discovery failed for some groups, {len(groups)} failing: "
                f"unable to retrieve the complete list of server APIs: {stale}"
            )
            troubles["NamespaceDeletionDiscoveryFailure"] = _Text("DiscoveryFailed", text)
        if self.refusals:
            text = f"Failed to delete all resource types, {len(self.refusals)} remaining: "
            text += ", ".join(sorted(self.refusals))
            troubles["NamespaceDeletionContentFailure"] = _Text("ContentDeletionFailed", text)
        if self.objects:
            listed = sorted(
                f"{gvr.resource}.{gvr.group} has {count} resource instances" for gvr, count in self.objects.items()
            )
            text = f"Some resources are remaining: {', '.join(listed)}"
            troubles["NamespaceContentRemaining"] = _Text("SomeResourcesRemain", text)
        if self.finalizers:
            listed = sorted(f"{name} in {count} resource instances" for name, count in self.finalizers.items())
            text = f"Some content in the namespace has finalizers remaining: {', '.join(listed)}"
            troubles["NamespaceFinalizersRemaining"] = _Text("SomeFinalizersRemain", text)
        return troubles


def set_conditions(namespace: JSONObject, remains: Remains, time: str) -> bool:
    """Set the conditions of ``namespace``; return whether any changed.

    ``lastTransitionTime`` is set to ``time`` if the status of a condition changes.
    """
    before = {entry.get("type"): entry for entry in namespace["status"].get("conditions") or ()}
    after = {**before}
    troubles = remains.troubles()
    for kind, well in _WELL.items():
        reason, message = troubles.get(kind, well)
        status, old = "True" if kind in troubles else "False", before.get(kind, {})
        after[kind] = {
            "type": kind,
            "status": status,
            "lastTransitionTime": old["lastTransitionTime"] if old.get("status") == status else time,
            "reason": reason,
            "message": message,
        }
    namespace["status"]["conditions"] = list(after.values())
    return after != before
