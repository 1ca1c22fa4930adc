"""Callbacks by resource, indexed by group-version and by CRD.

With a thousand informers on as many resources, each read of discovery causes a thousand lookups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

from dynkube.informers._availability.availability import Availability
from dynkube.meta import GVR, GroupVersion

Verdict: TypeAlias = Callable[[Availability], None]
K = TypeVar("K")


class Followers:
    """Callbacks by resource, in the order in which they were added."""

    __slots__ = ("_by_crd", "_by_version", "_verdicts")

    def __init__(self) -> None:
        self._verdicts: dict[GVR, list[Verdict]] = {}
        self._by_version: dict[GroupVersion, list[GVR]] = {}
        self._by_crd: dict[str, list[GVR]] = {}

    def add(self, gvr: GVR, verdict: Verdict) -> None:
        """Add a callback for ``gvr``."""
        if gvr not in self._verdicts:
            self._by_version.setdefault(gvr.group_version, []).append(gvr)
            self._by_crd.setdefault(gvr.crd_name, []).append(gvr)
        self._verdicts.setdefault(gvr, []).append(verdict)

    def remove(self, gvr: GVR, verdict: Verdict) -> None:
        """Remove a callback."""
        followers = self._verdicts[gvr]
        followers.remove(verdict)
        if not followers:
            del self._verdicts[gvr]
            _drop(self._by_version, gvr.group_version, gvr)
            _drop(self._by_crd, gvr.crd_name, gvr)

    def of(self, gvr: GVR) -> tuple[Verdict, ...]:
        """Return the callbacks of one resource."""
        return tuple(self._verdicts.get(gvr, ()))

    def of_version(self, gv: GroupVersion) -> list[GVR]:
        """Return the followed resources of one group-version."""
        return list(self._by_version.get(gv, ()))

    def of_crds(self, names: Iterable[str]) -> list[GVR]:
        """Return the followed resources, in any version, of CRDs with these names."""
        return [gvr for name in names for gvr in self._by_crd.get(name, ())]

    def versions(self) -> tuple[GroupVersion, ...]:
        """Return the group-versions with followed resources."""
        return tuple(self._by_version)

    def __contains__(self, gvr: GVR) -> bool:
        return gvr in self._verdicts

    def __iter__(self) -> Iterator[GVR]:
        return iter(tuple(self._verdicts))

    def __bool__(self) -> bool:
        return bool(self._verdicts)


def _drop(index: dict[K, list[GVR]], key: K, gvr: GVR) -> None:
    index[key].remove(gvr)
    if not index[key]:
        del index[key]
