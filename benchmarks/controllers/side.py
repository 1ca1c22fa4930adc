"""Measures a controller of ``dynkube.controllers``; ../controllerruntime/main.go is its counterpart.

    python -m benchmarks.controllers.side --kubeconfig FILE --task empty|read|write --objects 20000 [--concurrency 8]
    python -m benchmarks.controllers.side --task queue --objects 20000

Prints one line of JSON. ``cpu_s`` is the CPU time from just before ``connect`` until every object is reconciled, and
``reconciling_cpu_s`` that from the first call of the reconcile function.

The reconcile function of the task ``empty`` returns at once; that of ``read`` reads its object, which needs no change;
that of ``write`` patches the status, and finds it unchanged in its next call. The task ``queue`` measures a
``WorkQueue`` alone.
"""

from __future__ import annotations

import argparse
import time

import trio

import dynkube
from benchmarks import objects
from benchmarks.measure import MB, Meter, cpu, report
from dynkube.controllers import Context, Controller, ObjectKey, WorkQueue, run

_TIMEOUT = 600.0  # seconds


class Task:
    """The reconcile functions, with counters of their calls and writes."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._count: int = options.objects
        self._value = str(time.time_ns())  # the value to write; differs between runs
        self._settled: set[ObjectKey] = set()
        self.calls = 0
        self.writes = 0
        self.first: tuple[float, float] | None = None  # CPU and wall time of the first call
        self.done = trio.Event()

    async def empty(self, _ctx: Context, key: ObjectKey) -> None:
        """Do nothing."""
        self._begin()
        self._settle(key)

    async def read(self, ctx: Context, key: ObjectKey) -> None:
        """Read the object, which needs no change."""
        self._begin()
        obj = ctx.get()
        if obj is not None and obj["spec"]["replicas"] is not None:
            self._settle(key)

    async def write(self, ctx: Context, key: ObjectKey) -> None:
        """Write the status, unless it has the value already."""
        self._begin()
        obj = ctx.get()
        if obj is None:
            return
        if obj.get("status", {}).get("value") != self._value:
            await ctx.set_status(obj, {"value": self._value})
            self.writes += 1
        else:
            self._settle(key)

    def _begin(self) -> None:
        if self.first is None:
            self.first = cpu(), time.perf_counter()
        self.calls += 1

    def _settle(self, key: ObjectKey) -> None:
        self._settled.add(key)
        if len(self._settled) == self._count:
            self.done.set()


async def reconcile_all(options: argparse.Namespace) -> None:
    """Run the controller until every object is reconciled, and print the result."""
    task = Task(options)
    function = {"empty": task.empty, "read": task.read, "write": task.write}[options.task]
    resource = f"{objects.PLURAL}.{objects.VERSION}.{objects.GROUP}"
    meter = Meter()
    async with dynkube.connect(kubeconfig=options.kubeconfig) as client, trio.open_nursery() as nursery:
        controller = Controller(resource, function, name="bench", concurrency=options.concurrency)
        nursery.start_soon(run, client, controller)
        with trio.fail_after(_TIMEOUT):
            await task.done.wait()
        measured, ended = meter.read(), (cpu(), time.perf_counter())
        assert task.first is not None
        seconds, wall = (end - begin for begin, end in zip(task.first, ended, strict=True))
        held = meter.held()
        nursery.cancel_scope.cancel()
    if options.task == "write" and task.writes != options.objects:
        raise SystemExit(f"{task.writes} writes for {options.objects} objects")
    report(
        cpu_s=measured["cpu_s"],
        wall_s=measured["wall_s"],
        peak_mb=measured["peak_mb"],
        reconciles=task.calls,
        writes=task.writes,
        reconciling_cpu_s=seconds,
        reconciling_wall_s=wall,
        reconcile_us=seconds / task.calls * 1e6,
        keys_per_cpu_s=options.objects / seconds,
        keys_per_s=options.objects / wall,
        held_mb=held,
        bytes_per_object=held * MB / options.objects,
    )


async def queue(count: int) -> None:
    """Measure the CPU of a queue in microseconds per key: adding keys, adding them again, and processing them."""
    keys = [ObjectKey(f"ns-{index % objects.NAMESPACES:02}", f"widget-{index:06}") for index in range(count)]
    work_queue: WorkQueue[ObjectKey] = WorkQueue()
    began = cpu()
    for key in keys:
        work_queue.add(key)
    added = cpu()
    for key in keys:
        work_queue.add(key)
    again = cpu()
    for _ in keys:
        work_queue.done(await work_queue.get())
    each = 1e6 / count
    report(add_us=(added - began) * each, add_again_us=(again - added) * each, get_done_us=(cpu() - again) * each)


def main() -> None:
    """Parse the command line, and run once."""
    parser = argparse.ArgumentParser(description="Measure one controller, or a work queue.")
    parser.add_argument("--kubeconfig")
    parser.add_argument("--task", choices=("empty", "read", "write", "queue"), default="read")
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--concurrency", type=int, default=8)
    options = parser.parse_args()
    if options.task == "queue":
        trio.run(queue, options.objects)
    else:
        trio.run(reconcile_all, options)


if __name__ == "__main__":
    main()
