"""``dynkube logs`` over many pods that come and go, beside stern: each line once and in order, CPU and memory.

    python -m benchmarks.logs [--pods 200] [--seconds 600] [--rate 1] [--stern PATH]

Prints one line of JSON for each command. All follow the same pods of the embedded API server at the same time. Each
pod writes ``rate`` numbered lines per second. Every six seconds a tenth of the containers restart, and a twentieth of
the pods are replaced by new ones. A pod is silent for three seconds before it is deleted, as its log is gone with it:
on a busy machine readers are a second behind.

``lost``, ``repeated`` and ``disordered`` count lines, of all that were written while the command ran. ``cpu_s`` and
``peak_mb`` are those of the command's process. Stern is run if it is installed: ``go install
github.com/stern/stern@latest``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import trio

from benchmarks.measure import report
from dynkube_testing import APIServer

_TICK = 6.0  # seconds between two changes of the fleet
_SILENT = 3.0  # seconds before a pod is deleted
_SETTLE = 10.0  # seconds after the last line


class Fleet:
    """Pods that write numbered lines, restart, and are replaced.

    Attributes:
        written: the number of lines of each pod.
    """

    def __init__(self, server: APIServer, pods: int, rate: float) -> None:
        self._server = server
        self._rate = rate
        self._random = Random(1)
        self._created = 0
        self._runs: dict[str, int] = {}
        self._silent: set[str] = set()
        self.written: dict[str, int] = {}
        self.restarts = 0
        for _ in range(pods):
            self._create()

    async def write(self, seconds: float) -> None:
        """Write lines, and change the fleet, for so long."""
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._change)
                while True:
                    await trio.sleep(1 / self._rate)
                    self.write_once()

    def write_once(self) -> None:
        """Write a line in each pod that is not about to be deleted."""
        for name in self._runs:
            if name not in self._silent:
                self._write(name)

    async def _change(self) -> None:
        while True:
            await trio.sleep(_TICK)
            names = list(self._runs)
            self._silent = set(self._random.sample(names, max(1, len(names) // 20)))
            for name in self._random.sample(sorted(set(names) - self._silent), len(names) // 10):
                self._restart(name)
                await trio.lowlevel.checkpoint()
            await trio.sleep(_SILENT)
            for name in self._silent:
                self._server.delete("pods", name, "default")
                del self._runs[name]
                self._create()
            self._silent = set()

    def _create(self) -> None:
        self._created += 1
        name = f"web-{self._created}"
        spec = {"containers": [{"name": "app", "image": "x"}]}
        metadata = {"name": name, "namespace": "default", "labels": {"app": "web"}}
        self._server.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        self._runs[name] = self.written[name] = 0
        self._server.containers.write_log(name, "")
        self._publish(name, {})

    def _restart(self, name: str) -> None:
        self._server.containers.end_log(name)
        self._runs[name] += 1
        self.restarts += 1
        self._server.containers.write_log(name, "")
        self._publish(name, {"terminated": {"exitCode": 1, "reason": "Error"}})

    def _write(self, name: str) -> None:
        self._server.containers.write_log(name, f"{self.written[name]}\n")
        self.written[name] += 1

    def _publish(self, name: str, last: dict[str, Any]) -> None:
        pod = self._server.get("pods", name, "default")
        container = {"name": "app", "image": "x", "imageID": "", "ready": True, "restartCount": self._runs[name]}
        container |= {"containerID": f"containerd://{name}-{self._runs[name]}"}  # stern waits for it
        container |= {"state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "lastState": last, "started": True}
        ready = {"type": "Ready", "status": "True"}
        pod["status"] |= {"phase": "Running", "containerStatuses": [container], "conditions": [ready]}
        self._server.update(pod, subresource="status")


class Reader:
    """A command that follows the fleet, and the lines that it prints: ``POD CONTAINER NUMBER``."""

    def __init__(self, name: str, command: list[str]) -> None:
        self._name = name
        self._command = command
        self._numbers: dict[str, list[int]] = defaultdict(list)
        self._ended = trio.Event()
        self._printed = trio.Event()  # set, and replaced, after each chunk of output
        self._process: subprocess.Popen[bytes] | None = None

    async def run(self, log: Path, *, task_status: trio.TaskStatus[None]) -> None:
        """Run the command until it is stopped."""
        with log.open("wb") as errors:
            # Not trio's: its resource usage is read when it ends.
            self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=errors)  # noqa: ASYNC220
        task_status.started()
        assert self._process.stdout is not None
        rest = b""
        async with trio.lowlevel.FdStream(os.dup(self._process.stdout.fileno())) as output:
            async for chunk in output:
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    pod, _, number = line.decode().split(" ")
                    self._numbers[pod].append(int(number))
                self._printed.set()
                self._printed = trio.Event()
        self._ended.set()

    async def until_printed(self, pods: int) -> None:
        """Wait until a line of each of so many pods was printed."""
        while len(self._numbers) < pods:
            await self._printed.wait()

    async def stop(self) -> tuple[int, float, float]:
        """End the command; return its exit code, CPU seconds, and peak memory in MiB."""
        assert self._process is not None
        self._process.send_signal(signal.SIGINT)
        await self._ended.wait()
        _, status, usage = await trio.to_thread.run_sync(os.wait4, self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

    def judge(self, written: dict[str, int]) -> dict[str, int]:
        """Compare what was printed with what was written."""
        lost = sum(len(set(range(count)) - set(self._numbers[pod])) for pod, count in written.items())
        repeated = sum(len(numbers) - len(set(numbers)) for numbers in self._numbers.values())
        pairs = (pair for numbers in self._numbers.values() for pair in pairwise(numbers))
        return {"lost": lost, "repeated": repeated, "disordered": sum(first > second for first, second in pairs)}


async def run(options: argparse.Namespace, folder: Path) -> None:
    """Run all commands on one fleet, and print the results."""
    async with APIServer() as server, server.serve() as endpoint:
        fleet = Fleet(server, options.pods, options.rate)
        kubeconfig = endpoint.write_kubeconfig(folder / "kubeconfig")
        ours = [sys.executable, "-m", "dynkube", "logs", "app=web", "--kubeconfig", str(kubeconfig)]
        readers = {"dynkube": Reader("dynkube", ours)}
        if options.stern:
            arguments = ["--selector=app=web", "--max-log-requests=10000", "--color=never", "--tail=-1"]
            readers["stern"] = Reader("stern", [options.stern, f"--kubeconfig={kubeconfig}", *arguments])
        async with trio.open_nursery() as nursery:
            for name, reader in readers.items():
                await nursery.start(reader.run, folder / f"{name}.log")
            fleet.write_once()
            for reader in readers.values():
                await reader.until_printed(options.pods)
            await fleet.write(options.seconds)
            await trio.sleep(_SETTLE)
            stopped = {name: await reader.stop() for name, reader in readers.items()}
        for name, (code, seconds, peak) in stopped.items():
            lines = sum(fleet.written.values())
            about = {"pods": len(fleet.written), "restarts": fleet.restarts, "lines": lines, "seconds": options.seconds}
            report(client=name, **about, **readers[name].judge(fleet.written), code=code, cpu_s=seconds, peak_mb=peak)


def main() -> None:
    """Parse the command line, and run once."""
    # A shell starts background jobs with SIGINT ignored, and so would the commands that are to be ended by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description="Measure dynkube logs beside stern.")
    parser.add_argument("--pods", type=int, default=200, help="at once")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rate", type=float, default=1.0, help="lines per second of each pod")
    parser.add_argument("--stern", default=shutil.which("stern") or "", help="path of stern; '' to leave it out")
    with TemporaryDirectory() as folder:
        trio.run(run, parser.parse_args(), Path(folder))


if __name__ == "__main__":
    main()
