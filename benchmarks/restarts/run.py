"""The run: kill, start, wait until the informers follow again, compare; then the same with a restored etcd."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import inf
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import httpx2
import trio

from benchmarks.restarts import backup
from benchmarks.restarts.recorder import Answers, Findings, Kind, Recorder
from benchmarks.restarts.resources import Origin, Resource
from benchmarks.restarts.stage import Options, Stage, open_stage
from dynkube import ABSENT, LIVE
from dynkube.errors import APIError, NotFound
from dynkube.meta import GVR
from dynkube.meta._object import Key
from dynkube.testing import ControlPlane

WITHIN = 60.0
"""Seconds in which the content has to equal the server's after a restored backup."""
_NAMES = 6  # names in each namespace that are written to
_PAUSE = 0.05  # seconds between two writes
_WRITES = 10  # so many before a kill, and after a start
_RESTLESS = 4  # every so many outages begin at once after the one before
_CHANGING = 0.5  # this part of the kills comes with a CRD that is created or deleted

Report = Callable[[str], None]
Contents = Mapping[GVR, Mapping[Key, tuple[str, str]]]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What happened, and what was wrong."""

    version: str
    options: Options
    findings: Findings = field(default_factory=Findings)
    answers: Answers = field(default_factory=Answers)
    kills: int = 0
    etcd_kills: int = 0
    changes: int = 0
    writes: int = 0
    recoveries: list[float] = field(default_factory=list)
    restores: list[float] = field(default_factory=list)  # seconds until the content was equal; inf if it was not

    @property
    def summary(self) -> str:
        """All the numbers in one line."""
        options, findings = self.options, self.findings
        events = ", ".join(f"{kind} {number}" for kind, number in sorted(findings.events.items()))
        wrong = "; ".join(f"{kind}: {findings.count(kind)}" for kind in Kind)
        restores = ", ".join(f"{seconds:.1f} s" for seconds in self.restores) or "none"
        return (
            f"kube-apiserver {self.version}, {'with' if options.crd_rights else 'without'} rights on CRDs: "
            f"{self.kills} kills ({self.etcd_kills} of etcd, too) under {options.informers} informers, "
            f"{self.writes} writes, {self.changes} CRDs created or deleted; events: {events}; {wrong}; "
            f"slowest recovery {max(self.recoveries, default=0.0):.1f} s; equal after a restored backup in: {restores}"
        )


class Writer:
    """Creates, changes and deletes objects one after the other, also while the server is down."""

    def __init__(self, stage: Stage, random: Random, numbers: count[int]) -> None:
        self._stage = stage
        self._random = random
        self._numbers = numbers
        self._stopped = False
        self._idle = trio.Event()
        self._progress = trio.Event()
        self._unanswered: list[tuple[Resource, Key]] = []

    async def run(self) -> None:
        """Write until stopped."""
        self._stopped, self._idle = False, trio.Event()
        while not self._stopped:
            resource = self._random.choice(self._stage.served())
            namespace = self._random.choice(self._stage.places(resource))
            await self._write(resource, (namespace, f"{self._stage.label}-{self._random.randrange(_NAMES)}"))
            self._progress.set()
            await trio.sleep(_PAUSE)
        self._idle.set()

    async def _write(self, resource: Resource, key: Key) -> None:
        deletes = self._random.random() < 0.3
        there = key in self._stage.ledger.objects[resource.gvr]
        try:
            if not there:
                await self._stage.create(resource, key, next(self._numbers))
            elif deletes:
                await self._stage.delete(resource, key)
            else:
                await self._stage.change(resource, key, next(self._numbers))
        except (APIError, httpx2.HTTPError):  # an API server that has just started refuses some
            if there and deletes:
                self._unanswered.append((resource, key))

    async def wait_writes(self, number: int) -> None:
        """Wait until so many more have succeeded."""
        goal = self._stage.ledger.writes.total() + number
        while self._stage.ledger.writes.total() < goal:
            self._progress = trio.Event()
            await self._progress.wait()

    async def stop(self) -> None:
        """Stop writing, and make sure of what was not answered: what the ledger calls deleted has to be so."""
        self._stopped = True
        await self._idle.wait()
        for resource, key in self._unanswered:
            with suppress(NotFound):
                await self._stage.api.surely("DELETE", resource.path(*key))
        self._unanswered.clear()


class Run:
    """Kills the servers of a control plane and starts them again."""

    def __init__(self, plane: ControlPlane, stage: Stage, outcome: Outcome, report: Report) -> None:
        self._plane = plane
        self._stage = stage
        self._outcome = outcome
        self._report = report
        self._options = outcome.options
        self._random = Random(self._options.seed)
        self._numbers = count(1)
        self._writer = Writer(stage, self._random, self._numbers)

    async def run(self) -> None:
        """All of it."""
        await self._settle("before the first kill")
        for number in range(1, self._options.kills + 1):
            await self._cycle(number)
        await self._expect_states()
        for number in range(1, self._options.restores + 1):
            await self._restored(number)
            await self._expect_states()
        self._outcome.writes = self._stage.ledger.writes.total()

    # ── kills ────────────────────────────────────────────────────────────────────────────────

    async def _cycle(self, number: int) -> None:
        options, random = self._options, self._random
        with_etcd = options.etcd_every > 0 and number % options.etcd_every == 0
        changing = self._choose_changing() if random.random() < _CHANGING else None
        defines = changing is not None and not self._stage.ledger.serves(changing.gvr)
        at_once = random.random() < 0.5  # rather than after the start
        if number % _RESTLESS:
            await trio.sleep(options.rest)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._writer.run)
            await self._writer.wait_writes(_WRITES)
            if changing is not None and at_once:
                await self._writer.stop()  # no write to it may be on its way
                nursery.start_soon(self._stage.request_change, changing)
                await trio.sleep(random.uniform(0.0, 0.5))
                nursery.start_soon(self._writer.run)
            self._kill(with_etcd=with_etcd)
            await trio.sleep(random.uniform(0.0, options.longest_outage) * (number % 3 == 0))
            await self._start()
            started = trio.current_time()
            await self._writer.wait_writes(_WRITES)
            await self._writer.stop()
        if changing is not None:
            await (self._stage.define(changing) if defines else self._stage.undefine(changing))
            self._outcome.changes += 1
        self._stage.note(await self._stage.contents())
        await self._settle(f"after kill {number}")
        self._outcome.recoveries.append(trio.current_time() - started)
        self._outcome.kills += 1
        self._outcome.etcd_kills += with_etcd
        name = f"kill {number}{' (etcd, too)' if with_etcd else ''}"
        found = len(self._outcome.findings.found)
        self._report(f"{name}: followed after {self._outcome.recoveries[-1]:.1f} s; found so far: {found}")

    def _choose_changing(self) -> Resource:
        changing = [resource for resource in self._stage.resources if resource.origin is Origin.CHANGES]
        return self._random.choice(changing)

    def _kill(self, *, with_etcd: bool) -> None:
        self._plane.api_server.kill()
        if with_etcd:
            self._plane.etcd.kill()

    async def _start(self) -> None:
        if not self._plane.etcd.running:
            await trio.to_thread.run_sync(self._plane.etcd.start)
        await trio.to_thread.run_sync(self._plane.api_server.start)

    # ── comparing ────────────────────────────────────────────────────────────────────────────

    async def _settle(self, when: str) -> None:
        """Wait until the informers of all served resources follow, and compare. No writes may be under way."""
        stage, number = self._stage, next(self._numbers)
        marks = {resource.gvr: await stage.mark(resource, number) for resource in stage.served()}
        for recorder in stage.recorders:
            recorder.expected = marks.get(recorder.resource.gvr, {})
        with trio.move_on_after(self._options.patience):
            for recorder in self._following():
                await recorder.wait_until(partial(_follows, recorder))
        for recorder in self._following():
            if not _follows(recorder):
                recorder.wrong(Kind.LATE, f"{when}, after {self._options.patience:g} s")
        self._compare(await stage.contents(), when)

    def _following(self) -> list[Recorder]:
        """Those that have something to follow."""
        return [recorder for recorder in self._stage.recorders if recorder.served]

    def _compare(self, contents: Contents, when: str) -> None:
        for recorder in self._following():
            for text in recorder.differences(contents[recorder.resource.gvr]):
                recorder.wrong(Kind.DIFFERENT, f"{when}: {text}")

    async def _expect_states(self) -> None:
        """What is served has to be LIVE, and what is not ABSENT, sooner or later."""
        with trio.move_on_after(self._options.patience):
            for recorder in self._stage.recorders:
                await recorder.wait_until(partial(_is_right, recorder))
        for recorder in self._stage.recorders:
            if not _is_right(recorder):
                recorder.wrong(Kind.LATE, f"state after {self._options.patience:g} s")

    # ── restored backups ─────────────────────────────────────────────────────────────────────

    async def _restored(self, number: int) -> None:
        """Take a backup, write, restore the backup, and wait until the informers have what the server has."""
        stage, plane = self._stage, self._plane
        with TemporaryDirectory() as folder:
            file = Path(folder, "etcd.db")
            before = await stage.contents()
            await trio.to_thread.run_sync(backup.save, plane, file)
            await self._write_after_backup(number)
            await self._settle(f"after backup {number}")
            self._kill(with_etcd=True)
            stage.ledger.rewind({gvr: {key: uid for key, (uid, _) in found.items()} for gvr, found in before.items()})
            await trio.to_thread.run_sync(backup.restore, plane, file)
        await self._start()
        started = trio.current_time()
        contents = await stage.contents()
        with trio.move_on_after(WITHIN):
            for recorder in self._following():
                server = contents[recorder.resource.gvr]
                await recorder.wait_until(partial(_equals, recorder, server))
        equal = all(_equals(recorder, contents[recorder.resource.gvr]) for recorder in self._following())
        self._outcome.restores.append(trio.current_time() - started if equal else inf)
        self._compare(contents, f"{WITHIN:g} s after restored backup {number}")
        self._report(f"restored backup {number}: equal after {self._outcome.restores[-1]:.1f} s")
        await self._settle(f"after restored backup {number}")

    async def _write_after_backup(self, number: int) -> None:
        """Change an object, delete another one and create a third one, of each resource."""
        for resource in self._stage.served():
            for namespace in self._stage.places(resource):
                there = sorted(key for key in self._stage.ledger.objects[resource.gvr] if key[0] == namespace)
                for key in there[:1]:
                    await self._stage.change(resource, key, next(self._numbers))
                for key in there[1:2]:
                    await self._stage.delete(resource, key)
                await self._stage.create(resource, (namespace, f"{self._stage.label}-later-{number}"))


def _follows(recorder: Recorder) -> bool:
    """Whether an informer's handler was shown the marks.

    Its state may be DEGRADED for some time longer: after failures that came back it is LIVE once they stay away.
    """
    versions = {key: obj.resource_version for key, obj in recorder.shown.items()}
    marks = {key: version for key, version in recorder.expected.items() if recorder.follows(key)}
    return marks.items() <= versions.items()


def _equals(recorder: Recorder, server: Mapping[Key, tuple[str, str]]) -> bool:
    """Whether an informer and its handler have what the server has."""
    return not recorder.differences(server)


def _is_right(recorder: Recorder) -> bool:
    """Whether an informer is in the state in which it should be when all is well."""
    phase = recorder.informer.state.phase
    return phase is LIVE if recorder.served else phase is ABSENT and not recorder.shown


async def kill_and_start(plane: ControlPlane, label: str, options: Options, report: Report) -> Outcome:
    """Do it on a control plane that runs.

    Args:
        plane: its servers are killed.
        label: names the namespaces and the API group, which no other run may use.
        options: how often, and under what.
        report: called with a line after each kill.
    """
    outcome = Outcome(version=plane.version, options=options)
    async with open_stage(plane, label, options, outcome.findings, outcome.answers) as stage:
        await Run(plane, stage, outcome, report).run()
    return outcome
