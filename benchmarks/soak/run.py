"""The rounds of a soak test: write and inject faults, pause, wait, compare, measure, and continue."""

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
from benchmarks.soak.faults import FaultInjector
from benchmarks.soak.figures import Sample, line, sample
from benchmarks.soak.gate import Gate
from benchmarks.soak.observers import Observer, Violations, attach_handlers, choices, observers_of, start_streams
from benchmarks.soak.resources import JSONObject, Resource, Write, namespaces, soak_resources
from dynkube import Client, Unstructured
from dynkube.errors import AlreadyExists, APIError
from dynkube.meta import GVR

_SHORT_LIVED = 4  # informers at a time that are entered and exited
# Watches that the client opens for its own use.
_OWN_WATCHES = {"customresourcedefinitions", "apiservices", "namespaces"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of a soak test.

    Attributes:
        seconds: the duration of writes and faults on trio's clock, without the checks.
        check_every: seconds between checks.
        timeout: seconds in which an observer has to catch up when writes and faults are paused.
        rate: writes per second of all writers; ``inf`` for as many as possible.
        writers: the number of concurrent writers.
        resources: the number of resources.
        changing: how many of these have a CRD that is deleted and recreated.
        crd_lifetime: the minimum and maximum of seconds for which such a CRD exists.
        fault_every: seconds between faults, on average; 0 for no faults.
        seed: the seed of writes and faults; the order in which tasks are scheduled is not repeated.
    """

    seconds: float
    check_every: float
    timeout: float
    rate: float
    writers: int
    resources: int = 200
    changing: int = 20
    crd_lifetime: tuple[float, float] = (10.0, 240.0)
    fault_every: float = 3.0
    seed: int = 1


@dataclass(kw_only=True)
class Outcome:
    """The results of a soak test."""

    samples: list[Sample] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)
    violations: Violations = field(default_factory=Violations)
    written: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    injected: Counter[str] = field(default_factory=Counter)
    checks: int = 0
    cycles: int = 0
    filters: int = 0
    short_lived: int = 0


class Soak:
    """One soak test on ``cluster``, with the informers of ``client``."""

    def __init__(self, cluster: Cluster, client: Client, options: Options, report: Callable[[str], None]) -> None:
        self.outcome = Outcome()
        self._cluster = cluster
        self._client = client
        self._options = options
        self._report = report
        self._resources = soak_resources(options.resources, options.changing, options.seed)
        self._observers: list[Observer] = []
        weights = [1.0 / (1 + number) ** 0.7 for number in range(len(self._resources))]
        self._random_of("weights").shuffle(weights)
        self._weights = list(accumulate(weights))  # a few get most of the writes
        self._injector = FaultInjector(
            server=cluster.fault_target,
            resources=[f"{resource.plural}.{resource.group}".rstrip(".") for resource in self._resources],
            random=self._random_of("faults"),
            others=cluster.extra_faults(self._random_of("other faults")),
            injected=self.outcome.injected,
        )
        self._began = trio.current_time()
        self._past_events = 0
        workers = options.writers + options.changing + _SHORT_LIVED + 2 + bool(options.fault_every)
        self._gate = Gate(workers)

    async def run(self) -> Outcome:
        """Run the soak test, and return its results."""
        for namespace in namespaces():
            await self._cluster.create(namespace)
        for resource in self._resources:
            if not resource.open:
                await self._cluster.create_crd(resource)
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
            self._start_workers(nursery)
            await self._check()
            spent = 0.0
            while spent < self._options.seconds and not self.outcome.divergences:
                seconds = min(self._options.check_every, self._options.seconds - spent)
                await trio.sleep(seconds)
                spent += seconds
                await self._check()
            nursery.cancel_scope.cancel()
        return self.outcome

    def _start_workers(self, nursery: trio.Nursery) -> None:
        for number in range(self._options.writers):
            nursery.start_soon(self._write, self._random_of(f"writer {number}"))
        for resource in self._resources:
            if resource.transient:
                nursery.start_soon(self._recreate_crd, resource)
        for number in range(_SHORT_LIVED):
            nursery.start_soon(self._enter_and_exit, self._random_of(f"visitor {number}"))
        nursery.start_soon(self._change_filters, self._random_of("filters"))
        nursery.start_soon(self._add_and_remove_handlers, self._random_of("late handlers"))
        if self._options.fault_every:
            nursery.start_soon(self._inject_faults, self._random_of("moments of faults"))

    def _random_of(self, what: str) -> Random:
        """Return a generator for one task, so that its choices do not depend on the scheduling of others."""
        return Random(f"{self._options.seed} {what}")

    # ── between checks ───────────────────────────────────────────────────────────────────────

    async def _fill(self, resources: list[Resource]) -> None:
        """Create as many objects as there are on average later."""
        for resource in resources:
            while first := resource.draw_first():
                await self._do(resource, first)

    async def _write(self, random: Random) -> None:
        rate = self._options.rate / self._options.writers
        due = 0.0
        while True:
            if rate == math.inf:
                await self._gate.sleep(0.0)
                due = 10.0
            else:
                seconds = random.choice((0.1, 2.0, 2.0))
                await self._gate.sleep(seconds)
                due += rate * seconds
            batch = random.choice((20, 1000, 4000, 4000, 4000, 4000, 4000, 4000))  # writes between two checkpoints
            for number in range(int(due)):
                await self._write_once(random.choices(self._resources, cum_weights=self._weights)[0])
                if not number % batch:
                    await trio.lowlevel.checkpoint()
            due -= int(due)

    async def _write_once(self, resource: Resource) -> None:
        if resource.open and (write := resource.draw()):
            await self._do(resource, write)

    async def _do(self, resource: Resource, write: Write) -> None:
        try:
            version = await self._cluster.write(resource, write)
        except APIError as error:
            self.outcome.errors[f"{error.status.code} {error.status.reason} to {write.verb}"] += 1
            exists = write.verb != "create" or isinstance(error, AlreadyExists)
            resource.failed(write, exists=exists and error.status.code != 404)
        except ConnectionError:
            self.outcome.errors[f"no response to {write.verb}"] += 1
            resource.failed(write, exists=write.verb != "create")  # a guess, which the next write corrects
            await trio.sleep(0.1)
        else:
            self.outcome.written[write.verb] += 1
            resource.written(write, version)

    async def _recreate_crd(self, resource: Resource) -> None:
        while True:
            await self._gate.sleep(resource.random.uniform(*self._options.crd_lifetime))
            resource.close()
            await self._cluster.delete_crd(resource)
            await self._gate.sleep(resource.random.choice((0.0, 0.0, 1.0, 60.0)))
            resource.change_form()
            await self._cluster.create_crd(resource)
            resource.open = True
            self.outcome.cycles += 1

    async def _enter_and_exit(self, random: Random) -> None:
        """Enter and exit informers."""
        while True:
            await self._gate.sleep(random.uniform(0.0, 10.0))
            observer = Observer.on(self._client, random.choice(self._resources), self.outcome.violations)
            observer.choose(random.choice(choices()))
            fold = observer.attach_plain()
            async with observer.informer:
                await trio.sleep(random.uniform(0.0, 10.0))
            fold.removed = True
            self.outcome.short_lived += 1
            self._past_events += fold.events

    async def _add_and_remove_handlers(self, random: Random) -> None:
        """Add handlers to permanent informers, and remove them."""
        while True:
            await self._gate.sleep(random.uniform(0.0, 2.0))
            observer = random.choice(self._observers)
            fold = observer.fold("a handler that was added later")
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
            await self._gate.sleep(random.uniform(0.0, 2.0))
            random.choice(self._observers).choose(random.choice(choices()))
            self.outcome.filters += 1

    async def _inject_faults(self, random: Random) -> None:
        while True:
            await self._gate.sleep(random.expovariate(1.0 / self._options.fault_every))
            self._injector.inject()

    # ── checks ───────────────────────────────────────────────────────────────────────────────

    async def _check(self) -> None:
        await self._gate.close()
        self._injector.remove_faults()
        await self._cluster.end_faults()
        marks = {resource: await self._cluster.mark(resource) for resource in self._resources if resource.open}
        async with trio.open_nursery() as nursery:
            for observer in self._observers:
                nursery.start_soon(self._catch_up, observer, marks[observer.resource] if observer.served else None)
        server_lists: dict[tuple[GVR, str, str], list[JSONObject]] = {}
        for observer in self._observers:
            if observer.served and observer.follows not in server_lists:
                server_lists[observer.follows] = await self._cluster.list(observer)
            self.outcome.divergences += compare(observer, server_lists.get(observer.follows))
        await self._compare_watches()
        self.outcome.checks += 1
        self._measure(sum(map(len, server_lists.values())))
        self._gate.open()

    async def _catch_up(self, observer: Observer, mark: Unstructured | None) -> None:
        if late := await catch_up(observer, mark, self._options.timeout):
            self.outcome.divergences.append(late)

    async def _compare_watches(self) -> None:
        """Check that equal informers share one watch, and that there are no other watches (P12)."""
        expected = Counter(gvr for gvr, _, _ in {each.follows for each in self._observers if each.served})
        with trio.move_on_after(self._options.timeout):
            # A watch may just have ended, and be about to be opened again.
            while self._watches() != expected:  # noqa: ASYNC110  # servers have no event for this
                await trio.sleep(1.0)
        watches = self._watches()
        for gvr in expected.keys() | watches.keys():
            if expected[gvr] != watches[gvr]:
                states = [describe(each) for each in self._observers if each.gvr == gvr]
                what = f"{watches[gvr]} watches are open instead of {expected[gvr]}; {states}"
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
        self._report(line(self.outcome.samples[-1]))
