"""Lookups of resources: all notations of a name, parsed to one record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dynkube.discovery._resources import EVERYTHING, APIResource
from dynkube.meta import GVK, GVR, GroupVersion, ResourceArg

ResourceLike: TypeAlias = str | ResourceArg | GVR | GVK | APIResource
"""A name of a resource: a string in kubectl's notation, or a typed form.

Examples of strings are ``"deploy"`` and ``"deployments.v1.apps"``.
"""


def definition_name(arg: ResourceLike) -> str | None:
    """Return the name of the CRD for ``arg``.

    Returns ``None`` unless ``arg`` is a plural with its whole group.
    """
    lookup = Lookup.of(arg)
    # The group of a CRD is a domain name, so it contains a dot.
    return f"{lookup.name.lower()}.{lookup.group}" if lookup.by != "kind" and "." in (lookup.group or "") else None


def complete_gvr(arg: str | GVR | GVK) -> GVR | None:
    """Return the GVR of RESOURCE.VERSION.GROUP; ``None`` if discovery is needed."""
    if isinstance(arg, GVR):
        return arg
    lookup = Lookup.of(arg)
    if lookup.by == "kind" or lookup.version is None or lookup.name != lookup.name.lower():
        return None
    return GVR(lookup.group or "", lookup.version, lookup.name)


def gvr_to_follow(arg: str | GVR | GVK) -> GVR | None:
    """Return the GVR, with an empty version, of RESOURCE.GROUP, which is the name of a CRD.

    ``None`` for all other names: with a version, in a group without a dot (built-in resources), and of a kind.
    """
    lookup = Lookup.of(arg)
    if lookup.by != "any" or lookup.version is not None or "." not in (lookup.group or ""):
        return None
    return GVR(lookup.group or "", "", lookup.name) if lookup.name == lookup.name.lower() else None


@dataclass(frozen=True, slots=True)
class Lookup:
    """A resource name to look up, parsed.

    ``by`` tells how to interpret ``name``: ``"resource"`` as a plural resource name, ``"kind"`` as a kind, ``"any"`` as
    text typed by a user, which may be a plural, singular, short name or kind. ``group`` and ``version`` are ``None`` if
    not given.
    """

    name: str
    group: str | None
    version: str | None
    by: Literal["any", "resource", "kind"]
    text: str

    @classmethod
    def of(cls, arg: ResourceLike) -> Lookup:
        """Parse the argument of a caller.

        Raises:
            InvalidInput: not a valid name of a resource.
        """
        match arg:
            case APIResource(gvr=gvr):
                return cls.of(gvr)
            case ResourceArg():
                return cls._of_text(arg, str(arg))
            case GVR(group, version, resource):
                return cls(resource, group, version, "resource", str(arg))
            case GVK(group, version, kind):
                return cls(kind, group, version, "kind", str(arg))
        return cls._of_text(ResourceArg.parse(arg), arg.strip())

    @classmethod
    def _of_text(cls, arg: ResourceArg, text: str) -> Lookup:
        return cls(arg.name, arg.group, arg.version, "any", text)

    @property
    def group_version(self) -> GroupVersion | None:
        """The group-version of the resource, if the lookup names one; else ``None``."""
        return None if self.group is None or self.version is None else GroupVersion(self.group, self.version)

    @property
    def whole_group(self) -> str | None:
        """The complete group name, ``""`` for core.

        ``None`` if no group was given, or one that may be a prefix of a group name.
        """
        return self.group if self.by != "any" or self.version is not None else None

    @property
    def prefix(self) -> str | None:
        """The given group if it may be a prefix of a group name: ``ingresses.networking``.

        ``None`` if there is no group, or if it must be complete.
        """
        return self.group if self.by == "any" and self.group and self.version is None else None

    def may_concern(self, group: str) -> bool:
        """Whether the resource may be in ``group``."""
        if self.group is None:
            return True
        return group == self.group or (self.prefix is not None and group.startswith(self.prefix))

    def concerned_by(self, failure: str) -> bool:
        """Whether the resource may be in a part of discovery that failed.

        ``failure`` is a key of :attr:`APIDiscovery.failures`.
        """
        if failure == EVERYTHING:
            return self.group != ""
        gv = GroupVersion.parse(failure)
        return self.may_concern(gv.group) and self.version in (None, gv.version)

    def scopes(self) -> Iterator[Callable[[APIResource], bool]]:
        """Yield predicates for the group and version of a resource, by preference.

        The first matches the group exactly, the second (if any) as a prefix.
        """
        yield self.fits_exactly
        if self.prefix is not None:
            yield self._fits_prefix

    def fits_exactly(self, resource: APIResource) -> bool:
        """Whether ``resource`` is in the given group and version."""
        gvr = resource.gvr
        return self.group in (None, gvr.group) and self.version in (None, gvr.version)

    def _fits_prefix(self, resource: APIResource) -> bool:
        return self.prefix is not None and resource.gvr.group.startswith(self.prefix)
