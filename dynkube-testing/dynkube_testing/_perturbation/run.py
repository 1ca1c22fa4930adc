"""One run of a scenario: the server, the program with its restarts, and waiting until nothing changes any more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

import trio

from dynkube.errors import Forbidden, InvalidInput, NoMatch, NotFound
from dynkube_testing._perturbation.behaviours import BEHAVIOURS, Surroundings
from dynkube_testing._perturbation.commands import Command, run_command
from dynkube_testing._perturbation.plans import PerturbationPlan
from dynkube_testing._perturbation.recording import Recording, logs_in
from dynkube_testing._perturbation.states import Adjust, Objects, adjusted, objects_of
from dynkube_testing._perturbation.threads import ThreadTurns
from dynkube_testing._perturbation.wire import Wire
from dynkube_testing._server import APIServer
from dynkube_testing._wire.transport import InProcessTransport

if TYPE_CHECKING:
    from dynkube._client import Client

Program: TypeAlias = "Callable[[Client], Awaitable[object]]"
Scenario: TypeAlias = "Callable[[PerturbedRun], Awaitable[object]]"
ServerFactory: TypeAlias = Callable[[Random], APIServer]
_Launch: TypeAlias = "Callable[[Wire], Awaitable[str]]"
"""Runs a program until it ends; returns why it has ended."""

_FIRST_BACKOFF, _LAST_BACKOFF = 1.0, 60.0  # seconds between an exit of the program and its next start, as in a cluster
_PIECE = 0.0005  # seconds of CPU that a piece of an informer's work counts for in virtual time


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """When a program counts as settled, and what ends a run.

    Attributes:
        quiet: Seconds without a write after which nothing more is expected. Longer than the longest back-off.
        timeout: Seconds after which a program that still writes counts as never settling.
        requests: Requests of the program after which a run ends; earlier if it has sent ten times as many as without
            perturbations, and a thousand more. A program that loops without waiting does so in no virtual time.
        thread: Real seconds that a thread of the program may run in virtual time without ending or calling its context.
    """

    quiet: float = 300.0
    timeout: float = 3600.0
    requests: int = 20_000
    thread: float = 10.0

    def __post_init__(self) -> None:
        for name in ("quiet", "timeout", "requests", "thread"):
            check_positive(name, getattr(self, name))


def check_positive(name: str, value: float) -> None:
    """Check that ``value`` is a positive, finite number.

    Raises:
        InvalidInput: It is not.
    """
    if not 0 < value < inf:
        raise InvalidInput(f"{name} is {value}: pass a positive number")


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What a run came to.

    Attributes:
        recording: What has happened.
        states: The objects of the server at each ``settle()``.
        applied: Whether each perturbation of the plan has affected anything.
        settled: Virtual times at which each ``settle()`` returned.
        definitions: The names of the CRDs at the end.
        ended: Why the run ended before the scenario did; ``""`` if it did not.
        failure: The exception of the scenario.
        interrupted: Whether the scenario failed only because a perturbation had removed the resource that it used.
    """

    recording: Recording
    states: list[Objects] = field(default_factory=list)
    applied: tuple[bool, ...] = ()
    settled: list[float] = field(default_factory=list)
    definitions: tuple[str, ...] = ()
    ended: str = ""
    failure: Exception | None = None
    interrupted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where a run takes place.

    Attributes:
        programs: Has the tasks of the programs, which end first.
        requests: Has the tasks of the server for their requests, as the last requests are sent when a program ends.
        scenario: Has the scenario.
        outcome: Gets what happens.
        real_time: Whether time is that of the machine, as commands need it.
    """

    programs: trio.Nursery
    requests: trio.Nursery
    scenario: trio.CancelScope
    outcome: Outcome
    real_time: bool


class PerturbedRun:
    """What a scenario works with: a server, and a program that is perturbed.

    Attributes:
        server: The server. Its methods are never perturbed: they are what users and other controllers do.
        client: A client of it that is not perturbed.
    """

    def __init__(
        self,
        server: APIServer,
        client: Client,
        plan: PerturbationPlan,
        limits: RunLimits,
        stage: Stage,
    ) -> None:
        self.server: APIServer = server
        self.client: Client = client
        self._limits = limits
        self._stage = stage
        self._outcome = stage.outcome
        self._random = Random(plan.seed)
        self._incarnations: dict[trio.CancelScope, Wire] = {}
        self._adjust: Adjust | None = None
        self._restart = 0.0  # virtual time at which what was killed is started again
        around = Surroundings(server, self._outcome.recording, self._crash, stage.programs.start_soon)
        self._behaviours = [BEHAVIOURS[each.family](each, around) for each in plan.perturbations]

    def start(self, program: Program) -> None:
        """Start the program under test; it runs until the scenario ends.

        ``program`` is an async function of a :class:`dynkube.Client` that is already entered. If it returns or raises,
        it is started again with a new client, after a second and then after longer pauses, as in a cluster. Several
        programs may be started; a crash ends all of them.

        Raises:
            InvalidInput: ``program`` cannot be called.
        """
        if not callable(program):
            raise InvalidInput(f"program is {program!r}: pass an async function of a client")
        self._stage.programs.start_soon(self._keep_running, partial(self._call, program))

    def start_command(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> None:
        """Start a command as the program under test: an operator in any language, in a process of its own.

        It finds the server by the variable ``KUBECONFIG``, as a cluster administrator over HTTP. What it prints is in
        the timeline. A crash kills it with its child processes. Everything else is as with :meth:`start`.

        Args:
            command: The program and its arguments.
            env: Variables for its environment, besides those of this process.

        Raises:
            InvalidInput: The scenario is run in virtual time, which other processes do not follow; or ``command`` is
                not a list of strings, or is not found.
        """
        if not self._stage.real_time:
            raise InvalidInput("commands do not follow virtual time: run the scenario by perturb(..., real_time=True)")
        parsed = Command.parse(command, env or {})
        self._stage.programs.start_soon(self._keep_running, partial(self._execute, parsed))

    def note(self, text: str) -> None:
        """Add a line to the timeline that a finding shows."""
        self._outcome.recording.note("world", text)

    def normalize(self, function: Adjust) -> None:
        """Say which differences between objects do not matter: compare what ``function`` returns, from now on.

        At each :meth:`settle` it is called with a list of all objects of the server that are compared, as dicts that it
        may change. It returns those to compare, without others: with sorted lists, for example, if their order does not
        matter. A name that is computed counts by its prefix only, like a generated one, if ``metadata.generateName`` is
        set to the prefix. Exceptions that it raises are raised by :meth:`settle`.

        Args:
            function: Returns an iterable of objects of the kinds that it was given.

        Raises:
            InvalidInput: ``function`` cannot be called.
        """
        if not callable(function):
            raise InvalidInput(f"normalize got {function!r}: pass a function of a list of objects")
        self._adjust = function

    async def settle(self, *, quiet: float | None = None, timeout: float | None = None) -> None:
        """Wait until the program has nothing to do any more, and compare the objects with those of other runs.

        It returns when no perturbation is active and the program has written nothing for ``quiet`` virtual seconds
        (Events and Leases aside). The objects of the server at that moment must be those of the runs without
        perturbations. If the program still writes after ``timeout`` seconds, the run ends.

        Args:
            quiet: Seconds; default: 300, longer than most back-offs after an error.
            timeout: Seconds; default: an hour.

        Raises:
            InvalidInput: An argument is not a positive number, or the function passed to :meth:`normalize` returns
                something else than objects with different names.
        """
        quiet = self._limits.quiet if quiet is None else quiet
        timeout = self._limits.timeout if timeout is None else timeout
        check_positive("quiet", quiet)
        check_positive("timeout", timeout)
        deadline = trio.current_time() + timeout
        await trio.lowlevel.checkpoint()
        recording, begun = self._outcome.recording, trio.current_time()
        while (due := max(begun, recording.last_write, self._quiet_from()) + quiet) > trio.current_time():
            if due == inf:
                due = trio.current_time() + quiet
            if due - quiet > deadline:
                does = "has not sent its first request" if self._is_starting else "still writes"
                self._end(f"the program {does} {timeout:g} seconds after the last change")
                await trio.sleep_forever()
            await trio.sleep_until(due)
        recording.note("world", "settled")
        objects = objects_of(self.server)
        self._outcome.states.append(objects if self._adjust is None else adjusted(objects, self._adjust))
        self._outcome.settled.append(recording.now)

    def _quiet_from(self) -> float:
        """Return when the last perturbation was over, or will be; infinite if that is not known yet.

        In real time also when a program has sent its first request: starting takes a command seconds.
        """
        found = [each.until for each in self._behaviours if each.applied]
        if self._stage.real_time:
            found += [wire.used_since for wire in self._incarnations.values()]
        return max(found, default=-inf)

    @property
    def _is_starting(self) -> bool:
        return self._stage.real_time and any(wire.used_since == inf for wire in self._incarnations.values())

    def _was_interrupted(self, error: Exception) -> bool:
        """Return whether a user's request has failed because a perturbation is just removing its resource."""
        removed = any(each.applied and each.until == inf for each in self._behaviours)
        return removed and isinstance(error, NoMatch | NotFound | Forbidden)

    def _end(self, why: str) -> None:
        self._outcome.ended = self._outcome.ended or why
        self._stage.scenario.cancel()

    def _crash(self, seconds: float) -> None:
        self._restart = trio.current_time() + seconds
        for scope in self._incarnations:
            scope.cancel()

    async def _keep_running(self, launch: _Launch) -> None:
        recording, backoff = self._outcome.recording, _FIRST_BACKOFF
        while True:
            recording.note("program", "starts")
            begun = trio.current_time()
            why = await self._one_incarnation(launch)
            if why is None:
                recording.note("program", "is killed")
                await trio.sleep_until(self._restart)
                continue
            recording.note("program", f"ends by itself: {why}")
            recording.exits.append(recording.now)
            if trio.current_time() - begun > 10 * _LAST_BACKOFF:
                backoff = _FIRST_BACKOFF
            await trio.sleep(backoff)
            backoff = min(2 * backoff, _LAST_BACKOFF)

    async def _one_incarnation(self, launch: _Launch) -> str | None:
        """Run the program until it ends; return why it has ended, or ``None`` if it was killed."""
        wire = Wire(
            self.server.app,
            self._outcome.recording,
            self._behaviours,
            revision=lambda: self.server.revision,
            too_many=lambda: self._end(f"the program has sent more than {self._limits.requests} requests"),
            most=self._limits.requests,
        )
        why = "it was cancelled"
        with trio.CancelScope() as scope:
            self._incarnations[scope] = wire
            try:
                why = await launch(wire)
            except Exception as error:  # noqa: BLE001 - a program may end in any way; that is recorded
                why = f"{type(error).__name__}: {error}"
            finally:
                del self._incarnations[scope]
        return None if scope.cancel_called else why

    async def _call(self, program: Program, wire: Wire) -> str:
        transport = InProcessTransport(wire, self._stage.requests.start_soon)
        async with connected(transport, self._random, real_time=self._stage.real_time) as client:
            await program(client)
        return "it returned"

    async def _execute(self, command: Command, wire: Wire) -> str:
        recording = self._outcome.recording
        return await run_command(
            command, wire, self._stage.requests, lambda line: recording.note("program", f"prints {line}")
        )


@asynccontextmanager
async def connected(transport: InProcessTransport, random: Random, *, real_time: bool) -> AsyncIterator[Client]:
    """Connect a client, whose delays are those of ``random``."""
    from dynkube._connect import connect  # the only place where the server's distribution has a client
    from dynkube.informers._settings import InformerSettings, InjectedSettings

    settings = InformerSettings(linger=0, random=random)
    if not real_time:
        # Informers yield to other tasks after some milliseconds of work: here after some pieces of it, or the order of
        # what a program does would depend on how busy the machine is.
        pieces = count()
        settings = replace(InjectedSettings.of(settings), cpu_clock=lambda: _PIECE * next(pieces))
    async with connect(transport=transport, settings=settings) as client:
        yield client


async def play(
    scenario: Scenario,
    plan: PerturbationPlan,
    server: ServerFactory,
    limits: RunLimits,
    turns: ThreadTurns | None = None,
) -> Outcome:
    """Run a scenario once; call it in a trio run of its own, in virtual time if threads take turns."""
    random, outcome, real_time = Random(plan.seed), Outcome(recording=Recording()), turns is None
    async with server(random) as api, trio.open_nursery() as requests:
        transport = InProcessTransport(api.app, requests.start_soon)
        async with connected(transport, random, real_time=real_time) as client:
            with logs_in(outcome.recording):
                async with trio.open_nursery() as programs:
                    with trio.CancelScope() as scope:
                        stage = Stage(
                            programs=programs, requests=requests, scenario=scope, outcome=outcome, real_time=real_time
                        )
                        if turns is not None:
                            turns.when_stuck = scope.cancel
                        run = PerturbedRun(api, client, plan, limits, stage)
                        try:
                            await scenario(run)
                        except Exception as error:  # noqa: BLE001 - reported as a finding
                            outcome.interrupted = run._was_interrupted(error)
                            outcome.failure = None if outcome.interrupted else error
                    programs.cancel_scope.cancel()
        outcome.definitions = tuple(each["metadata"]["name"] for each in api.list("customresourcedefinitions"))
        outcome.applied = tuple(each.applied for each in run._behaviours)
        requests.cancel_scope.cancel()
    return outcome


def played(
    scenario: Scenario, plan: PerturbationPlan, server: ServerFactory, limits: RunLimits, *, real_time: bool = False
) -> Outcome:
    """Run a scenario once, in a trio run in virtual time whose scheduling depends on the plan's seed only.

    In real time no run is like another one.

    Raises:
        InvalidInput: A thread of the program waits for something that cannot happen in virtual time.
    """
    import trio.testing

    if real_time:
        return trio.run(play, scenario, plan, server, limits)

    # trio runs ready tasks in random order, so that no program relies on one. There is no public API to seed it;
    # pytest-trio does the same.
    scheduler: Any = trio._core._run
    before = scheduler._ALLOW_DETERMINISTIC_SCHEDULING, scheduler._r.getstate()
    scheduler._ALLOW_DETERMINISTIC_SCHEDULING = True
    scheduler._r.seed(plan.seed)
    try:
        clock = trio.testing.MockClock(autojump_threshold=0)
        turns = ThreadTurns(clock, seconds=limits.thread)
        with turns.taken():
            outcome = trio.run(play, scenario, plan, server, limits, turns, clock=clock)
    finally:
        scheduler._ALLOW_DETERMINISTIC_SCHEDULING = before[0]
        scheduler._r.setstate(before[1])
    if turns.stuck:
        raise InvalidInput(turns.stuck)
    return outcome
