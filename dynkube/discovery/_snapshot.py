"""From what was read now and what was known before to one snapshot. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from dynkube.discovery._documents import RootDocument, VersionDocument
from dynkube.discovery._resources import EVERYTHING, APIDiscovery, APIResource
from dynkube.errors import DiscoveryFailed, DynkubeError
from dynkube.meta import GroupVersion

Documents: TypeAlias = Mapping[GroupVersion, tuple[APIResource, ...] | DynkubeError]
"""The answers for the group-versions that had to be asked for one by one."""


def assemble(
    roots: Mapping[str, RootDocument | DynkubeError], documents: Documents, last: APIDiscovery
) -> APIDiscovery:
    """Build the snapshot.

    Args:
        roots: the lists of groups, core first; an error stands for a list that was not read, and its key
            (``"v1"`` or ``"*"``) becomes the key of the failure.
        documents: the group-versions that were asked for one by one.
        last: what was known before: whatever fails now keeps its resources from there.
    """
    resources: list[APIResource] = []
    failures: dict[str, Exception] = {}
    for key, root in roots.items():
        if isinstance(root, DynkubeError):
            failures[key] = root
            # Its groups are unknown now, and so is what failed in them before.
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
    """The resources of one version that were read, and why there may be others."""
    answer = documents[gv] if version.resources is None else version.resources
    if isinstance(answer, DynkubeError):
        return (), answer
    if version.stale:
        return answer, DiscoveryFailed(f"the API server behind {gv} does not answer its discovery (freshness: Stale)")
    return answer, None
