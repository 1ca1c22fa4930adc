"""What happened to an object: the events that watches and informers hand out."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from dynkube.meta._object import Unstructured

# msgspec structs, not dataclasses: one is made for every object of every list and every change.


class Added(msgspec.Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """The object is there now; ``object`` is its state.

    ``initial`` is for informers' events: whether the object belongs to the initial list of this handler or stream, as
    client-go's ``isInInitialList``. It is true until the handler has synced, and false from then on: also for objects
    of a resource that was absent when the handler synced, for those of a CRD that comes back, and for those that
    another filter shows. In the events of a watch it is false.
    """

    object: Unstructured
    initial: bool = False


class Modified(msgspec.Struct, frozen=True, gc=False):
    """A watch saw the object change; ``object`` is the new state. Informers say :class:`Updated`."""

    object: Unstructured


class Updated(msgspec.Struct, frozen=True, gc=False):
    """An informer saw the object change from ``old`` (what this subscriber was shown last) to ``new``."""

    old: Unstructured
    new: Unstructured


class Deleted(msgspec.Struct, frozen=True, gc=False):
    """The object is gone, or no longer selected.

    From a watch ``object`` is the state at deletion, from an informer the state shown last.
    """

    object: Unstructured


class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """No object changed: everything up to ``resource_version`` was seen.

    ``initial_events_end`` marks the end of the initial objects of a streaming list (KEP-3157).
    """

    resource_version: str
    initial_events_end: bool = False


WatchEvent: TypeAlias = Added | Modified | Deleted | Bookmark
InformerEvent: TypeAlias = Added | Updated | Deleted
