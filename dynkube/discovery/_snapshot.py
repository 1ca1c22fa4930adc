"""Assembly of a snapshot from documents and the previous snapshot. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from dynkube.discovery._documents import RootDocument, VersionDocument
from dynkube.discovery._resources import EVERYTHING, APIDiscovery, APIResource
from dynkube.errors import DiscoveryFailed, DynkubeError
from dynkube.meta import GroupVersion

Documents: TypeAlias = Mapping[GroupVersion, tuple[APIResource, ...] | DynkubeError]
"""The results for the group-versions that were read individually."""


def assemble(
    roots: Mapping[str, RootDocument | DynkubeError], documents: Documents, last: APIDiscovery
) -> APIDiscovery:
    """Build a snapshot.

    Args:
        roots: the lists of groups, core first. For a list that could not be read the value is the error, and the key
            (``"v1"`` or ``"*"``) becomes the key of the failure.
        documents: the group-versions that were read individually.
        last: the previous snapshot: failed parts keep their resources from there.
    """
    resources: list[APIResource] = []
    failures: dict[str, Exception] = {}
    for key, root in roots.items():
        if isinstance(root, DynkubeError):
            failures[key] = root
            # The groups of this list are unknown now, so their resources are kept, but not their earlier failures.
            resources += (r for r in last.resources if bool(r.gvr.group) == (key == EVERYTHING))
            continue
        for gv, preferred, version in _versions(root):
            entries, failure = _read(gv, version, documents)
            if failure is not None:
                failures[str(gv)] = failure
                entries = entries or last.group_version(gv)
            resources += (_preferring(preferred, entry) for entry in entries)
    read = [root.aggregated for root in roots.values() if isinstance(root, RootDocument)]
    aggregated = all(read) if read else last.aggregated
    return APIDiscovery(resources=tuple(resources), failures=failures, aggregated=aggregated)


def _versions(root: RootDocument) -> Iterator[tuple[GroupVersion, str, VersionDocument]]:
    for group in root.groups:
        for version in group.versions:
            yield GroupVersion(group.name, version.version), group.versions[0].version, version


def _preferring(version: str, entry: APIResource) -> APIResource:
    return entry if entry.group_preferred_version == version else replace(entry, group_preferred_version=version)


def _read(
    gv: GroupVersion, version: VersionDocument, documents: Documents
) -> tuple[tuple[APIResource, ...], DynkubeError | None]:
    """Return the resources of one version, and an error if they may be incomplete."""
    answer = documents[gv] if version.resources is None else version.resources
    if isinstance(answer, DynkubeError):
        return (), answer
    if version.stale:
        return answer, DiscoveryFailed(
            f"discovery of {gv} is stale: its API server does not respond (freshness: Stale)"
        )
    return answer, None
