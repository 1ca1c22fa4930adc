"""What happened to an object: the events that watches and informers hand out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dynkube.meta._object import Unstructured


@dataclass(frozen=True, slots=True)
class Added:
    """The object is there now; ``object`` is its state."""

    object: Unstructured


@dataclass(frozen=True, slots=True)
class Modified:
    """A watch saw the object change; ``object`` is the new state. Informers say :class:`Updated`."""

    object: Unstructured


@dataclass(frozen=True, slots=True)
class Updated:
    """An informer saw the object change from ``old`` (what this subscriber was shown last) to ``new``."""

    old: Unstructured
    new: Unstructured


@dataclass(frozen=True, slots=True)
class Deleted:
    """The object is gone, or no longer selected.

    From a watch ``object`` is the state at deletion, from an informer the state shown last.
    """

    object: Unstructured


@dataclass(frozen=True, slots=True)
class Bookmark:
    """No object changed: everything up to ``resource_version`` was seen.

    ``initial_events_end`` marks the end of the initial objects of a streaming list (KEP-3157).
    """

    resource_version: str
    initial_events_end: bool = False


WatchEvent: TypeAlias = Added | Modified | Deleted | Bookmark
InformerEvent: TypeAlias = Added | Updated | Deleted
