"""The course of a soak: write, disturb, hold everybody, wait, compare, measure, and again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

import trio

from benchmarks.soak.checks import Divergence, catch_up, compare, describe
from benchmarks.soak.clusters import Cluster
from benchmarks.soak.faults import Weather
from benchmarks.soak.figures import Sample, line, sample
from benchmarks.soak.gate import Gate
from benchmarks.soak.observers import Observer, Violations, attach_handlers, choices, observers_of, start_streams
from benchmarks.soak.resources import JSONObject, Resource, Write, namespaces, soak_resources
from dynkube import Client, Unstructured
from dynkube.errors import AlreadyExists, APIError
from dynkube.meta import GVR

_VISITORS = 4
# Bookkeeping of the client's own, which is open while somebody needs it.
_OWN_WATCHES = {"customresourcedefinitions", "apiservices", "namespaces"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How long and how hard.

    Attributes:
        seconds: Of writing and disturbing; on trio's clock, without the checks.
        check_every: Seconds between checks.
        patience: Seconds that an observer has to catch up once things are quiet.
        rate: Writes a second of all writers; ``inf`` for what the server takes.
        writers: How many write at a time.
        resources: How many.
        changing: Of which so many have definitions that come and go.
        presence: For how many seconds such a definition is there, at least and at most.
        fault_every: Seconds between faults, on average; 0 for none.
        seed: Repeats what is written and what goes wrong, though not the order in which tasks take turns.
    """

    seconds: float
    check_every: float
    patience: float
    rate: float
    writers: int
    resources: int = 200
    changing: int = 20
    presence: tuple[float, float] = (10.0, 240.0)
    fault_every: float = 3.0
    seed: int = 1


@dataclass(kw_only=True)
class Outcome:
    """What a soak has found and measured."""

    samples: list[Sample] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)
    violations: Violations = field(default_factory=Violations)
    written: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    checks: int = 0
    cycles: int = 0
    filters: int = 0
    visits: int = 0


class Soak:
    """One run on ``cluster``, observed through ``client``."""

    def __init__(self, cluster: Cluster, client: Client, options: Options, tell: Callable[[str], None]) -> None:
        self.outcome = Outcome()
        self._cluster = cluster
        self._client = client
        self._options = options
        self._tell = tell
        self._resources = soak_resources(options.resources, options.changing, options.seed)
        self._observers: list[Observer] = []
        weights = [1.0 / (1 + number) ** 0.7 for number in range(len(self._resources))]
        self._random_of("weights").shuffle(weights)
        self._weights = list(accumulate(weights))  # a few are written to all the time, many now and then
        self._weather = Weather(
            server=cluster.troubled,
            resources=[f"{resource.plural}.{resource.group}".rstrip(".") for resource in self._resources],
            random=self._random_of("faults"),
            others=cluster.strikes(self._random_of("other faults")),
            struck=self.outcome.struck,
        )
        self._began = trio.current_time()
        self._past_events = 0
        disturbers = options.writers + options.changing + _VISITORS + 2 + bool(options.fault_every)
        self._gate = Gate(disturbers)

    async def run(self) -> Outcome:
        """Run it to its end."""
        for namespace in namespaces():
            await self._cluster.create(namespace)
        for resource in self._resources:
            if not resource.open:
                await self._cluster.define(resource)
                resource.open = True
        async with trio.open_nursery() as nursery:
            for number in range(self._options.writers):
                nursery.start_soon(self._fill, self._resources[number :: self._options.writers])
        async with AsyncExitStack() as stack, trio.open_nursery() as nursery:
            self._observers = observers_of(self._client, self._resources, self.outcome.violations)
            attach_handlers(self._observers, self._random_of("handlers"))
            for observer in self._observers:
                await stack.enter_async_context(observer.informer)
            start_streams(self._observers, nursery)
            self._start_disturbing(nursery)
            await self._check()
            spent = 0.0
            while spent < self._options.seconds and not self.outcome.divergences:
                seconds = min(self._options.check_every, self._options.seconds - spent)
                await trio.sleep(seconds)
                spent += seconds
                await self._check()
            nursery.cancel_scope.cancel()
        return self.outcome

    def _start_disturbing(self, nursery: trio.Nursery) -> None:
        for number in range(self._options.writers):
            nursery.start_soon(self._write, self._random_of(f"writer {number}"))
        for resource in self._resources:
            if resource.comes_and_goes:
                nursery.start_soon(self._come_and_go, resource)
        for number in range(_VISITORS):
            nursery.start_soon(self._visit, self._random_of(f"visitor {number}"))
        nursery.start_soon(self._change_filters, self._random_of("filters"))
        nursery.start_soon(self._join_and_leave, self._random_of("late handlers"))
        if self._options.fault_every:
            nursery.start_soon(self._break, self._random_of("moments of faults"))

    def _random_of(self, what: str) -> Random:
        """Everybody has a random of their own, so that what one does is the same whoever has a turn before."""
        return Random(f"{self._options.seed} {what}")

    # ── what goes on between checks ──────────────────────────────────────────────────────────

    async def _fill(self, resources: list[Resource]) -> None:
        """As many objects as there will be on average, so that a run begins as it goes on."""
        for resource in resources:
            while first := resource.draw_first():
                await self._do(resource, first)

    async def _write(self, random: Random) -> None:
        rate = self._options.rate / self._options.writers
        due = 0.0
        while True:
            if rate == math.inf:
                await self._gate.rest(0.0)
                due = 10.0
            else:
                seconds = random.choice((0.1, 2.0, 2.0))
                await self._gate.rest(seconds)
                due += rate * seconds
            turn = random.choice(
                (20, 1000, 4000, 4000, 4000, 4000, 4000, 4000)
            )  # writes in one go, before anybody else has a turn
            for number in range(int(due)):
                await self._write_once(random.choices(self._resources, cum_weights=self._weights)[0])
                if not number % turn:
                    await trio.lowlevel.checkpoint()
            due -= int(due)

    async def _write_once(self, resource: Resource) -> None:
        if resource.open and (write := resource.draw()):
            await self._do(resource, write)

    async def _do(self, resource: Resource, write: Write) -> None:
        try:
            version = await self._cluster.write(resource, write)
        except APIError as error:
            self.outcome.refused[f"{error.status.code} {error.status.reason} to {write.verb}"] += 1
            there = write.verb != "create" or isinstance(error, AlreadyExists)
            resource.failed(write, there=there and error.status.code != 404)
        except ConnectionError:
            self.outcome.refused[f"no answer to {write.verb}"] += 1
            resource.failed(write, there=write.verb != "create")  # perhaps; the next write finds out
            await trio.sleep(0.1)
        else:
            self.outcome.written[write.verb] += 1
            resource.written(write, version)

    async def _come_and_go(self, resource: Resource) -> None:
        while True:
            await self._gate.rest(resource.random.uniform(*self._options.presence))
            resource.close()
            await self._cluster.undefine(resource)
            await self._gate.rest(resource.random.choice((0.0, 0.0, 1.0, 60.0)))
            resource.take_another_form()
            await self._cluster.define(resource)
            resource.open = True
            self.outcome.cycles += 1

    async def _visit(self, random: Random) -> None:
        """Somebody who comes for a while: an informer that is entered, and left."""
        while True:
            await self._gate.rest(random.uniform(0.0, 10.0))
            visitor = Observer.on(self._client, random.choice(self._resources), self.outcome.violations)
            visitor.choose(random.choice(choices()))
            fold = visitor.attach_plain()
            async with visitor.informer:
                await trio.sleep(random.uniform(0.0, 10.0))
            fold.removed = True
            self.outcome.visits += 1
            self._past_events += fold.events

    async def _join_and_leave(self, random: Random) -> None:
        """Handlers that are registered on informers that stay, and removed."""
        while True:
            await self._gate.rest(random.uniform(0.0, 2.0))
            observer = random.choice(self._observers)
            fold = observer.fold("a handler that came late")
            registration = observer.informer.add_handler(
                on_add=fold.added, on_update=fold.updated, on_delete=fold.deleted
            )
            await trio.sleep(random.uniform(0.0, 5.0))
            registration.remove()
            fold.removed = True
            observer.folds.remove(fold)
            self._past_events += fold.events

    async def _change_filters(self, random: Random) -> None:
        while True:
            await self._gate.rest(random.uniform(0.0, 2.0))
            random.choice(self._observers).choose(random.choice(choices()))
            self.outcome.filters += 1

    async def _break(self, random: Random) -> None:
        while True:
            await self._gate.rest(random.expovariate(1.0 / self._options.fault_every))
            self._weather.strike()

    # ── checks ───────────────────────────────────────────────────────────────────────────────

    async def _check(self) -> None:
        await self._gate.close()
        self._weather.calm()
        await self._cluster.calm()
        marks = {resource: await self._cluster.mark(resource) for resource in self._resources if resource.open}
        async with trio.open_nursery() as nursery:
            for observer in self._observers:
                nursery.start_soon(self._catch_up, observer, marks[observer.resource] if observer.served else None)
        truths: dict[tuple[GVR, str, str], list[JSONObject]] = {}
        for observer in self._observers:
            if observer.served and observer.follows not in truths:
                truths[observer.follows] = await self._cluster.list(observer)
            self.outcome.divergences += compare(observer, truths.get(observer.follows))
        await self._compare_watches()
        self.outcome.checks += 1
        self._measure(sum(map(len, truths.values())))
        self._gate.open()

    async def _catch_up(self, observer: Observer, mark: Unstructured | None) -> None:
        if late := await catch_up(observer, mark, self._options.patience):
            self.outcome.divergences.append(late)

    async def _compare_watches(self) -> None:
        """One watch for all that follow the same, and none for who has left (P12)."""
        expected = Counter(gvr for gvr, _, _ in {each.follows for each in self._observers if each.served})
        with trio.move_on_after(self._options.patience):
            # One may just have ended, and be opened again in a moment.
            while self._watches() != expected:  # noqa: ASYNC110  # servers tell of no single watch
                await trio.sleep(1.0)
        there = self._watches()
        for gvr in expected.keys() | there.keys():
            if expected[gvr] != there[gvr]:
                states = [describe(each) for each in self._observers if each.gvr == gvr]
                what = f"{there[gvr]} watches are open instead of {expected[gvr]}; {states}"
                self.outcome.divergences.append(Divergence(str(gvr), what))

    def _watches(self) -> Counter[GVR]:
        return Counter({gvr: n for gvr, n in self._cluster.watches().items() if gvr.resource not in _OWN_WATCHES})

    def _measure(self, objects: int) -> None:
        events = self._past_events + sum(fold.events for each in self._observers for fold in each.folds)
        self.outcome.samples.append(
            sample(
                began=self._began,
                watches=sum(self._cluster.watches().values()),
                objects=objects,
                writes=sum(self.outcome.written.values()),
                events=events,
            )
        )
        self._tell(line(self.outcome.samples[-1]))
