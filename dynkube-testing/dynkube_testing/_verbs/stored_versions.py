"""Custom resources that are stored in a version that their CRD has no more."""

from __future__ import annotations

from dynkube_testing._calls import refuse
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version


def check_convertible(kind: Kind, *versions: Version) -> None:
    """Check that stored objects can be converted to the version of ``kind``.

    Raises:
        ServerError: The CRD has no longer the version in which an object is stored.
    """
    for version in versions:
        if lost := _lost_version(kind, version):
            raise refuse.failed(_problem(kind, lost))


def check_cached(storage: Storage, kind: Kind) -> None:
    """Check that all objects of a resource can be converted, for requests that a watch cache answers.

    Raises:
        TooManyRequests: One cannot be converted, so that a real server's watch cache cannot be filled.
    """
    if problem := cache_problem(storage, kind):
        raise refuse.too_many(problem, retry_after=1)


def cache_problem(storage: Storage, kind: Kind) -> str:
    """Return why a real server's watch cache of a resource cannot be filled; ``""`` if it can."""
    if kind.content is None:
        return ""
    versions = storage.collection(kind.storage_group).current.values()
    lost = next((lost for version in versions if (lost := _lost_version(kind, version))), "")
    if not lost:
        return ""
    return f"storage is (re)initializing: failed to list {kind.api_version}, Kind={kind.kind}: {_problem(kind, lost)}"


def _lost_version(kind: Kind, version: Version) -> str:
    return kind.content.lost_version(version.shape) if kind.content is not None else ""


def _problem(kind: Kind, version: str) -> str:
    return f"request to convert CR from an invalid group/version: {kind.gvr.group}/{version}"
