"""The rounds: kill, start, wait until the informers have recovered, compare; then the same with a restored etcd."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
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
from benchmarks.restarts.environment import Environment, Options, open_environment
from benchmarks.restarts.newcomers import follow_anew, wait_answering
from benchmarks.restarts.recorder import Findings, Kind, Recorder, Responses
from benchmarks.restarts.resources import Origin, Resource
from dynkube import ABSENT, LIVE
from dynkube.errors import APIError, ControlPlaneError, NotFound
from dynkube.meta import GVR
from dynkube.meta._object import Key
from dynkube_testing import ControlPlane

WITHIN = 60.0
"""Seconds after a restored backup in which the informers' content has to equal the server's."""
_NAMES = 6  # object names in each namespace
_PAUSE = 0.05  # seconds between two writes
_WRITES = 10  # before a kill, and after a start
_WITHOUT_REST = 4  # every outage of this number begins right after the previous one
_CRD_CHANGES = 0.5  # the share of kills during which a CRD is created or deleted

Report = Callable[[str], None]
Contents = Mapping[GVR, Mapping[Key, tuple[str, str]]]


@dataclass(slots=True, kw_only=True)
class Outcome:
    """The results of a run."""

    version: str
    options: Options
    findings: Findings = field(default_factory=Findings)
    responses: Responses = field(default_factory=Responses)
    kills: int = 0
    etcd_kills: int = 0
    changes: int = 0
    writes: int = 0
    recoveries: list[float] = field(default_factory=list)
    restores: list[float] = field(default_factory=list)  # seconds until the content was equal; inf if it never was

    @property
    def false_events(self) -> int:
        """How many events and states of informers contradict the server."""
        return sum(finding.kind not in (Kind.LATE, Kind.DIFFERENT) for finding in self.findings.found)

    @property
    def _paused(self) -> str:
        seconds = " or ".join(f"{pause:g}" for pause in self.options.pause_etcd)
        return f"; etcd paused for {seconds} s at each start" if seconds else ""

    @property
    def summary(self) -> str:
        """The totals in one line."""
        options, findings = self.options, self.findings
        events = ", ".join(f"{kind} {number}" for kind, number in sorted(findings.events.items()))
        wrong = "; ".join(f"{kind}: {findings.count(kind)}" for kind in Kind)
        restores = ", ".join(f"{seconds:.1f} s" for seconds in self.restores) or "none"
        return (
            f"kube-apiserver {self.version}, {'with' if options.crd_rights else 'without'} permission for CRDs: "
            f"{self.kills} kills ({self.etcd_kills} also of etcd{self._paused}) under {options.informers} informers, "
            f"{options.sets} of sets of namespaces and {options.newcomers} opened at each start, "
            f"{self.writes} writes, {self.changes} CRDs created or deleted; events: {events}; {wrong}; "
            f"false events {self.false_events}; "
            f"slowest recovery {max(self.recoveries, default=0.0):.1f} s; equal after a restored backup in: {restores}"
        )


class Writer:
    """Creates, changes and deletes objects sequentially, also while the server is down."""

    def __init__(self, env: Environment, random: Random, numbers: count[int]) -> None:
        self._env = env
        self._random = random
        self._numbers = numbers
        self._stopped = False
        self._idle = trio.Event()
        self._progress = trio.Event()
        self._unconfirmed: list[tuple[Resource, Key]] = []

    async def run(self) -> None:
        """Write until stopped."""
        self._stopped, self._idle = False, trio.Event()
        while not self._stopped:
            resource = self._random.choice(self._env.served())
            namespace = self._random.choice(self._env.namespaces_of(resource))
            await self._write(resource, (namespace, f"{self._env.label}-{self._random.randrange(_NAMES)}"))
            self._progress.set()
            await trio.sleep(_PAUSE)
        self._idle.set()

    async def _write(self, resource: Resource, key: Key) -> None:
        deletes = self._random.random() < 0.3
        exists = key in self._env.ledger.objects[resource.gvr]
        try:
            if not exists:
                await self._env.create(resource, key, next(self._numbers))
            elif deletes:
                await self._env.delete(resource, key)
            else:
                await self._env.change(resource, key, next(self._numbers))
        except (APIError, httpx2.HTTPError):  # an API server that has just started rejects some
            if exists and deletes:
                self._unconfirmed.append((resource, key))

    async def wait_writes(self, number: int) -> None:
        """Wait until ``number`` more writes have succeeded."""
        goal = self._env.ledger.writes.total() + number
        while self._env.ledger.writes.total() < goal:
            self._progress = trio.Event()
            await self._progress.wait()

    async def stop(self) -> None:
        """Stop writing, and repeat deletes without a response, so that objects recorded as deleted are deleted."""
        self._stopped = True
        await self._idle.wait()
        for resource, key in self._unconfirmed:
            with suppress(NotFound):
                await self._env.api.request_until_done("DELETE", resource.path(*key))
        self._unconfirmed.clear()


class Run:
    """Kills the servers of a control plane, starts them again, and checks the informers."""

    def __init__(self, plane: ControlPlane, env: Environment, outcome: Outcome, report: Report) -> None:
        self._plane = plane
        self._env = env
        self._outcome = outcome
        self._report = report
        self._options = outcome.options
        self._random = Random(self._options.seed)
        self._numbers = count(1)
        self._writer = Writer(env, self._random, self._numbers)

    async def run(self) -> None:
        """Run all rounds."""
        await self._settle("before the first kill")
        for number in range(1, self._options.kills + 1):
            await self._cycle(number)
        await self._expect_states()
        for number in range(1, self._options.restores + 1):
            await self._restored(number)
            await self._expect_states()
        self._outcome.writes = self._env.ledger.writes.total()

    # ── kills ────────────────────────────────────────────────────────────────────────────────

    async def _cycle(self, number: int) -> None:
        options, random = self._options, self._random
        with_etcd = options.etcd_every > 0 and number % options.etcd_every == 0
        changed_crd = self._choose_crd() if random.random() < _CRD_CHANGES else None
        creates = changed_crd is not None and not self._env.ledger.serves(changed_crd.gvr)
        at_once = random.random() < 0.5  # rather than after the start
        if number % _WITHOUT_REST:
            await trio.sleep(options.rest)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._writer.run)
            await self._writer.wait_writes(_WRITES)
            if changed_crd is not None and at_once:
                await self._writer.stop()  # no write to it may be in flight
                nursery.start_soon(self._env.request_crd_change, changed_crd)
                await trio.sleep(random.uniform(0.0, 0.5))
                nursery.start_soon(self._writer.run)
            self._kill(with_etcd=with_etcd)
            await trio.sleep(random.uniform(0.0, options.longest_outage) * (number % 3 == 0))
            if options.newcomers or options.pause_etcd:
                nursery.start_soon(self._disturb_start, number)
            await self._start()
            started = trio.current_time()
            await self._writer.wait_writes(_WRITES)
            await self._writer.stop()
        if changed_crd is not None:
            await (self._env.create_crd(changed_crd) if creates else self._env.delete_crd(changed_crd))
            self._outcome.changes += 1
        self._env.record(await self._env.contents())
        await self._settle(f"after kill {number}")
        self._outcome.recoveries.append(trio.current_time() - started)
        self._outcome.kills += 1
        self._outcome.etcd_kills += with_etcd
        name = f"kill {number}{' (also etcd)' if with_etcd else ''}"
        found = len(self._outcome.findings.found)
        self._report(f"{name}: recovered after {self._outcome.recoveries[-1]:.1f} s; found so far: {found}")

    def _choose_crd(self) -> Resource:
        return self._random.choice([each for each in self._env.resources if each.origin is Origin.TRANSIENT])

    def _kill(self, *, with_etcd: bool) -> None:
        self._plane.api_server.kill()
        if with_etcd:
            self._plane.etcd.kill()

    async def _start(self) -> None:
        if not self._plane.etcd.running:
            await trio.to_thread.run_sync(self._plane.etcd.start)
        while not self._plane.api_server.running:
            # A kube-apiserver that gets no response from etcd while it starts may exit, or be late.
            with suppress(ControlPlaneError) if self._options.pause_etcd else nullcontext():
                await trio.to_thread.run_sync(self._plane.api_server.start)

    async def _disturb_start(self, number: int) -> None:
        """When the API server begins to respond, pause etcd, and open informers."""
        options, outcome = self._options, self._outcome
        await wait_answering(self._env)
        async with trio.open_nursery() as nursery:
            if options.pause_etcd:
                nursery.start_soon(self._pause_etcd, options.pause_etcd[number % len(options.pause_etcd)])
            if options.newcomers:
                await follow_anew(self._env, options, outcome.findings, outcome.responses, number)

    async def _pause_etcd(self, seconds: float) -> None:
        self._plane.etcd.pause()
        try:
            await trio.sleep(seconds)
        finally:
            self._plane.etcd.resume()

    # ── comparing ────────────────────────────────────────────────────────────────────────────

    async def _settle(self, when: str) -> None:
        """Wait until the informers of all served resources have recovered, and compare. No writes may be in flight."""
        env, number = self._env, next(self._numbers)
        marks = {resource.gvr: await env.mark(resource, number) for resource in env.served()}
        for recorder in env.recorders:
            recorder.expected = marks.get(recorder.resource.gvr, {})
        with trio.move_on_after(self._options.patience):
            for recorder in self._following():
                await recorder.wait_until(partial(_follows, recorder))
        for recorder in self._following():
            if not _follows(recorder):
                recorder.add_finding(Kind.LATE, f"{when}, after {self._options.patience:g} s")
        self._compare(await env.contents(), when)

    def _following(self) -> list[Recorder]:
        """Return the recorders whose resource is served."""
        return [recorder for recorder in self._env.recorders if recorder.served]

    def _compare(self, contents: Contents, when: str) -> None:
        for recorder in self._following():
            for text in recorder.differences(contents[recorder.resource.gvr]):
                recorder.add_finding(Kind.DIFFERENT, f"{when}: {text}")

    async def _expect_states(self) -> None:
        """Wait until informers of served resources are LIVE, and the others ABSENT."""
        with trio.move_on_after(self._options.patience):
            for recorder in self._env.recorders:
                await recorder.wait_until(partial(_is_right, recorder))
        for recorder in self._env.recorders:
            if not _is_right(recorder):
                recorder.add_finding(Kind.LATE, f"state after {self._options.patience:g} s")

    # ── restored backups ─────────────────────────────────────────────────────────────────────

    async def _restored(self, number: int) -> None:
        """Take a backup, write, restore the backup, and wait until the informers have the server's content."""
        env, plane = self._env, self._plane
        with TemporaryDirectory() as folder:
            file = Path(folder, "etcd.db")
            before = await env.contents()
            await trio.to_thread.run_sync(backup.save, plane, file)
            await self._write_after_backup(number)
            await self._settle(f"after backup {number}")
            self._kill(with_etcd=True)
            env.ledger.rewind({gvr: {key: uid for key, (uid, _) in found.items()} for gvr, found in before.items()})
            await trio.to_thread.run_sync(backup.restore, plane, file)
        await self._start()
        started = trio.current_time()
        contents = await env.contents()
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
        """Change, delete and create an object of each resource."""
        for resource in self._env.served():
            for namespace in self._env.namespaces_of(resource):
                keys = sorted(key for key in self._env.ledger.objects[resource.gvr] if key[0] == namespace)
                for key in keys[:1]:
                    await self._env.change(resource, key, next(self._numbers))
                for key in keys[1:2]:
                    await self._env.delete(resource, key)
                await self._env.create(resource, (namespace, f"{self._env.label}-later-{number}"))


def _follows(recorder: Recorder) -> bool:
    """Return whether an informer's handler got the markers.

    Its state may be DEGRADED for longer: after repeated failures it is LIVE only when they have stopped for some time.
    """
    versions = {key: obj.resource_version for key, obj in recorder.shown.items()}
    marks = {key: version for key, version in recorder.expected.items() if recorder.follows(key)}
    return marks.items() <= versions.items()


def _equals(recorder: Recorder, server: Mapping[Key, tuple[str, str]]) -> bool:
    """Return whether an informer and its handler have the server's content."""
    return not recorder.differences(server)


def _is_right(recorder: Recorder) -> bool:
    """Return whether an informer is in the state that is expected without failures."""
    phase = recorder.informer.state.phase
    return phase is LIVE if recorder.served else phase is ABSENT and not recorder.shown


async def kill_and_start(plane: ControlPlane, label: str, options: Options, report: Report) -> Outcome:
    """Run all rounds on a running control plane.

    Args:
        plane: the control plane whose servers are killed.
        label: a name for namespaces and API group that no other run uses.
        options: the settings of the run.
        report: called with a line after each kill.
    """
    outcome = Outcome(version=plane.version, options=options)
    async with open_environment(plane, label, options, outcome.findings, outcome.responses) as env:
        await Run(plane, env, outcome, report).run()
    return outcome
