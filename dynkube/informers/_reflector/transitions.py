"""The states of a reflector and their transitions; without I/O or time.

As in kube-rs's ``watcher``, each state has all data for the next request; nothing else is remembered:

=================  ====================================  ==========================================================
state              event                                 next state
=================  ====================================  ==========================================================
``Listing(v)``     the last page arrived, as of ``w``    ``Watching(w)``
``Listing(v)``     ... and ``w`` is older than ``v``     failure: ``ResourceVersionRegressed``
``Streaming``      initial event                         ``Streaming``, with one more object
``Streaming``      bookmark "initial events end", ``w``  ``Watching(w)``, on the same stream
``Streaming``      ... ``w`` older than its list's       failure: ``ResourceVersionRegressed``
``Watching(v)``    event or bookmark of version ``w``    ``Watching(w)``, or the same if ``w`` is older or missing
``Watching(v)``    bookmark older than ``v``             failure: ``ResourceVersionRegressed``
``Watching(v)``    the server ended the watch            ``Watching(v)``, after the pause that ``Pace`` returns
``Watching(v)``    ended or silent without any event,    ``Confirming(v)``
                   and no bookmark ever came
``Confirming(v)``  the server is at ``w``                ``Watching(v)``
``Confirming(v)``  ... and ``w`` is older than ``v``     failure: ``ResourceVersionRegressed``
any                failure                               :func:`~dynkube.informers._reflector.recovery.recover`
=================  ====================================  ==========================================================

The version of ``Watching`` never goes back, except through a ``Listing`` of the most recent state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from dynkube.errors import TransportError
from dynkube.informers._cache.store import ListedObjects
from dynkube.meta import Bookmark, Deleted, WatchEvent
from dynkube.meta._versions import is_older


class StreamSilent(TransportError):
    """No event or bookmark was received for too long.

    The connection is considered dead. ``certain`` is ``False`` if this resource never had bookmarks, so that there may
    just have been no changes.
    """

    def __init__(self, message: str, *, certain: bool = True) -> None:
        super().__init__(message)
        self.certain = certain


class StreamCutShort(TransportError):
    """The server ended a watch at once without any event, or several within seconds.

    A watch that ends at once often means that the resourceVersion expired: kubernetes/kubernetes#104171,
    fabric8io/kubernetes-client#7896.
    """


class ResourceVersionRegressed(TransportError):
    """The server sent a resourceVersion older than one that it had sent before.

    Either etcd was restored from a backup, or the response came from a replica that lags behind.
    """


@dataclass(frozen=True, slots=True)
class Watching:
    """Watching for changes.

    Attributes:
        resource_version: the last version received, from which the next watch starts.
    """

    resource_version: str

    def advanced(self, version: str) -> Watching:
        """Return the state after an event or bookmark of ``version``.

        An older version (from a server that lags behind) or a missing version changes nothing.
        """
        return Watching(version) if version and not is_older(version, self.resource_version) else self

    def check_bookmark(self, version: str) -> None:
        """Check that a bookmark is not older than the last version.

        Objects are not checked, as some aggregated APIs count versions per object.

        Raises:
            ResourceVersionRegressed: the bookmark is older.
        """
        if is_older(version, self.resource_version):
            raise ResourceVersionRegressed(
                f"received a bookmark of resourceVersion {version} after {self.resource_version}"
            )

    @property
    def listing(self) -> Listing:
        """The list that replaces this watch, not older than its last version."""
        return Listing(self.resource_version or "0")


@dataclass(frozen=True, slots=True)
class Confirming:
    """Checking that the server has reached this version, before the next watch.

    If a watch starts from a version that kube-apiserver has not reached, the server sends nothing, not even a bookmark.
    So after etcd was restored from a backup without ``--bump-revision``, the resource seems to have no changes.
    """

    resource_version: str

    def confirm(self, version: str) -> Watching:
        """Return the state after a list of the most recent state, as of ``version``.

        Raises:
            ResourceVersionRegressed: ``version`` is older.
        """
        if is_older(version, self.resource_version):
            raise ResourceVersionRegressed(
                f"the server is at resourceVersion {version}, but had sent {self.resource_version}"
            )
        return self.watching

    @property
    def watching(self) -> Watching:
        """The watch to continue with."""
        return Watching(self.resource_version)

    @property
    def listing(self) -> Listing:
        """The list that replaces the watch."""
        return self.watching.listing


@dataclass(frozen=True, slots=True)
class Listing:
    """Listing all objects.

    Attributes:
        resource_version: the query parameter: ``""`` for the most recent state, ``"0"`` for any state (from the watch
            cache), else a state not older than this.
        whole: whether to list in one response instead of pages, which expire.
    """

    resource_version: str = "0"
    whole: bool = False

    def complete(self, version: str) -> Watching:
        """Return the state after a list as of ``version``.

        Raises:
            ResourceVersionRegressed: ``version`` is older than requested.
        """
        if is_older(version, self.resource_version):
            raise ResourceVersionRegressed(
                f"received a list of resourceVersion {version}, requested not older than {self.resource_version}"
            )
        return Watching(version)

    @property
    def listing(self) -> Listing:
        """The list to try after this one failed: of the same version, in pages."""
        return Listing(self.resource_version)


@dataclass(frozen=True, slots=True)
class Streaming:
    """Receiving the initial objects over a watch (streaming list, KEP-3157).

    The objects are the most recent state; changes follow on the same stream.

    Attributes:
        listing: the list to fall back to.
        objects: the objects received so far.
    """

    listing: Listing = Listing()
    objects: ListedObjects = field(default_factory=ListedObjects, compare=False)

    def receive(self, events: list[WatchEvent]) -> tuple[Bookmark, list[WatchEvent]] | None:
        """Add initial events.

        Returns:
            ``None`` until all were received; then the bookmark that marks their end, and the events after it.
        """
        for position, event in enumerate(events):
            if isinstance(event, Deleted):
                self.objects.remove(event.object)
            elif not isinstance(event, Bookmark):
                self.objects.add(event.object)
            elif event.initial_events_end:
                return event, events[position + 1 :]
        return None

    def complete(self, version: str) -> Watching:
        """Return the state after the initial events as of ``version``.

        Raises:
            ResourceVersionRegressed: ``version`` is older than that of the list that was replaced by the stream.
        """
        return self.listing.complete(version)

    def again(self) -> Streaming:
        """Return the state for a new stream, which sends all objects again."""
        return Streaming(self.listing)


ReflectorState: TypeAlias = Listing | Streaming | Watching | Confirming


def followed(state: ReflectorState) -> str:
    """Return the last resourceVersion received in ``state``; ``""`` if not known."""
    version = "" if isinstance(state, Streaming) else state.resource_version
    return "" if version == "0" else version
