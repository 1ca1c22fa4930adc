"""Random faults, one after the other, from a seed: for soak tests and for whoever wants to see what breaks."""

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
from dynkube.testing._faults import rewrites
from dynkube.testing._faults.cuts import Cut
from dynkube.testing._faults.effects import Delay, Disconnect, Drip, Effect, Hang
from dynkube.testing._faults.endings import Ending
from dynkube.testing._faults.facts import RequestFacts, When
from dynkube.testing._faults.faults import Fault
from dynkube.testing._faults.refusals import Refuse
from dynkube.testing._faults.rewriting import Rewrite

_ENDINGS: tuple[Ending, ...] = ("clean", "cut", "reset", "mid-line", "mid-chunk", "silent")


class Faulty(Protocol):
    """A server with faults: the embedded one, a proxy, or what a test puts in between."""

    def inject(
        self, effect: Effect, *, verb: str | None = None, when: When | None = None, times: int | None = None
    ) -> Fault:
        """Let ``effect`` happen to matching requests."""
        ...

    def end_watches(self, resource: str | GVR | None = None, how: Ending = "clean") -> int:
        """End the watches that are open now."""
        ...


#: One thing that goes wrong: it does something to the server, with what chance decides taken from the random.
Mishap: TypeAlias = Callable[[Faulty, Random], object]


def refused(server: Faulty, random: Random) -> None:
    """A few requests are refused as overloaded or broken servers refuse them."""
    refuse = random.choice((Refuse(429, 1), Refuse(429), Refuse(500), Refuse(503), Refuse(503, 2), Refuse(504)))
    server.inject(refuse, times=random.randint(1, 3))


def nonsense(server: Faulty, random: Random) -> None:
    """A few requests are answered by something that is no API server."""
    server.inject(Refuse(random.choice((200, 502)), body="<html>Bad Gateway</html>"), times=random.randint(1, 2))


def expired(server: Faulty, random: Random) -> None:
    """A list or a watch is told that its resourceVersion is gone, in one of the ways there are."""
    verb = random.choice(("list", "watch", "event"))
    effect = Rewrite(rewrites.expired, times=1) if verb == "event" else Refuse(410)
    server.inject(effect, verb="watch" if verb == "event" else verb, times=1)


def slow(server: Faulty, random: Random) -> None:
    """A few requests take their time."""
    server.inject(Delay(random.uniform(0.05, 2)), times=random.randint(1, 5))


def dripping(server: Faulty, random: Random) -> None:
    """An answer comes slowly."""
    server.inject(Drip(random.choice((2_000, 20_000, 200_000))), times=1)


def unanswered(server: Faulty, random: Random) -> None:
    """A request is never answered, or its connection ends."""
    server.inject(random.choice((Hang(), Disconnect(), Disconnect("reset"))), times=1)


def cut(server: Faulty, random: Random) -> None:
    """An answer, of a watch or another request, breaks off somewhere."""
    how = random.choice(_ENDINGS)
    lines, size = random.randint(0, 20), random.randint(0, 2000)
    effect = random.choice((Cut(how, after_lines=lines), Cut(how, after_bytes=size), Cut(how)))
    server.inject(effect, verb=random.choice(("list", "watch")), times=1)


def ended(server: Faulty, random: Random) -> None:
    """All watches that are open end."""
    server.end_watches(how=random.choice(_ENDINGS))


def without_bookmarks(server: Faulty, random: Random) -> None:
    """The next watches get no bookmarks, or not the one that ends the initial events."""
    effect = Rewrite(random.choice((rewrites.drop_bookmarks, rewrites.drop_initial_events_end)))
    server.inject(effect, verb="watch", times=random.randint(1, 2))


def broken_event(server: Faulty, random: Random) -> None:
    """An event of the next watch is one that no client can use, so that it has to begin anew."""
    function = random.choice((rewrites.garble, rewrites.error_without_status, rewrites.remove_metadata))
    server.inject(Rewrite(function, skip=random.randint(0, 10), times=1), verb="watch", times=1)


#: What goes wrong by default. Nothing of it lets a client that does all it should miss something for good.
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
    """Lets things go wrong at random times until it is cancelled, which takes back all that has not struck yet.

    Watches that were silenced stay so until their clients give them up, and answers that were struck go on as they are.

    ``nursery.start_soon(Chaos(server, random=Random(7)).run)``. Equal seeds give equal mishaps at equal times. What a
    request meets depends on which requests there are, so on real clocks two runs differ all the same.

    Args:
        server: The embedded server, a :class:`FaultProxy`, or anything else with ``inject`` and ``end_watches``.
        random: Decides what happens and when.
        every: Seconds between mishaps, on average.
        mishaps: What may happen, each as likely as the others; put one in twice to have it twice as often.
        when: Which requests may be struck; spare those of the test itself here. Watches that are ended are ended
            whoever has them.

    Attributes:
        counts: How often each mishap has happened, by its name.

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
            raise InvalidInput(f"every is {every}; give a positive number of seconds")
        if not isinstance(random, Random):
            raise InvalidInput(f"random is {random!r}; give a random.Random, such as Random(7)")
        if not mishaps:
            raise InvalidInput("mishaps is empty; give something that may happen")
        self.counts: Counter[str] = Counter()
        self._victim = _Victim(server, when)
        self._random = random
        self._every = every
        self._mishaps = tuple(mishaps)

    async def run(self, duration: float = math.inf) -> None:
        """Let things go wrong for ``duration`` seconds of trio's clock, then take back what is still in force."""
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
    """The server as mishaps see it: what is done to it is noted, and kept to the requests that may be struck."""

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
        """Remove what is still in force."""
        for fault in self._faults:
            fault.remove()


def _all(conditions: Sequence[When], request: RequestFacts) -> bool:
    return all(condition(request) for condition in conditions)
