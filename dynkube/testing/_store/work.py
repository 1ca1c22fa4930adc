"""How controllers get their turns: until nothing is left to do, and in slices where there is much."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Protocol

from dynkube.testing._store.timers import Timers

# Deletions, or writes of a like cost, in one go. They take 20 to 100 microseconds each, so that a slice stays well
# under the 20 milliseconds for which the loop may be held.
SLICE = 100


class Allowance:
    """How many changes may still be made in this slice."""

    def __init__(self, changes: float) -> None:
        self._left = changes

    def take(self, changes: int = 1) -> None:
        """Account for ``changes``; more than there was left is no error."""
        self._left -= changes

    @property
    def spent(self) -> bool:
        """Whether to stop, and go on in the next slice."""
        return self._left <= 0


class Controller(Protocol):
    """Something that brings what is stored in line with what should be, from notes it took of what changed."""

    def settle(self, allowance: Allowance) -> bool:
        """Act on what has changed; whether there was anything to do. Keeps its notes where the allowance ends."""
        ...


class Unmeasured:
    """A controller made of a function that takes no allowance, for what never has much to do."""

    def __init__(self, settle: Callable[[], bool]) -> None:
        self._settle = settle

    def settle(self, _allowance: Allowance) -> bool:
        """Call the function."""
        return self._settle()


class Workers:
    """Gives controllers their turns.

    What a request sets off is done before it is answered, up to one slice; the rest follows slice by slice, with
    other tasks in between. Where no task runs the timers (nothing is served yet) nobody waits, and all is done at once.

    Args:
        timers: When the next slice comes.
        controllers: In the order of their turns.
    """

    def __init__(self, timers: Timers, controllers: Iterable[Controller]) -> None:
        self._timers = timers
        self._controllers = list(controllers)
        self._scheduled = False

    def add(self, controller: Controller) -> None:
        """Give one more controller its turns, behind the others."""
        self._controllers.append(controller)

    def settle(self) -> None:
        """Let the controllers act, the first with something to do each time, until none has or the slice is full."""
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
