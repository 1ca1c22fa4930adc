"""Confirm that a kind has no objects any more, because neither a CRD nor another API of the server defines it.

A 404 for a resource, or discovery without it, can be a moment's: of an API server that is starting, or of one replica
of several. The members of an ApplySet are found by the kinds in its parent, so a kind that was dropped for such an
answer would never be pruned again. A list of the CRDs does not decide for aggregated APIs, which have any group, such
as route.openshift.io: these have APIServices, which are listed, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import trio

from dynkube.client._client import APIClient
from dynkube.discovery import APIResource
from dynkube.errors import DiscoveryFailed, DynkubeError, Forbidden, NoMatch, NotFound
from dynkube.errors._base import another
from dynkube.errors._evidence import CONFIRMATION, Evidence, evidence_of
from dynkube.informers._availability.apiservices import APISERVICES, NOT_OF_CRDS
from dynkube.informers._availability.availability import is_custom
from dynkube.informers._availability.crds import CRDS
from dynkube.informers._availability.readiness import ServerReadiness
from dynkube.meta import GVR, ResourceArg, Unstructured

_PAGE: Final = 50  # a CRD may have a megabyte


def may_mean_no_kind(error: BaseException) -> bool:
    """Whether ``error`` says that the server does not know the kind, which may be so for a moment only."""
    return isinstance(error, NoMatch) or evidence_of(error) is Evidence.RESOURCE_UNKNOWN


class AbsentKinds:
    """Confirms that kinds are not served, and have no objects.

    Args:
        api: sends the requests.
    """

    def __init__(self, api: APIClient) -> None:
        self._api = api
        self._readiness = ServerReadiness(api.rest, trio.current_time)
        self._locks: dict[tuple[str, str], trio.Lock] = {}
        self._results: dict[tuple[str, str], DynkubeError | None] = {}

    async def resolve(self, name: str, group: str) -> APIResource:
        """Return the resource of a plural or kind in a group.

        Unknown names are discovered again, as a CRD may have been created since the last discovery.

        Raises:
            NoMatch: discovery does not have it.
            DiscoveryFailed: it cannot be determined whether the resource is served.
        """
        found = await self._api.resource(ResourceArg(name, None, group)).resolve()
        if found.gvr.group != group:  # a prefix of a group name matches, too
            raise NoMatch(f"the server serves no {name} in the group {group!r}")
        return found

    async def confirm(self, name: str, group: str) -> None:
        """Confirm that a kind for which there was a negative answer has no objects.

        Complete lists of the CRDs and the APIServices decide for groups that are not built in, if no APIService is for
        an aggregated API of the group. Otherwise, and if the user may not list them, discovery has to lack the kind
        twice, as :data:`CONFIRMATION` says, which takes at least ten seconds. That is done once for each kind, however
        many of its objects are concerned.

        Args:
            name: the plural or kind.
            group: its group.

        Raises:
            NoMatch: a CRD defines it, so it may have objects, although it is not served.
            DiscoveryFailed: it is served, or that is not known.
            DynkubeError: any other failure of a request.
        """
        kind = name, group
        async with self._locks.setdefault(kind, trio.Lock()):
            if kind not in self._results:
                try:
                    await self._confirm(name, group)
                except DynkubeError as error:
                    self._results[kind] = error
                else:
                    self._results[kind] = None
        if (failure := self._results[kind]) is not None:
            raise another(failure)

    async def _confirm(self, name: str, group: str) -> None:
        defined = await self._has_crd(name, group)
        if defined:
            raise NoMatch(f"{_text(name, group)} is not served at this moment, although a CRD defines it")
        if defined is False and is_custom(GVR(group, "", name)) and await self._is_aggregated(group) is False:
            return
        began = trio.current_time()
        await self._check_undiscovered(name, group)
        await trio.sleep(CONFIRMATION.moment)
        if not await self._readiness.check(began):
            await trio.sleep_until(began + CONFIRMATION.starting)
        await self._check_undiscovered(name, group)

    async def _has_crd(self, name: str, group: str) -> bool | None:
        """Return whether a CRD defines the kind; ``None`` if the user may not list CRDs, or there are none."""
        try:
            async for crd in self._api.resource(CRDS).iterate(page_size=_PAGE):
                if _defines(crd, name, group):
                    return True
        except (NoMatch, NotFound, Forbidden) as error:
            if may_mean_no_kind(error) or evidence_of(error) is Evidence.NOT_AUTHORIZED:
                return None
            raise
        return False

    async def _is_aggregated(self, group: str) -> bool | None:
        """Return whether an APIService serves the group, other than one of CRDs; ``None`` if that is not known."""
        try:
            async for service in self._api.resource(APISERVICES).iterate(label_selector=NOT_OF_CRDS):
                if service.name.partition(".")[2] == group:
                    return True
        except (NoMatch, NotFound, Forbidden) as error:
            if may_mean_no_kind(error) or evidence_of(error) is Evidence.NOT_AUTHORIZED:
                return None
            raise
        return False

    async def _check_undiscovered(self, name: str, group: str) -> None:
        self._api.mapper.invalidate(group)  # a cached result is not evidence
        try:
            await self.resolve(name, group)
        except NoMatch:
            return
        raise DiscoveryFailed(
            f"the API server served no {_text(name, group)} at first, and serves it now: run it again"
        )


def _defines(crd: Unstructured, name: str, group: str) -> bool:
    spec = crd.get("spec")
    names = spec.get("names") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(names, Mapping) or spec.get("group") != group:
        return False
    return name in {names.get("kind"), names.get("plural")}


def _text(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name
