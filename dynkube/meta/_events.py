"""Events of watches and informers."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from dynkube.meta._object import Unstructured

# msgspec structs rather than dataclasses, for speed: one is created for every object of every list and every change.


class Added(msgspec.Struct, frozen=True, gc=False, repr_omit_defaults=True):
    """The object was added; ``object`` is its state.

    ``initial`` tells whether the object is part of the initial list of this handler or stream, like client-go's
    ``isInInitialList``. It is true until the handler has synced, and false afterwards. So it is false for objects of a
    resource that was absent when the handler synced, for objects of a CRD that is installed again, and for objects that
    a changed filter newly selects. Only informers set it; in watch events it is always false.
    """

    object: Unstructured
    initial: bool = False


class Modified(msgspec.Struct, frozen=True, gc=False):
    """A watch reported a change; ``object`` is the new state.

    Informers emit :class:`Updated`.
    """

    object: Unstructured


class Updated(msgspec.Struct, frozen=True, gc=False):
    """An informer's object changed from ``old`` to ``new``.

    ``old`` is the state last passed to this subscriber.
    """

    old: Unstructured
    new: Unstructured


class Deleted(msgspec.Struct, frozen=True, gc=False):
    """The object was deleted, or is no longer selected.

    From a watch, ``object`` is the state at deletion; from an informer, the state last passed to this subscriber.
    """

    object: Unstructured


class Bookmark(msgspec.Struct, frozen=True, gc=False):
    """A BOOKMARK event: all changes up to ``resource_version`` were delivered.

    ``initial_events_end`` marks the end of the initial events of a streaming list (KEP-3157).
    """

    resource_version: str
    initial_events_end: bool = False


WatchEvent: TypeAlias = Added | Modified | Deleted | Bookmark
InformerEvent: TypeAlias = Added | Updated | Deleted
