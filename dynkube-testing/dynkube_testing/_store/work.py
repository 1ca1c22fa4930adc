"""Scheduling of controllers, in slices that do not block the event loop for long."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Protocol

from dynkube_testing._store.timers import Timers

# Maximum number of deletions, or changes of similar cost, in one slice. Each takes 20 to 100 microseconds, so a slice
# takes clearly less than 20 milliseconds, the maximum for which the event loop may be blocked.
SLICE = 100


class Allowance:
    """The number of changes that controllers may still make in the current slice."""

    def __init__(self, changes: float) -> None:
        self._left = changes

    def take(self, changes: int = 1) -> None:
        """Subtract ``changes`` from the allowance; exceeding it is not an error."""
        self._left -= changes

    @property
    def spent(self) -> bool:
        """Whether the allowance is used up.

        Then the controller must stop until the next slice.
        """
        return self._left <= 0


class Controller(Protocol):
    """Reconciles stored objects.

    It records changes of the storage, and handles them in :meth:`settle`.
    """

    def settle(self, allowance: Allowance) -> bool:
        """Handle the recorded changes, and return whether there was anything to do.

        When the allowance is spent, the remaining changes stay recorded for the next call.
        """
        ...


class Unmeasured:
    """A controller that calls a function with little work, which needs no allowance."""

    def __init__(self, settle: Callable[[], bool]) -> None:
        self._settle = settle

    def settle(self, _allowance: Allowance) -> bool:
        """Call the function."""
        return self._settle()


class Workers:
    """Runs the controllers.

    The work that a request triggers is done before its response, up to one slice. The rest is done in further slices,
    between which other tasks run. If no task runs the timers, because the server is not started yet, all work is done
    at once.

    Args:
        timers: The timers that schedule the next slice.
        controllers: The controllers, by priority.
    """

    def __init__(self, timers: Timers, controllers: Iterable[Controller]) -> None:
        self._timers = timers
        self._controllers = list(controllers)
        self._scheduled = False

    def add(self, controller: Controller) -> None:
        """Add a controller, after the others."""
        self._controllers.append(controller)

    def settle(self) -> None:
        """Run the controllers until there is nothing to do, or the slice is full.

        In each round, the controllers are called in order until one has done something.
        """
        allowance = Allowance(SLICE if self._timers.running else math.inf)
        while any(controller.settle(allowance) for controller in self._controllers):
            if allowance.spent:
                self._go_on_later()
                return

    def _go_on_later(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._timers.after(0, self._go_on)

    def _go_on(self) -> None:
        self._scheduled = False
        self.settle()
