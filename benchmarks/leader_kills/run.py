"""Rounds in which the leader is killed, or stopped for longer than its lease, while Websites are written."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import trio

import dynkube
from benchmarks.leader_kills import audit
from benchmarks.leader_kills.lease import LOST, NAME, NAMESPACE
from benchmarks.leader_kills.sites import Sites
from benchmarks.measure import ROOT
from dynkube_testing import ControlPlane

_LEASES = dynkube.GVR("coordination.k8s.io", "v1", "leases")
USERS = "operator-"
_PROCESSES = 2
_POLL = 0.2  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of a run.

    Attributes:
        sites: how many Websites there are at the end.
        kills: how often the leader is killed.
        stops: how often it is stopped and continued after that.
        lease_duration: the duration of the Lease in seconds.
        timeout: seconds in which the next leader has to write, and the objects have to converge.
        seed: the seed of all random choices.
    """

    sites: int = 5_000
    kills: int = 10
    stops: int = 4
    lease_duration: float = 15.0
    timeout: float = 600.0
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Ended:
    """How and when a leader was killed or stopped."""

    leader: str
    how: str
    time: datetime


@dataclass(slots=True)
class Outcome:
    """The results of a run.

    Attributes:
        ended: the leaders that were killed or stopped.
        exits_after: the seconds from SIGCONT until the exit of each leader that was continued.
        others: how many of these did not exit with LeadershipLost.
        differences: differences between the cluster and the specification of the Websites at the end.
        writes: all writes, from the audit log.
    """

    ended: list[Ended] = field(default_factory=list)
    exits_after: list[float] = field(default_factory=list)
    others: int = 0
    differences: list[str] = field(default_factory=list)
    writes: list[audit.Write] = field(default_factory=list)


class Processes:
    """The processes of the operator that run; each is a user of its own."""

    def __init__(self, plane: ControlPlane, options: Options) -> None:
        self._plane = plane
        self._options = options
        self._count = 0
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        """Start another process."""
        self._count += 1
        name = f"{USERS}{self._count}"
        folder = self._plane.folder
        endpoint = self._plane.add_user(name, groups=["system:masters"])
        kubeconfig = endpoint.write_kubeconfig(folder / f"{name}.kubeconfig")
        command = [sys.executable, "-m", "benchmarks.leader_kills.operator", "--kubeconfig", str(kubeconfig)]
        command += ["--identity", name, "--lease-duration", str(self._options.lease_duration)]
        with (folder / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)

    async def wait(self, name: str) -> int:
        """Wait until a process exits, and return its exit code."""
        return await trio.to_thread.run_sync(self.running.pop(name).wait, abandon_on_cancel=True)

    def kill_all(self) -> None:
        """Kill all running processes."""
        for process in self.running.values():
            process.kill()
            process.wait()


async def kill_leaders(plane: ControlPlane, log: Path, options: Options, report: Callable[[str], None]) -> Outcome:
    """Run all rounds, and return the results."""
    processes, outcome, random = Processes(plane, options), Outcome(), Random(options.seed)
    rounds = ["kill"] * options.kills + ["stop"] * options.stops
    try:
        async with dynkube.connect(kubeconfig=plane.kubeconfig()) as client, Sites(client, random) as sites:
            for _ in range(_PROCESSES):
                processes.start()
            for number, what in enumerate(rounds):
                with trio.fail_after(options.timeout):
                    async with trio.open_nursery() as nursery:
                        share = _share(options.sites, len(rounds), number)
                        leader = await _leader(client, processes)
                        nursery.start_soon(sites.write, share // 2)
                        nursery.start_soon(_write_later, sites, share - share // 2, options.lease_duration / 2)
                        await trio.sleep(random.uniform(0.0, 2.0))
                        await _ROUNDS[what](client, processes, leader, outcome, options)
                report(f"round {number + 1} of {len(rounds)}: {what} of {leader}")
            with trio.move_on_after(options.timeout):
                await sites.wait_converged()
            outcome.differences = sites.differences()
    finally:
        processes.kill_all()
    outcome.writes = audit.read(log)
    return outcome


async def _write_later(sites: Sites, count: int, delay: float) -> None:
    """Write after a delay, when there is no leader."""
    await trio.sleep(delay)
    await sites.write(count)


async def _kill(client: dynkube.Client, processes: Processes, leader: str, outcome: Outcome, _options: Options) -> None:
    outcome.ended.append(Ended(leader, "kill", datetime.now(UTC)))
    processes.running[leader].kill()
    await processes.wait(leader)
    processes.start()
    await _leader(client, processes)


async def _stop(client: dynkube.Client, processes: Processes, leader: str, outcome: Outcome, options: Options) -> None:
    """Stop the leader until another one has held the Lease for some time; then continue it, and wait for its exit."""
    outcome.ended.append(Ended(leader, "stop", datetime.now(UTC)))
    process = processes.running[leader]
    process.send_signal(signal.SIGSTOP)
    await _leader(client, processes, other_than=leader)
    await trio.sleep(options.lease_duration / 3)
    continued = trio.current_time()
    process.send_signal(signal.SIGCONT)
    outcome.others += await processes.wait(leader) != LOST
    outcome.exits_after.append(trio.current_time() - continued)
    processes.start()


_ROUNDS = {"kill": _kill, "stop": _stop}


async def _leader(client: dynkube.Client, processes: Processes, other_than: str = "") -> str:
    """Wait until a running process holds the Lease, and return its name."""
    leases = client.resource(_LEASES)
    while True:
        listed = await leases.list(namespace=NAMESPACE)
        holder = next((str(each["spec"].get("holderIdentity")) for each in listed if each.name == NAME), "")
        if holder in processes.running and holder != other_than:
            return holder
        await trio.sleep(_POLL)


def _share(total: int, rounds: int, number: int) -> int:
    """Return the part of ``total`` for one of the rounds."""
    return total * (number + 1) // rounds - total * number // rounds
