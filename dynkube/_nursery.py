"""A nursery that is an implementation detail of another context manager.

It is invisible in exceptions that leave the block.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType

import trio


class OwnedNursery:
    """A nursery that is cancelled at the end of the block, and wraps no exceptions.

    An exception of the block propagates unchanged, including a group that the user raised; an exception of a background
    task is unwrapped if it is the only one. Wrapping a user's KeyError in a group, because informers happen to run in a
    nursery, would leak an implementation detail.
    """

    def __init__(self) -> None:
        self._manager: AbstractAsyncContextManager[trio.Nursery] | None = None
        self._nursery: trio.Nursery | None = None

    async def __aenter__(self) -> trio.Nursery:
        self._manager = (
            trio.open_nursery()
        )  # not earlier: it requires a running loop, and its owner may be created outside of one
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
            # A cancellation from outside reaches both the block and the background tasks: if the block converted it to
            # another exception, that takes precedence.
            if exc is not None and all(id(leaf) in own or isinstance(leaf, trio.Cancelled) for leaf in _leaves(group)):
                return False  # only the block's own exceptions: they propagate unchanged
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
