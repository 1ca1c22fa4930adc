"""A nursery that belongs to an object with a block of its own, and does not show in what leaves that block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType

import trio


class OwnedNursery:
    """A nursery that ends with the block, and shows in no exception that leaves it.

    What the block raised comes out as it was raised, a group of the user's own included; what a background
    task raised comes alone if it is alone. Wrapping a user's KeyError in a group, because informers happen to
    run in a nursery, would be our structure leaking into their code.
    """

    def __init__(self) -> None:
        self._manager: AbstractAsyncContextManager[trio.Nursery] | None = None
        self._nursery: trio.Nursery | None = None

    async def __aenter__(self) -> trio.Nursery:
        self._manager = (
            trio.open_nursery()
        )  # not before: it asks for the loop, and its owner may be made outside of any
        self._nursery = await self._manager.__aenter__()
        return self._nursery

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        assert self._manager is not None
        assert self._nursery is not None
        self._nursery.cancel_scope.cancel()
        try:
            return bool(await self._manager.__aexit__(exc_type, exc, traceback))
        except BaseExceptionGroup as group:
            own = set(map(id, _leaves(exc)))
            # A cancellation from outside reaches the block and the background tasks alike: where the block made an
            # exception of it, that is what counts.
            if exc is not None and all(id(leaf) in own or isinstance(leaf, trio.Cancelled) for leaf in _leaves(group)):
                return False  # nothing but what the block raised, which goes on as it is
            alone = _alone(group)
            if alone is None:
                raise
            raise alone from alone.__cause__


def _leaves(exc: BaseException | None) -> Iterator[BaseException]:
    if isinstance(exc, BaseExceptionGroup):
        for inner in exc.exceptions:
            yield from _leaves(inner)
    elif exc is not None:
        yield exc


def _alone(group: BaseExceptionGroup[BaseException]) -> BaseException | None:
    if len(group.exceptions) != 1:
        return None
    inner = group.exceptions[0]
    return _alone(inner) if isinstance(inner, BaseExceptionGroup) else inner
