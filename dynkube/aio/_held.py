"""An async context manager in the trio thread, held open for asyncio tasks."""

from __future__ import annotations

from typing import TypeVar

from dynkube._portal import held
from dynkube.aio._call import in_trio
from dynkube.errors import ClosedError

T = TypeVar("T")


class Held(held.Held[T]):
    """Holds ``async with manager`` open from :meth:`open` to :meth:`close`, which may be called in any asyncio loop."""

    async def open(self, used: str) -> T:
        """Enter the manager, and wait until it is entered.

        If the task is cancelled, the manager is exited again.

        Args:
            used: the message of the ClosedError if it was entered before.

        Raises:
            Exception: the exception that entering raised.
        """
        __tracebackhide__ = True
        if self._begun:
            raise ClosedError(used)
        try:
            return await in_trio(self._thread, self.enter)
        except BaseException:
            self._thread.cancel(self.scope)
            raise

    async def close(self) -> None:
        """Exit the manager, and wait until it is exited.

        Idempotent; does nothing if opening failed, or the trio thread has ended. If the task is cancelled meanwhile,
        the manager is cancelled, and not waited for.

        Raises:
            Exception: the exception that the manager raised, such as the error of a handler with
                ``on_error="cancel"``. Raised by the first call only.
        """
        __tracebackhide__ = True
        if self._begun and self._thread.alive:
            await in_trio(self._thread, self.leave)
