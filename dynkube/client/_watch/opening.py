"""Opening a watch on a resource."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from dynkube.client._listwatch import ListWatch
from dynkube.client._options import GetOptions, Selection
from dynkube.client._target import Target
from dynkube.client._watch.stream import Watch
from dynkube.discovery._lookup import Lookup
from dynkube.errors import DiscoveryFailed, NoMatch, WrongScope
from dynkube.meta import GVR


@asynccontextmanager
async def open_watch(
    target: Target, namespace: str | None, selection: Selection, *, resource_version: str | None, bookmarks: bool
) -> AsyncIterator[Watch]:
    """Open a watch as a context manager; on exit its request is closed."""

    async def locate(gvr: GVR) -> ListWatch | bool:
        mapper = target.session.mapper
        mapper.invalidate(gvr.group)
        known = await mapper.load()
        if known.relevant_failures(Lookup.of(gvr)):
            raise DiscoveryFailed(f"it is not known whether {gvr} is served")
        try:
            return await target.collection(namespace, selection)
        except (NoMatch, WrongScope):
            return bool(known.discovery.versions_of(gvr))

    async def attempt(_: GetOptions) -> Watch:
        watch = Watch(
            await target.collection(namespace, selection),
            resource_version=resource_version,
            bookmarks=bookmarks,
            settings=target.session.watch,
            random=target.session.random,
            locate=locate,
        )
        try:
            await watch.open()
        except BaseException:
            await watch.aclose()
            raise
        return watch

    watch = await target.carry_out(GetOptions(), attempt)  # without a timeout
    try:
        yield watch
    finally:
        await watch.aclose()
