"""The states of a reflector and the transitions between them: values, without I/O or time.

As in kube-rs's ``watcher``, each state carries what the next request needs, and nothing else is remembered:

=================  ====================================  ==========================================================
state              event                                 next state
=================  ====================================  ==========================================================
``Listing(v)``     the last page arrived, as of ``w``    ``Watching(w)``
``Listing(v)``     ... and ``w`` is older than ``v``     failure: ``HistoryWentBack``
``Streaming``      initial event                         ``Streaming``, with one object more
``Streaming``      bookmark "initial events end", ``w``  ``Watching(w)``, on the same stream
``Watching(v)``    event or bookmark of version ``w``    ``Watching(w)``, or the same if ``w`` is older or missing
``Watching(v)``    bookmark older than ``v``             failure: ``HistoryWentBack``
``Watching(v)``    the server ended the watch            ``Watching(v)``; ``Pace`` says after which pause
``Watching(v)``    ended or silent, without any event,   ``Confirming(v)``
                   and there were never bookmarks
``Confirming(v)``  the server is at ``w``                ``Watching(v)``
``Confirming(v)``  ... and ``w`` is older than ``v``     failure: ``HistoryWentBack``
any                failure                               :func:`~dynkube.informers._recovery.recover`
=================  ====================================  ==========================================================

The versions of ``Watching`` never go backwards; only through a ``Listing`` of the most recent state can an older one
come.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from dynkube.errors import TransportError
from dynkube.informers._cache import add_newest, remove_unless_newer
from dynkube.meta import Bookmark, Deleted, Key, Unstructured, WatchEvent, is_older


class StreamSilent(TransportError):
    """Neither an event nor a bookmark came for too long: the connection is taken for dead.

    ``certain`` is ``False`` where the resource has never sent a bookmark, and may just be quiet.
    """

    def __init__(self, message: str, *, certain: bool = True) -> None:
        super().__init__(message)
        self.certain = certain


class StreamCutShort(TransportError):
    """The server ended a watch at once and without any news, or ends one after the other within seconds.

    The first is often an expired version in disguise: kubernetes/kubernetes#104171, fabric8io/kubernetes-client#7896.
    """


class HistoryWentBack(TransportError):
    """The server sent a version before one that it had sent: restored from a backup, or one of several that lags."""


@dataclass(frozen=True, slots=True)
class Watching:
    """Following changes.

    Attributes:
        resource_version: the last version seen, where the next watch starts.
    """

    resource_version: str

    def advanced(self, version: str) -> Watching:
        """After an event or bookmark of ``version``; a server that lags behind, or sends none, takes nothing back."""
        return Watching(version) if version and not is_older(version, self.resource_version) else self

    def check_bookmark(self, version: str) -> None:
        """Refuse a bookmark from before what was seen.

        Of single objects it would prove nothing, as some aggregated APIs count versions for each object.

        Raises:
            HistoryWentBack: it is older.
        """
        if is_older(version, self.resource_version):
            raise HistoryWentBack(f"a bookmark of version {version} came after version {self.resource_version}")

    @property
    def listing(self) -> Listing:
        """The list that replaces this watch: not older than what was seen."""
        return Listing(self.resource_version or "0")


@dataclass(frozen=True, slots=True)
class Confirming:
    """Asking whether the server has got as far as this version, before it is watched from again.

    kube-apiserver sends nothing on a watch from a version that it has not reached, not even a bookmark. A backup that
    was restored without ``--bump-revision`` looks like a quiet resource then.
    """

    resource_version: str

    def confirm(self, version: str) -> Watching:
        """After a list of the most recent state, as of ``version``.

        Raises:
            HistoryWentBack: it is older.
        """
        if is_older(version, self.resource_version):
            raise HistoryWentBack(f"the server is at version {version}, and had sent version {self.resource_version}")
        return self.watching

    @property
    def watching(self) -> Watching:
        """The watch that goes on."""
        return Watching(self.resource_version)

    @property
    def listing(self) -> Listing:
        """The list that replaces the watch."""
        return self.watching.listing


@dataclass(frozen=True, slots=True)
class Listing:
    """Fetching all objects by a list.

    Attributes:
        resource_version: the parameter of that name: ``""`` for the most recent state, ``"0"`` for what the server has
            at hand, else not older than this.
        whole: in one response instead of pages, which expire.
    """

    resource_version: str = "0"
    whole: bool = False

    def complete(self, version: str) -> Watching:
        """After a list as of ``version``.

        Raises:
            HistoryWentBack: it is older than what was asked for.
        """
        if is_older(version, self.resource_version):
            raise HistoryWentBack(f"a list of version {version} came, not older than {self.resource_version} was asked")
        return Watching(version)

    @property
    def listing(self) -> Listing:
        """The list that is tried after this one failed: as recent, in pages."""
        return Listing(self.resource_version)


@dataclass(frozen=True, slots=True)
class Streaming:
    """Receiving the initial objects over a watch (KEP-3157): the most recent state, then changes on the same stream.

    Attributes:
        listing: the list that is made where streaming is given up.
        objects: what was received so far.
    """

    listing: Listing = Listing()
    objects: dict[Key, Unstructured] = field(default_factory=dict, compare=False)

    def receive(self, events: list[WatchEvent]) -> tuple[Bookmark, list[WatchEvent]] | None:
        """Take initial events; once all have come, returns the bookmark that says so, and what came after it."""
        for position, event in enumerate(events):
            if isinstance(event, Deleted):
                remove_unless_newer(self.objects, event.object)
            elif not isinstance(event, Bookmark):
                add_newest(self.objects, event.object)
            elif event.initial_events_end:
                return event, events[position + 1 :]
        return None

    def again(self) -> Streaming:
        """A new stream, which begins with the first object."""
        return Streaming(self.listing)


ReflectorState: TypeAlias = Listing | Streaming | Watching | Confirming


def followed(state: ReflectorState) -> str:
    """Up to which version the server's revisions are known to have been followed; ``""`` where that is not known."""
    version = "" if isinstance(state, Streaming) else state.resource_version
    return "" if version == "0" else version
