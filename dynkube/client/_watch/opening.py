"""Opening a watch on a resource."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dynkube.client._options import Selection
from dynkube.client._target import Target
from dynkube.client._watch.stream import Watch


@asynccontextmanager
async def open_watch(
    target: Target, namespace: str | None, selection: Selection, *, resource_version: str | None, bookmarks: bool
) -> AsyncIterator[Watch]:
    """Open a watch as a context manager; on exit its request is closed."""
    collection = await target.collection(namespace, selection)
    watch = Watch(
        collection,
        resource_version=resource_version,
        bookmarks=bookmarks,
        settings=target.session.watch,
        random=target.session.random,
    )
    with target.noticing_absence(collection.gvr):
        await watch.open()
        try:
            yield watch
        finally:
            await watch.aclose()
