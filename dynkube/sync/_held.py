"""An async context manager held open for blocking code."""

from __future__ import annotations

from typing import TypeVar

from dynkube._portal import held

T = TypeVar("T")


class Held(held.Held[T]):
    """Holds ``async with manager`` open from :meth:`open` to :meth:`close`, which any threads may call."""

    def open(self) -> T:
        """Enter the manager, and wait until it is entered.

        If the wait is interrupted, the manager is exited again.

        Raises:
            Exception: the exception that entering raised.
        """
        __tracebackhide__ = True
        try:
            return self._thread.call(self.enter)
        except BaseException:
            self._thread.cancel(self.scope)
            raise

    def close(self) -> None:
        """Exit the manager, and wait until it is exited.

        Idempotent; does nothing if opening failed, or the trio thread has ended.

        Raises:
            Exception: the exception that the manager raised, such as the error of a handler with
                ``on_error="cancel"``. Raised by the first call only.
        """
        __tracebackhide__ = True
        if self._begun and self._thread.alive:
            self._thread.call(self.leave)
