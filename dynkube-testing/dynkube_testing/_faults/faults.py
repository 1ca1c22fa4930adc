"""The active faults of a server, and how they are applied to requests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from types import TracebackType
from typing import Self

import trio

from dynkube.errors import InvalidInput
from dynkube.meta import ResourceArg
from dynkube_testing._asgi import ASGIApp, Receive, Scope, Send
from dynkube_testing._faults.effects import Effect, check_seconds
from dynkube_testing._faults.endings import EndableAnswer, Ending, check_how
from dynkube_testing._faults.facts import Matcher, RequestFacts, When


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """To which of the matching requests a fault applies, by time, count and chance.

    Attributes:
        skip: How many matching requests to skip first.
        chance: Probability that the fault applies, for each request after the skipped ones.
        start: Time on trio's clock from which on the fault applies.
        end: Time on trio's clock until which the fault applies.
    """

    skip: int = 0
    chance: float = 1.0
    start: float = -math.inf
    end: float = math.inf

    def __post_init__(self) -> None:
        if self.skip < 0:
            raise InvalidInput(f"skip is {self.skip}: pass 0 or a positive number of requests")
        if not 0 < self.chance <= 1:
            raise InvalidInput(f"chance is {self.chance}: pass a probability above 0, up to 1")

    @classmethod
    def scheduled(cls, *, skip: int, chance: float, start: float, duration: float) -> Self:
        """Return the plan of a fault that begins ``start`` seconds from now.

        Raises:
            InvalidInput: An argument is out of range.
            RuntimeError: ``start`` or ``duration`` is given outside of trio.
        """
        check_seconds("start", start)
        if not duration > 0:
            raise InvalidInput(f"duration is {duration}: pass a positive number of seconds")
        if not start and duration == math.inf:
            return cls(skip=skip, chance=chance)
        begin = trio.current_time() + start
        return cls(skip=skip, chance=chance, start=begin, end=begin + duration)


@dataclass(slots=True, kw_only=True, eq=False)
class Fault:
    """An injected fault, active until it was applied ``times`` times or is removed.

    Use it as a context manager to remove it at the end of a block.

    Attributes:
        effect: The effect on the requests to which the fault applies.
        verb: The verb that the fault matches; ``None`` for every verb.
        resource: The resource that the fault matches; ``None`` for every path.
        path_prefix: The path prefix that the fault matches.
        times: How many more times the fault will be applied; ``None`` for no limit.
        hits: How many times the fault was applied.
    """

    effect: Effect
    times: int | None
    hits: int = 0
    _matcher: Matcher = field(repr=False)
    _plan: Plan = field(repr=False)
    _passed: int = field(default=0, repr=False)
    _remove: Callable[[Fault], None] = field(repr=False)

    def __post_init__(self) -> None:
        if self.times is not None and self.times < 1:
            raise InvalidInput(f"times is {self.times}: pass a positive number, or None for always")

    @property
    def verb(self) -> str | None:
        """The verb that the fault matches; ``None`` for every verb."""
        return self._matcher.verb

    @property
    def resource(self) -> ResourceArg | None:
        """The resource that the fault matches; ``None`` for every path."""
        return self._matcher.resource

    @property
    def path_prefix(self) -> str:
        """The path prefix that the fault matches."""
        return self._matcher.path_prefix

    def remove(self) -> None:
        """Remove the fault. Idempotent.

        It does not repair responses that are already affected.
        """
        self._remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    def _strikes(self, request: RequestFacts, random: Random) -> bool:
        """Return whether the fault applies to ``request``, and count the request."""
        plan = self._plan
        if not self._matcher(request) or not plan.start <= trio.current_time() < plan.end:
            return False
        if self._passed < plan.skip:
            self._passed += 1
            return False
        if plan.chance < 1 and random.random() >= plan.chance:
            return False
        self.hits += 1
        if self.times is not None:
            self.times -= 1
            if not self.times:
                self.remove()
        return True


class Faults:
    """All faults of one server, oldest first, and its open watches.

    Args:
        random: Random generator for faults with a ``chance`` below 1.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._faults: list[Fault] = []
        # A dict because it is ordered: the oldest watch is ended first.
        self._watches: dict[EndableAnswer, RequestFacts] = {}

    def add(self, effect: Effect, matcher: Matcher, plan: Plan, times: int | None) -> Fault:
        """Apply ``effect`` from now on to the requests that ``matcher`` and ``plan`` select, ``times`` at most.

        Raises:
            InvalidInput: ``effect`` is not an effect, or ``times`` is not positive.
        """
        _check_effect(effect)
        fault = Fault(effect=effect, times=times, _matcher=matcher, _plan=plan, _remove=self._discard)
        self._faults.append(fault)
        return fault

    async def serve(self, request: RequestFacts, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass ``request`` to ``app`` through the effects of all faults that apply to it."""
        chain = _Chain(request, tuple(self._faults), self._random, app)
        if request.verb != "watch":
            await chain.go_on(0, scope, receive, send)
            return

        def started(status: int) -> None:
            if status == 200:
                self._watches[answer] = request

        answer = EndableAnswer(scope, receive, send, started)
        try:
            await answer.run(partial(chain.go_on, 0))
        finally:
            self._watches.pop(answer, None)

    def end_watches(self, how: Ending, wanted: When, *, silent: bool = False) -> int:
        """End the open watches selected by ``wanted``, and return their number.

        With ``silent=True``, end only watches that were ended with ``"silent"`` before and are therefore still open.
        """
        check_how(how)
        answers = [a for a, request in self._watches.items() if wanted(request) and (a.silent or not silent)]
        for answer in answers:
            answer.end(how)
        return len(answers)

    def _discard(self, fault: Fault) -> None:
        if fault in self._faults:
            self._faults.remove(fault)


@dataclass(frozen=True, slots=True)
class _Chain:
    """The faults between one request and ``app``.

    Whether a fault applies is determined only when the request reaches it, not in advance.
    """

    request: RequestFacts
    faults: tuple[Fault, ...]
    random: Random
    app: ASGIApp

    async def go_on(self, index: int, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the next fault that applies, or to ``app``.

        Faults are checked from ``index`` on.
        """
        for place in range(index, len(self.faults)):
            fault = self.faults[place]
            if fault._strikes(self.request, self.random):
                behind = partial(self.go_on, place + 1)
                await fault.effect.apply(self.request, behind, scope, receive, send)
                return
        await self.app(scope, receive, send)


def _check_effect(effect: object) -> None:
    """Check that ``effect`` is an Effect.

    So a mistake is reported at once, and not by the first request.

    Raises:
        InvalidInput: ``effect`` is a class, or has no method ``apply``.
    """
    if isinstance(effect, type):
        raise InvalidInput(f"effect is the class {effect.__name__}: pass an instance: {effect.__name__}(...)")
    if not callable(getattr(effect, "apply", None)):
        raise InvalidInput(
            f"effect is {effect!r}: pass an effect of dynkube_testing, such as Refuse(503), or an effect of your own"
        )
