"""What an apply gives back: the object as it is now, and whether that is news."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from dynkube.fields import same_json
from dynkube.meta import Unstructured

if TYPE_CHECKING:
    from dynkube._display import Card


class Change(StrEnum):
    """What a write has done to an object, as far as can be told."""

    CREATED = "created"
    """There was none before."""
    CHANGED = "changed"
    """It was written: values differ, or who owns them does."""
    UNCHANGED = "unchanged"
    """It is what it was, resourceVersion included: nothing was written, and no watch hears of it."""
    UNKNOWN = "unknown"
    """It was there before, and nobody knows how: the user may not read it."""


class Applied(Unstructured):
    """The object that an apply has left behind: an :class:`~dynkube.Unstructured` that knows what was done to it.

    Args:
        source: as for :class:`~dynkube.Unstructured`.
        change: what was done to it.
    """

    __slots__ = ("change",)

    def __init__(self, source: bytes | str | Mapping[str, object], change: Change) -> None:
        super().__init__(source)
        self.change: Change = change

    @property
    def changed(self) -> bool:
        """Whether something was written. True also where that is not known, so that nobody misses a change."""
        return self.change is not Change.UNCHANGED

    @property
    def terminating(self) -> bool:
        """Whether the object is being deleted, so that what was applied goes with it.

        The server takes an apply to such an object, which its finalizers or its grace period still hold. Wait for its
        end (``wait_for(name, "delete", uid=...)``) and apply again.
        """
        return self.deletion_timestamp is not None

    def __reduce__(self) -> tuple[Any, ...]:
        return Applied, (self.json, self.change)

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]} {self.change}{', terminating' if self.terminating else ''}>"

    def _card(self, now: datetime) -> Card:
        from dynkube._display import pill

        card = super()._card(now)
        words = [self.change, *(["terminating"] if self.terminating else [])]
        return replace(card, head=(*card.head, *map(pill, words)))


def change_of(before: Unstructured | None, after: Unstructured, *, dry_run: bool) -> Change:
    """What happened between two states of an object, the second of which is the answer to a write.

    Args:
        before: the object as it was; one without managedFields (informers drop them) will do.
        after: the answer.
        dry_run: nothing was written, so resourceVersions tell nothing and contents are compared.
    """
    if before is None:
        return Change.CHANGED  # the answer was no 201: somebody else has created it meanwhile
    if before.uid and before.uid != after.uid:
        return Change.CHANGED
    if not dry_run:
        same = before.resource_version == after.resource_version
    else:
        with_owners = "managedFields" in before.get("metadata", {})
        same = same_json(_content(before, with_owners), _content(after, with_owners))
    return Change.UNCHANGED if same else Change.CHANGED


def _content(obj: Unstructured, with_owners: bool) -> dict[str, Any]:
    """An object without what differs from write to write."""
    content = obj.to_dict()
    metadata = content.get("metadata", {})
    metadata.pop("resourceVersion", None)
    owners = metadata.pop("managedFields", None) or []
    if with_owners:
        metadata["managedFields"] = [{name: entry[name] for name in entry if name != "time"} for entry in owners]
    return content
