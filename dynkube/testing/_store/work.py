"""Scheduling of controllers: until nothing is left to do, in slices if need be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Protocol

from dynkube.testing._store.timers import Timers

# Deletions, or writes of similar cost, in one slice. They take 20 to 100 microseconds each, so that a slice stays well
# under the 20 milliseconds for which the event loop may be blocked.
SLICE = 100


class Allowance:
    """The number of changes that may still be made in this slice."""

    def __init__(self, changes: float) -> None:
        self._left = changes

    def take(self, changes: int = 1) -> None:
        """Account for ``changes``; it is no error to exceed the allowance."""
        self._left -= changes

    @property
    def spent(self) -> bool:
        """Whether to stop, and continue in the next slice."""
        return self._left <= 0


class Controller(Protocol):
    """Reconciles the stored objects, based on a record of what changed."""

    def settle(self, allowance: Allowance) -> bool:
        """Reconcile what has changed; return whether anything has.

        When the allowance is spent, the rest stays recorded for the next call.
        """
        ...


class Unmeasured:
    """A controller made from a function without an allowance, for little work."""

    def __init__(self, settle: Callable[[], bool]) -> None:
        self._settle = settle

    def settle(self, _allowance: Allowance) -> bool:
        """Call the function."""
        return self._settle()


class Workers:
    """Runs the controllers.

    What a request triggers is done before its response, up to one slice; the rest follows slice by slice, with other
    tasks in between. If no task runs the timers (nothing is served yet), all is done at once.

    Args:
        timers: They schedule the next slice.
        controllers: The controllers, in the order of their turns.
    """

    def __init__(self, timers: Timers, controllers: Iterable[Controller]) -> None:
        self._timers = timers
        self._controllers = list(controllers)
        self._scheduled = False

    def add(self, controller: Controller) -> None:
        """Add a controller, after the others."""
        self._controllers.append(controller)

    def settle(self) -> None:
        """Run the controllers until none has anything to do, or the slice is full.

        Each round runs the first one with something to do.
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
