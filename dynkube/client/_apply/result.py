"""The result of an apply: the object as stored, and whether it changed."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from dynkube.fields._steps import same_json
from dynkube.meta import Unstructured


class Change(StrEnum):
    """How a write changed an object."""

    CREATED = "created"
    """The object did not exist before."""
    CHANGED = "changed"
    """Values or their ownership have changed."""
    UNCHANGED = "unchanged"
    """Nothing was written: the resourceVersion is the same, and watches get no event."""
    UNKNOWN = "unknown"
    """The object existed, but RBAC does not allow to get it, so its previous state is unknown."""


class Applied(Unstructured):
    """The result of an apply: the object as stored, with the kind of change.

    Args:
        source: the object as JSON or as a mapping.
        change: how the apply changed it.
    """

    change: Change = Change.UNKNOWN

    def __init__(self, source: bytes | str | Mapping[str, object], change: Change) -> None:
        super().__init__(source)
        self.change = change

    @property
    def changed(self) -> bool:
        """Whether the apply changed the object.

        Also true if that is unknown, so that no change is missed.
        """
        return self.change is not Change.UNCHANGED

    @property
    def terminating(self) -> bool:
        """Whether the object is being deleted, including the fields just applied.

        The server accepts an apply to an object whose deletion is delayed by finalizers or a grace period. Wait for the
        deletion (``wait_for(name, "delete", uid=...)``) and apply again.
        """
        return self.deletion_timestamp is not None

    def __reduce__(self) -> tuple[Any, ...]:
        return Applied, (self.json, self.change)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]} {self.change}{', terminating' if self.terminating else ''}>"


def change_of(before: Unstructured | None, after: Unstructured, *, dry_run: bool) -> Change:
    """Return the change made by a write.

    Args:
        before: the object before; may lack managedFields (informers drop them).
        after: the response.
        dry_run: nothing was written, so contents are compared instead of resourceVersions.
    """
    if before is None:
        return Change.CHANGED  # the response was not 201: the object was created concurrently
    if before.uid and before.uid != after.uid:
        return Change.CHANGED
    if not dry_run:
        same = before.resource_version == after.resource_version
    else:
        with_owners = "managedFields" in before.get("metadata", {})
        same = same_json(_content(before, with_owners), _content(after, with_owners))
    return Change.UNCHANGED if same else Change.CHANGED


def _content(obj: Unstructured, with_owners: bool) -> dict[str, Any]:
    """Return an object as a dict, without fields that change on every write."""
    content = obj.to_dict()
    metadata = content.get("metadata", {})
    metadata.pop("resourceVersion", None)
    owners = metadata.pop("managedFields", None) or []
    if with_owners:
        metadata["managedFields"] = [{name: entry[name] for name in entry if name != "time"} for entry in owners]
    return content
