"""Discovery as plain data: resources, snapshots, the server's version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from dynkube._displayable import Displayable
from dynkube.meta import GVK, GVR, GroupVersion
from dynkube.meta._gvr import version_priority

EVERYTHING = "*"
"""Key in :attr:`APIDiscovery.failures` for the list of groups itself.

With it, any group but core may be missing.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class APIResource(Displayable):
    """One resource in one version, as in discovery.

    Attributes:
        gvr: group, version and plural name.
        kind: the kind of its objects.
        singular: its singular name; the lower-case kind if the server returns no singular.
        namespaced: whether its objects are namespaced.
        verbs: supported verbs: ``get``, ``list``, ``watch``, ``create``, ...
        short_names: kubectl's abbreviations, like ``deploy``.
        categories: groups of resources that it belongs to, like ``all``.
        subresources: names of subresources, like ``status`` and ``scale``.
        group_preferred_version: the server's preferred version of the group.
    """

    gvr: GVR
    kind: str
    singular: str
    namespaced: bool
    verbs: frozenset[str] = frozenset()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    group_preferred_version: str = ""

    @property
    def gvk(self) -> GVK:
        """Group, version and kind of its objects."""
        return GVK(self.gvr.group, self.gvr.version, self.kind)

    def __str__(self) -> str:
        return str(self.gvr)


@dataclass(frozen=True, slots=True, kw_only=True)
class APIDiscovery(Displayable):
    """A snapshot of a server's resources, and of the failures in reading them.

    Attributes:
        resources: in order of priority: the core group first, then groups in the server's order, in each group the
            preferred version first. Deterministic: equal responses give the same order.
        failures: errors by group-version (``"metrics.k8s.io/v1beta1"``, ``"v1"`` for core); ``"*"`` if the list of
            groups could not be read. Previously known resources remain in ``resources``: a group-version that fails is
            unknown, not absent.
        aggregated: whether the server supports aggregated discovery (Kubernetes 1.27 and later).
    """

    resources: tuple[APIResource, ...] = ()
    failures: Mapping[str, Exception] = field(default_factory=dict)
    aggregated: bool = False

    @property
    def complete(self) -> bool:
        """Whether everything was read.

        Only then is a missing resource known to be absent.
        """
        return not self.failures

    @property
    def group_versions(self) -> tuple[GroupVersion, ...]:
        """The group-versions that have resources, in order of priority."""
        return tuple(dict.fromkeys(resource.gvr.group_version for resource in self.resources))

    def group(self, group: str) -> tuple[APIResource, ...]:
        """Return the resources of one group, in all its versions.

        ``""`` is the core group.
        """
        return tuple(resource for resource in self.resources if resource.gvr.group == group)

    def group_version(self, gv: GroupVersion) -> tuple[APIResource, ...]:
        """Return the resources of one group-version."""
        return tuple(resource for resource in self.resources if resource.gvr.group_version == gv)

    def versions_of(self, gvr: GVR) -> tuple[str, ...]:
        """Return the served versions of a resource, the preferred one first."""
        return tuple(each.gvr.version for each in self.group(gvr.group) if each.gvr.resource == gvr.resource)

    def with_group(self, group: str, part: APIDiscovery) -> APIDiscovery:
        """Return a copy in which ``group`` is taken from ``part``.

        Its resources and failures are those of ``part``, a snapshot of this group alone. A group that this snapshot
        does not have yet is appended last (the core group first), as only a full discovery tells its priority.
        """
        kept = {key: error for key, error in self.failures.items() if _group_of(key) != group}
        failures = kept | {key: error for key, error in part.failures.items() if _group_of(key) == group}
        return replace(self, resources=self._spliced(group, part.group(group)), failures=failures)

    def with_group_version(self, gv: GroupVersion, resources: Iterable[APIResource] | None) -> APIDiscovery:
        """Return a copy with other resources for the group-version ``gv``.

        ``None`` means that it is definitely not served. The document of a group-version does not tell which version of
        the group is preferred. So if the version is new, the versions of the group are sorted as the server does for
        CRDs (v2, v1, v1beta1, ...).
        """
        before = self.group(gv.group)
        by_version: dict[str, tuple[APIResource, ...]] = {}
        for resource in before:
            by_version[resource.gvr.version] = (*by_version.get(resource.gvr.version, ()), resource)
        known = gv.version in by_version
        preferred = before[0].group_preferred_version if before else gv.version
        by_version[gv.version] = tuple(resources or ())
        if not by_version[gv.version]:
            del by_version[gv.version]
        elif not known:
            by_version = {version: by_version[version] for version in sorted(by_version, key=version_priority)}
        if by_version and (not known or preferred not in by_version):
            preferred = next(iter(by_version))
        merged = (replace(r, group_preferred_version=preferred) for entries in by_version.values() for r in entries)
        failures = {key: error for key, error in self.failures.items() if key != str(gv)}
        return replace(self, resources=self._spliced(gv.group, merged), failures=failures)

    def with_failure(self, gv: GroupVersion, error: Exception) -> APIDiscovery:
        """Return a copy with a failure of the group-version ``gv``.

        The resources of ``gv`` remain, and may be outdated.
        """
        return replace(self, failures={**self.failures, str(gv): error})

    def _spliced(self, group: str, entries: Iterable[APIResource]) -> tuple[APIResource, ...]:
        others = [resource for resource in self.resources if resource.gvr.group != group]
        at = next((i for i, resource in enumerate(self.resources) if resource.gvr.group == group), None)
        if at is None:
            at = len(others) if group else 0
        return (*others[:at], *entries, *others[at:])


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerVersion:
    """The response of ``/version``; ``str()`` is ``git_version``, like ``"v1.34.1"``.

    ``major`` and ``minor`` are strings, because servers also return ``"27+"``.
    """

    major: str = ""
    minor: str = ""
    git_version: str = ""
    git_commit: str = ""
    build_date: str = ""
    go_version: str = ""
    platform: str = ""

    def __str__(self) -> str:
        return self.git_version or f"{self.major}.{self.minor}"


def _group_of(failure_key: str) -> str | None:
    """Return the group of a key of ``failures``.

    Returns ``None`` for the list of groups itself.
    """
    return None if failure_key == EVERYTHING else GroupVersion.parse(failure_key).group
