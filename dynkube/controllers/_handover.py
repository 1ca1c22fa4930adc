"""What the leaders of a Lease have written, so that the next one does not act on a cache from before that.

A standby has its informers open, and its watches may lag behind those of the leader: if it takes over and reconciles at
once, it does not see the last objects that the leader has created, and creates them again. So a leader records in an
annotation of the Lease the newest resourceVersion that it has written of each collection, and the next one waits until
its caches have reached that (comparable since KEP-5504, and only within a resource).

The record is kept by collection (resource, namespace and selectors) rather than by resource: the informer of a narrower
collection does not receive what is written outside of it, and reaches its resourceVersion with the next bookmark only.
Anyone may write the annotation, so what is read is bounded and checked, and a wait for it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
import trio

from dynkube._logs import get_logger
from dynkube._server_text import word
from dynkube.controllers._cache_sources import CacheSource
from dynkube.meta._versions import is_older, version_order

WRITTEN: Final = "dynkube/written"
"""The annotation of a Lease: a JSON object of collections and resourceVersions."""

CATCH_UP: Final = 30.0
"""Seconds for which a new leader waits: longer than a watch lags, and not for ever if a backup was restored."""

_COLLECTIONS: Final = 100
_LENGTH: Final = 16_384  # characters; the API allows 256 KiB for all annotations of an object
_DIGITS: Final = 20  # of a resourceVersion, which is a uint64 in etcd

_log: Final = get_logger("dynkube.controllers")


class WrittenVersions:
    """The newest resourceVersion that was written of each collection: by this leader, and by those before it.

    Not thread-safe: for the event loop's thread.
    """

    def __init__(self) -> None:
        self._versions: dict[str, str] = {}  # the one written last is at the end
        self._leading = False
        self._stored = False  # whether the Lease has the annotation

    def take_over(self, annotations: Mapping[str, str]) -> None:
        """Continue the record of the leader before, as it is in the Lease; empty if there is none that can be read."""
        given: object = annotations.get(WRITTEN)
        self._versions = read_versions(given)
        self._leading, self._stored = True, given is not None

    def wrote(self, collection: str, version: str) -> None:
        """Record a write; no effect if its resourceVersion is opaque or older than the one recorded."""
        before = self._versions.get(collection, "")
        if _is_valid(collection, version) and not is_older(version, before):
            self._versions.pop(collection, None)
            self._versions[collection] = version
            if len(self._versions) > _COLLECTIONS:
                self._remove_oldest()

    def version(self, collection: str) -> str:
        """Return the resourceVersion that a cache of the collection has to reach; ``""`` for none."""
        return self._versions.get(collection, "")

    def give_up(self, collection: str, version: str) -> None:
        """Forget a version that no cache reaches, so that the next leader does not wait for it as well."""
        if self._versions.get(collection) == version:
            del self._versions[collection]

    def annotations(self) -> Mapping[str, str]:
        """Return the annotation to write with the Lease; none before :meth:`take_over`, so that the old one stays."""
        if not self._leading or not (self._versions or self._stored):
            return {}
        while len(text := msgspec.json.encode(self._versions).decode()) > _LENGTH:
            self._remove_oldest()
        self._stored = True
        return {WRITTEN: text}

    def _remove_oldest(self) -> None:
        del self._versions[next(iter(self._versions))]


def read_versions(text: object) -> dict[str, str]:
    """Read the annotation; what is not such a record, or too large for one, counts as none."""
    if not isinstance(text, str) or len(text) > _LENGTH:
        return {}
    try:
        found = msgspec.json.decode(text, type=dict[str, str])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return {}
    return {name: found[name] for name in [*found][:_COLLECTIONS] if _is_valid(name, found[name])}


def _is_valid(collection: str, version: str) -> bool:
    return 0 < len(collection) < _LENGTH and len(version) <= _DIGITS and version_order(version) is not None


async def catch_up(controller: str, sources: Iterable[CacheSource], written: WrittenVersions) -> None:
    """Wait until caches have reached what was written of their collections, for at most :data:`CATCH_UP` seconds.

    A resource that is not served is not waited for.

    Args:
        controller: its name, for log records.
        sources: its caches.
        written: what was written; versions that are not reached are given up.
    """
    wanted = [(source, written.version(source.collection)) for source in sources]
    behind = [(source, version) for source, version in wanted if version and not source.has_reached(version)]
    if not behind:
        return
    names = ", ".join(dict.fromkeys(source.collection for source, _ in behind))
    _log.info("controller %s: waiting for the last writes of the leader before, of %s", controller, names)
    with trio.move_on_after(CATCH_UP):
        for source, version in behind:
            await source.wait_reached(version)
    for source, version in behind:
        if not source.has_reached(version):
            written.give_up(source.collection, version)
            _log.warning(
                "controller %s: the cache of %s has not reached resourceVersion %s, which the leader before has "
                "written, within %g s: reconciling with what it has; look for a slow watch, or a restored backup",
                controller,
                source.collection,
                word(version),
                CATCH_UP,
            )
