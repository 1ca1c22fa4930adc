"""Plays a scenario once, with one transient answer or without, and judges what it did."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Protocol

import trio
import trio.testing

from dynkube.errors import DynkubeError
from dynkube_testing import APIServer, RequestFacts
from tests.sweep.answers import Answer
from tests.sweep.lab import Lab, Scenario, Violation, now

_LIMIT: Final = 4 * 3600.0
_SEED: Final = 7


class _Sent(Protocol):
    @property
    def method(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def verb(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Line:
    """One of a scenario's requests.

    Attributes:
        text: method and path, with ``?watch`` for a watch.
        number: which of the requests with this text it is, from 1.
        path: the path.
        time: when it was sent, in seconds from the start.
    """

    text: str
    number: int
    path: str
    time: float

    def __str__(self) -> str:
        return self.text if self.number == 1 else f"{self.text} ({self.number})"


@dataclass(frozen=True, slots=True)
class Played:
    """What a run did.

    Attributes:
        outcome: in a few words.
        wrong: whether it claimed what the server's state does not justify.
        lines: its requests.
    """

    outcome: str
    wrong: bool
    lines: tuple[Line, ...]


def text_of(request: _Sent) -> str:
    """Return the request line that identifies a request of a scenario."""
    return f"{request.method} {request.path}{'?watch' if request.verb == 'watch' else ''}"


class Nth:
    """Selects one request of a scenario."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._seen = 0

    def __call__(self, request: RequestFacts) -> bool:
        """Return whether it is this one."""
        if text_of(request) != self._line.text:
            return False
        self._seen += 1
        return self._seen == self._line.number


def requests_of(scenario: Scenario) -> tuple[Line, ...]:
    """Return the requests that a scenario sends if nothing fails.

    Raises:
        RuntimeError: it fails without a fault.
    """
    played = play(scenario)
    if played.wrong or played.outcome.startswith("raised"):
        raise RuntimeError(f"{scenario.feature} fails without a fault: {played.outcome}")
    return tuple(line for line in played.lines if line.number <= scenario.most and scenario.sweeps(line.text))


def play(scenario: Scenario, answer: Answer | None = None, line: Line | None = None) -> Played:
    """Run a scenario in a trio run of its own, in virtual time, whose scheduling is always the same."""
    scheduler: Any = trio._core._run
    before = scheduler._ALLOW_DETERMINISTIC_SCHEDULING, scheduler._r.getstate()
    scheduler._ALLOW_DETERMINISTIC_SCHEDULING = True
    scheduler._r.seed(_SEED)
    try:
        with _quiet():
            return trio.run(_play, scenario, answer, line, clock=trio.testing.MockClock(autojump_threshold=0))
    finally:
        scheduler._ALLOW_DETERMINISTIC_SCHEDULING = before[0]
        scheduler._r.setstate(before[1])


@contextmanager
def _quiet() -> Iterator[None]:
    """Failures are expected here, and logging them takes longer than causing them."""
    before = logging.root.manager.disable
    logging.disable()
    try:
        yield
    finally:
        logging.disable(before)


async def _play(scenario: Scenario, answer: Answer | None, line: Line | None) -> Played:
    async with APIServer(random=Random(_SEED), now=now, **scenario.server) as server:
        scenario.prepare(server)
        if scenario.before is not None:
            async with scenario.connect(server) as other:
                await scenario.before(server, other)
        async with scenario.connect(server, scenario.user) as client:
            server.forget_requests()
            began = trio.current_time()
            lab = Lab(server, client, document=answer is not None and answer.only is not None)
            fault = None
            if answer is not None and line is not None:
                fault = server.inject(answer.effect, when=Nth(line), times=1)
            outcome, wrong = await _judge(scenario, lab, line)
            if fault is not None and not fault.hits:
                outcome, wrong = f"sent no {line}, unlike the run without a fault", True
            played = Played(outcome, wrong, tuple(_lines(server.audit, began)))
    return played


async def _judge(scenario: Scenario, lab: Lab, line: Line | None) -> tuple[str, bool]:
    """Return what happened, and whether it is wrong."""
    with trio.move_on_after(_LIMIT):
        failure = await _failure_of(scenario, lab)
        if failure is None:
            return ", ".join(lab.notes) or "right result", False
        if not isinstance(failure, DynkubeError):
            return _wrong(failure), True
        if lab.closed_to_errors and line is not None and line.time >= scenario.opening:
            return f"ended: {_raised(failure)}", True
        if line is None or not scenario.repeat:
            return _raised(failure), False
        return await _again(scenario, lab, failure)
    return f"did not end within {_LIMIT / 3600:.0f} hours", True


async def _again(scenario: Scenario, lab: Lab, failure: Exception) -> tuple[str, bool]:
    """Make the same call a minute later, when it has to succeed."""
    await trio.sleep(60)
    lab.closed_to_errors = False
    second = await _failure_of(scenario, lab)
    if second is None:
        return _raised(failure), False
    later = _raised(second) if isinstance(second, DynkubeError) else _wrong(second)
    return f"{_raised(failure)}, and a minute later: {later}", True


async def _failure_of(scenario: Scenario, lab: Lab) -> Exception | None:
    try:
        await scenario.play(lab)
        lab.settle()
    except Exception as exc:  # of any kind: it is what the run is about
        return _first(exc)
    return None


def _first(exc: Exception) -> Exception:
    """Return a violation in nested groups, or else the first exception."""
    leaves = list(_leaves(exc))
    return next((each for each in leaves if isinstance(each, Violation)), leaves[0])


def _leaves(exc: Exception) -> Iterator[Exception]:
    if isinstance(exc, ExceptionGroup):
        for each in exc.exceptions:
            yield from _leaves(each)
    else:
        yield exc


def _wrong(exc: Exception) -> str:
    return str(exc) if isinstance(exc, Violation) else f"{_raised(exc)}, which is no DynkubeError: {exc}"


def _raised(exc: BaseException) -> str:
    return f"raised {type(exc).__name__}"


def _lines(requests: Iterable[Any], began: float) -> Iterator[Line]:
    seen: Counter[str] = Counter()
    for each in requests:
        text = text_of(each)
        seen[text] += 1
        yield Line(text, seen[text], each.path, each.time - began)
