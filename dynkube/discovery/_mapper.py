"""``RESTMapper``: resolves names as typed, GVRs and GVKs to resources. Pure.

The rules are kubectl's, so a name has the same meaning:

1. A name matches as plural or singular, in any group; then as short name; then as kind. Case is ignored.
2. A group may be given in full (``ingresses.networking.k8s.io``) or as a prefix (``ingresses.networking``), a version
   with its group in full (``ingresses.v1.networking.k8s.io``).
3. Of several matches the one with the highest priority is used: the core group first, then the groups in the server's
   order, and in a group the preferred version first.

It is stricter in some cases. If one group-version has two resources for a name, kubectl uses the first or the last one,
and this mapper raises :class:`~dynkube.errors.AmbiguousMatch`. An unknown name raises
:class:`~dynkube.errors.NoMatch` only if all groups that could have it were read, otherwise
:class:`~dynkube.errors.DiscoveryFailed`. A version is respected with a short name, too: ``hpa.v1.autoscaling`` is
version v1 here, and the preferred version in kubectl.

A limitation shared with kubectl: while discovery of a group fails, a name without group that normally means a resource
of this group resolves to a resource of the next group. Names with their group are not affected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dynkube.discovery._lookup import Lookup, ResourceLike
from dynkube.discovery._resources import APIDiscovery, APIResource
from dynkube.discovery._suggestions import no_category, no_match, unresolved_message
from dynkube.errors import AmbiguousMatch, DiscoveryFailed, NoMatch
from dynkube.meta import GVK, GVR


class RESTMapper:
    """Resolves names in one discovery snapshot, without I/O.

    Immutable, so thread-safe.

    Args:
        discovery: the snapshot.
    """

    def __init__(self, discovery: APIDiscovery) -> None:
        self.discovery = discovery
        self._by_gvr: dict[GVR, APIResource] = {}
        self._by_name: dict[str, list[APIResource]] = {}
        self._by_short_name: dict[str, list[APIResource]] = {}
        self._by_kind: dict[str, list[APIResource]] = {}
        self._by_category: dict[str, list[APIResource]] = {}
        for resource in discovery.resources:
            self._by_gvr[resource.gvr] = resource
            _index(self._by_name, (resource.gvr.resource, resource.singular), resource)
            _index(self._by_short_name, resource.short_names, resource)
            _index(self._by_kind, (resource.kind,), resource)
            _index(self._by_category, resource.categories, resource)

    def resource_for(self, arg: ResourceLike) -> APIResource:
        """Return the one resource that ``arg`` names.

        Args:
            arg: a name in kubectl's notation (``"po"``, ``"Deployment"``, ``"ingresses.networking"``,
                ``"deployments.v1.apps"``), a :class:`GVR` or a :class:`GVK`.

        Raises:
            NoMatch: the server does not serve it; the message has similar names.
            DiscoveryFailed: not found, but discovery failed for a group that may have it; ``failures`` has the reasons.
            AmbiguousMatch: the group-version of highest priority has two matching resources; ``candidates`` has both.
            InvalidInput: not a valid name of a resource.
        """
        found = self.resources_for(arg)
        best = found[0].gvr.group_version
        rivals = [resource for resource in found if resource.gvr.group_version == best]
        if len(rivals) == 1:
            return rivals[0]
        lookup = Lookup.of(arg)
        for resource in rivals:
            # The plural is a resource's primary name, and takes precedence.
            if resource.gvr.resource == lookup.name.lower():
                return resource
        names = tuple(str(resource.gvr) for resource in rivals)
        raise AmbiguousMatch(f"{lookup.text!r} is ambiguous: use {' or '.join(names)}", candidates=names)

    def resources_for(self, arg: ResourceLike) -> tuple[APIResource, ...]:
        """Return every resource that ``arg`` may name, by priority; never empty.

        Raises:
            NoMatch: there is no such resource.
            DiscoveryFailed: none was found, but discovery failed for a group that may have one.
            InvalidInput: not a valid name of a resource.
        """
        lookup = Lookup.of(arg)
        for candidates in self._tiers(lookup):
            if candidates:
                return tuple(candidates)
        failures = self.relevant_failures(lookup)
        if failures:
            raise DiscoveryFailed(unresolved_message(lookup.text, failures), failures=failures)
        raise NoMatch(no_match(lookup, self.discovery))

    def category(self, name: str) -> tuple[APIResource, ...]:
        """Return the resources of a category such as ``all``.

        Each is in its best version; sorted by priority.

        Raises:
            NoMatch: the category has no resources.
            DiscoveryFailed: it has no known resources, but discovery was incomplete.
        """
        best: dict[tuple[str, str], APIResource] = {}
        for resource in self._by_category.get(name.lower(), ()):
            best.setdefault((resource.gvr.group, resource.gvr.resource), resource)
        if best:
            return tuple(best.values())
        if self.discovery.failures:
            failures = self.discovery.failures
            raise DiscoveryFailed(unresolved_message(f"category {name}", failures), failures=failures)
        raise NoMatch(no_category(name, self._by_category))

    @property
    def kinds(self) -> tuple[GVK, ...]:
        """All served kinds, in order of priority."""
        return tuple(dict.fromkeys(resource.gvk for resource in self.discovery.resources))

    @property
    def categories(self) -> tuple[str, ...]:
        """All categories that have resources, sorted."""
        return tuple(sorted(self._by_category))

    def relevant_failures(self, lookup: Lookup) -> Mapping[str, Exception]:
        """Return the discovery failures because of which ``lookup`` may not be found.

        Empty if a resource that is not found certainly does not exist.
        """
        return {key: error for key, error in self.discovery.failures.items() if lookup.concerned_by(key)}

    def __repr__(self) -> str:
        failed = f", {len(self.discovery.failures)} failed" if self.discovery.failures else ""
        return f"<RESTMapper {len(self._by_gvr)} resources in {len(self.discovery.group_versions)} versions{failed}>"

    def _tiers(self, lookup: Lookup) -> Iterator[list[APIResource]]:
        if lookup.by == "resource":
            resource = self._by_gvr.get(GVR(lookup.group or "", lookup.version or "", lookup.name))
            yield [] if resource is None else [resource]
        elif lookup.by == "kind":
            kinds = self._by_kind.get(lookup.name.lower(), [])
            # The kind of an object is case-sensitive.
            yield [r for r in kinds if r.kind == lookup.name and lookup.fits_exactly(r)]
        else:
            for fits in lookup.scopes():
                for index in (self._by_name, self._by_short_name, self._by_kind):
                    yield [resource for resource in index.get(lookup.name.lower(), ()) if fits(resource)]


def _index(index: dict[str, list[APIResource]], keys: tuple[str, ...], resource: APIResource) -> None:
    for key in dict.fromkeys(key.lower() for key in keys):
        index.setdefault(key, []).append(resource)
