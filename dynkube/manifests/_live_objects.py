"""The live objects of many manifests, read by lists where that takes fewer requests than one for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import trio

from dynkube.client import ResourceClient
from dynkube.errors import DynkubeError
from dynkube.meta import GVR, MISSING, Missing, Unstructured

# Fewer objects than this in one collection are read one by one.
_FEWEST: Final = 5
# A collection is listed as long as it has no more objects than this for each that is wanted: beyond that the list costs
# more than the requests that it saves.
_FOR_EACH: Final = 4
_PAGE: Final = 500
# To list Secrets takes a right that a user who applies some should not need, and that audits look for.
_ONE_BY_ONE: Final = frozenset({GVR("", "v1", "secrets")})


class Collection(NamedTuple):
    """Where objects are: their resource, and their namespace; ``None`` for cluster-scoped ones."""

    gvr: GVR
    namespace: str | None


class LiveObjects:
    """What was listed of the objects of a source; each is given out once, as it is not read again.

    Args:
        timeout: seconds for each request; ``None`` means the client's default.
    """

    def __init__(self, timeout: float | None) -> None:
        self._timeout = timeout
        self._found: dict[int, Unstructured | Missing] = {}

    def take(self, index: int) -> Unstructured | Missing | None:
        """The object of a manifest as it was listed, or MISSING where there was none; ``None`` where it was not."""
        return self._found.pop(index, None)

    async def read(
        self, collection: Collection, verbs: ResourceClient, wanted: Mapping[str, int], limiter: trio.CapacityLimiter
    ) -> None:
        """List a collection for the objects of it that are wanted, unless it is too large, or they are too few.

        Where the collection cannot be listed nothing is known of them afterwards; whoever reads one by itself is told
        why.

        Args:
            collection: which.
            verbs: on its resource.
            wanted: the index of the manifest of each name.
            limiter: how many requests go out at once.
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
            # A page that is empty and not the last one is no help; a broken server may send them without end.
            if not token or not page or (page.remaining_item_count or 1) > most:
                break
        self._found |= found
