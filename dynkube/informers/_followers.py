"""Who follows which resource, found by resource, by group-version and by CRD without looking at all of them.

A thousand informers of as many resources are looked up a thousand times whenever discovery was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

from dynkube.informers._availability import Availability
from dynkube.meta import GVR, GroupVersion

Verdict: TypeAlias = Callable[[Availability], None]
K = TypeVar("K")


class Followers:
    """Callbacks by resource. Pure."""

    __slots__ = ("_by_crd", "_by_version", "_verdicts")

    def __init__(self) -> None:
        self._verdicts: dict[GVR, list[Verdict]] = {}
        self._by_version: dict[GroupVersion, list[GVR]] = {}
        self._by_crd: dict[str, list[GVR]] = {}

    def add(self, gvr: GVR, verdict: Verdict) -> None:
        """Somebody follows ``gvr``."""
        if gvr not in self._verdicts:
            self._by_version.setdefault(gvr.group_version, []).append(gvr)
            self._by_crd.setdefault(gvr.crd_name, []).append(gvr)
        self._verdicts.setdefault(gvr, []).append(verdict)

    def remove(self, gvr: GVR, verdict: Verdict) -> None:
        """Somebody follows it no more."""
        followers = self._verdicts[gvr]
        followers.remove(verdict)
        if not followers:
            del self._verdicts[gvr]
            _drop(self._by_version, gvr.group_version, gvr)
            _drop(self._by_crd, gvr.crd_name, gvr)

    def of(self, gvr: GVR) -> tuple[Verdict, ...]:
        """Those of one resource, in the order in which they came."""
        return tuple(self._verdicts.get(gvr, ()))

    def of_version(self, gv: GroupVersion) -> list[GVR]:
        """The resources of one group-version that somebody follows."""
        return list(self._by_version.get(gv, ()))

    def of_crds(self, names: Iterable[str]) -> list[GVR]:
        """The resources, in any version, that CRDs of these names would define."""
        return [gvr for name in names for gvr in self._by_crd.get(name, ())]

    def versions(self) -> tuple[GroupVersion, ...]:
        """The group-versions in which somebody follows something."""
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
