"""Read the live objects of many manifests.

List requests are used if that saves requests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import trio

from dynkube.client import ResourceClient
from dynkube.errors import DynkubeError
from dynkube.meta import GVR, MISSING, Missing, Unstructured

# Fewer objects than this of one collection are read one by one.
_FEWEST: Final = 5
# A collection is listed if it has at most this many objects per wanted object. For larger collections the list takes
# longer than the requests that it saves.
_FOR_EACH: Final = 4
_PAGE: Final = 500
# Listing Secrets needs a permission that applying them should not require, and that security audits flag.
_ONE_BY_ONE: Final = frozenset({GVR("", "v1", "secrets")})


class LiveCollection(NamedTuple):
    """A resource and a namespace; ``None`` for cluster-scoped resources."""

    gvr: GVR
    namespace: str | None


class LiveObjects:
    """The live objects of a source that were read by list requests.

    Each object can be taken once, as it would be stale later.

    Args:
        timeout: seconds for each request; ``None`` means the client's default.
    """

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._found: dict[int, Unstructured | Missing] = {}

    def take(self, index: int) -> Unstructured | Missing | None:
        """Return a manifest's live object, MISSING if it does not exist.

        ``None`` if it was not listed.
        """
        return self._found.pop(index, None)

    async def read(
        self,
        collection: LiveCollection,
        verbs: ResourceClient,
        wanted: Mapping[str, int],
        limiter: trio.CapacityLimiter,
    ) -> None:
        """List a collection, and keep its wanted objects.

        Does nothing if the collection is too large, or too few objects are wanted. If the list fails, no object is
        kept, and the error is raised when the objects are read one by one.

        Args:
            collection: the collection.
            verbs: the verbs of its resource.
            wanted: manifest index by object name.
            limiter: limits concurrent requests.
        """
        if len(wanted) < _FEWEST or collection.gvr in _ONE_BY_ONE:
            return
        most, token = _FOR_EACH * len(wanted), ""
        found: dict[int, Unstructured | Missing] = {}
        while True:
            try:
                async with limiter:
                    page = await verbs.list(
                        namespace=collection.namespace,
                        limit=min(most, _PAGE),
                        continue_token=token or None,
                        timeout=self._timeout,
                    )
            except DynkubeError:
                break
            found |= {wanted[obj.name]: obj for obj in page if obj.name in wanted}
            most -= len(page)
            token = page.continue_token
            if not token:
                found = {index: found.get(index, MISSING) for index in wanted.values()}
            # Stop at an empty page before the last one; a broken server may send these without end.
            if not token or not page or (page.remaining_item_count or 1) > most:
                break
        self._found |= found
