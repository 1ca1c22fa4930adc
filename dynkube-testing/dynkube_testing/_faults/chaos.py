"""Random faults from a seeded generator, for soak tests."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Protocol, TypeAlias

import trio

from dynkube.errors import InvalidInput
from dynkube.meta import GVR
from dynkube_testing._faults import rewrites
from dynkube_testing._faults.cuts import Cut
from dynkube_testing._faults.effects import Delay, Disconnect, Drip, Effect, Hang
from dynkube_testing._faults.endings import Ending
from dynkube_testing._faults.facts import RequestFacts, When
from dynkube_testing._faults.faults import Fault
from dynkube_testing._faults.refusals import Refuse
from dynkube_testing._faults.rewriting import Rewrite

_ENDINGS: tuple[Ending, ...] = ("clean", "cut", "reset", "mid-line", "mid-chunk", "silent")


class Faulty(Protocol):
    """A server that supports fault injection, like APIServer and FaultProxy."""

    def inject(
        self, effect: Effect, *, verb: str | None = None, when: When | None = None, times: int | None = None
    ) -> Fault:
        """Apply ``effect`` to matching requests."""
        ...

    def end_watches(self, resource: str | GVR | None = None, how: Ending = "clean") -> int:
        """End the open watches, and return their number."""
        ...


#: A function that injects one kind of fault into a server. It makes all random choices with the given ``Random``.
Mishap: TypeAlias = Callable[[Faulty, Random], object]


def refused(server: Faulty, random: Random) -> None:
    """Respond to the next 1 to 3 requests with 429, 500, 503 or 504."""
    refuse = random.choice((Refuse(429, 1), Refuse(429), Refuse(500), Refuse(503), Refuse(503, 2), Refuse(504)))
    server.inject(refuse, times=random.randint(1, 3))


def nonsense(server: Faulty, random: Random) -> None:
    """Respond to the next 1 or 2 requests with HTML (200 or 502), like a broken proxy."""
    server.inject(Refuse(random.choice((200, 502)), body="<html>Bad Gateway</html>"), times=random.randint(1, 2))


def expired(server: Faulty, random: Random) -> None:
    """Report an expired resourceVersion.

    Either the next list or watch gets 410, or the next watch an ERROR event for 410.
    """
    verb = random.choice(("list", "watch", "event"))
    effect = Rewrite(rewrites.expired, times=1) if verb == "event" else Refuse(410)
    server.inject(effect, verb="watch" if verb == "event" else verb, times=1)


def slow(server: Faulty, random: Random) -> None:
    """Delay the next 1 to 5 requests by up to 2 seconds."""
    server.inject(Delay(random.uniform(0.05, 2)), times=random.randint(1, 5))


def dripping(server: Faulty, random: Random) -> None:
    """Send the next response slowly, at 2, 20 or 200 kB per second, chosen at random."""
    server.inject(Drip(random.choice((2_000, 20_000, 200_000))), times=1)


def unanswered(server: Faulty, random: Random) -> None:
    """Send no response to the next request.

    Its connection is kept open, closed or reset.
    """
    server.inject(random.choice((Hang(), Disconnect(), Disconnect("reset"))), times=1)


def cut(server: Faulty, random: Random) -> None:
    """Truncate the response to the next list or watch at a random position."""
    how = random.choice(_ENDINGS)
    lines, size = random.randint(0, 20), random.randint(0, 2000)
    effect = random.choice((Cut(how, after_lines=lines), Cut(how, after_bytes=size), Cut(how)))
    server.inject(effect, verb=random.choice(("list", "watch")), times=1)


def ended(server: Faulty, random: Random) -> None:
    """End all open watches in a random way."""
    server.end_watches(how=random.choice(_ENDINGS))


def without_bookmarks(server: Faulty, random: Random) -> None:
    """Drop bookmarks of the next 1 or 2 watches.

    Drop either all bookmarks, or only the one that ends the initial events.
    """
    effect = Rewrite(random.choice((rewrites.drop_bookmarks, rewrites.drop_initial_events_end)))
    server.inject(effect, verb="watch", times=random.randint(1, 2))


def broken_event(server: Faulty, random: Random) -> None:
    """Make one event of the next watch invalid, so that the client has to list again."""
    function = random.choice((rewrites.garble, rewrites.error_without_status, rewrites.remove_metadata))
    server.inject(Rewrite(function, skip=random.randint(0, 10), times=1), verb="watch", times=1)


#: The default mishaps. A correct client recovers from all of them without permanently missing an object or a change.
MISHAPS: tuple[Mishap, ...] = (
    refused,
    nonsense,
    expired,
    slow,
    dripping,
    unanswered,
    cut,
    ended,
    without_bookmarks,
    broken_event,
)


class Chaos:
    """Inject random faults at random times, until cancelled.

    A *mishap* is a function that injects one kind of fault. Start the injection with
    ``nursery.start_soon(Chaos(server, random=Random(7)).run)``. Cancellation removes the faults that are still active.
    It does not repair responses that are already affected: a watch that was ended with ``"silent"`` stays open and
    silent until its client closes it.

    Equal seeds give equal mishaps at equal times. Which requests are affected depends on when they are made, so two
    runs on the real clock can differ.

    Args:
        server: The embedded server, a :class:`FaultProxy`, or another object with ``inject`` and ``end_watches``.
        random: Random generator for all choices, such as which mishap happens when.
        every: Mean time between mishaps in seconds.
        mishaps: The mishaps to choose from, with equal probability; repeat one to make it more frequent.
        when: Only requests for which this function returns true are affected; use it to exclude the test's own
            requests. It has no effect when a mishap ends open watches.

    Attributes:
        counts: How often each mishap has been called, by function name.

    Raises:
        InvalidInput: ``every`` is not positive, there are no ``mishaps``, or ``random`` is a number.
    """

    def __init__(
        self,
        server: Faulty,
        *,
        random: Random,
        every: float = 5.0,
        mishaps: Sequence[Mishap] = MISHAPS,
        when: When | None = None,
    ) -> None:
        if not (every > 0 and math.isfinite(every)):
            raise InvalidInput(f"every is {every}: pass a positive number of seconds")
        if not isinstance(random, Random):
            raise InvalidInput(f"random is {random!r}: pass a random.Random, such as Random(7)")
        if not mishaps:
            raise InvalidInput("mishaps is empty: pass something that may happen")
        self.counts: Counter[str] = Counter()
        self._victim = _Victim(server, when)
        self._random = random
        self._every = every
        self._mishaps = tuple(mishaps)

    async def run(self, duration: float = math.inf) -> None:
        """Call random mishaps for ``duration`` seconds on trio's clock.

        Afterwards, and on cancellation, the faults that are still active are removed.
        """
        try:
            with trio.move_on_after(duration):
                while True:
                    await trio.sleep(self._random.expovariate(1 / self._every))
                    mishap = self._random.choice(self._mishaps)
                    mishap(self._victim, self._random)
                    self.counts[getattr(mishap, "__name__", repr(mishap))] += 1
        finally:
            self._victim.recover()


class _Victim:
    """The server that is passed to mishaps.

    It records the faults that they inject, and restricts each fault to requests for which ``when`` returns true.
    """

    def __init__(self, server: Faulty, when: When | None) -> None:
        self._server = server
        self._when = when
        self._faults: list[Fault] = []

    def inject(
        self, effect: Effect, *, verb: str | None = None, when: When | None = None, times: int | None = None
    ) -> Fault:
        conditions = [condition for condition in (self._when, when) if condition is not None]
        fault = self._server.inject(effect, verb=verb, when=partial(_all, conditions), times=times)
        self._faults = [other for other in self._faults if other.times != 0]
        self._faults.append(fault)
        return fault

    def end_watches(self, resource: str | GVR | None = None, how: Ending = "clean") -> int:
        return self._server.end_watches(resource, how)

    def recover(self) -> None:
        """Remove all recorded faults that are still active."""
        for fault in self._faults:
            fault.remove()


def _all(conditions: Sequence[When], request: RequestFacts) -> bool:
    return all(condition(request) for condition in conditions)
