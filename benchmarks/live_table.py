"""A live table of 200,000 objects, in the kernel: first row, scrolling, search, order, and changes.

    python -m benchmarks.live_table [--objects 200000] [--size 3000] [--rate 100] [--seconds 20] [--no-table] [--freeze]

Prints one line of JSON for each step. ``first_row_s`` and ``complete_s`` are from the opening of the table on a synced
informer until the first row is sent to the page, and until all objects are in their order. ``median_s`` of scrolling is
from a page's question until the window at another place is sent to it. A search and an order have ``first_s``, until
their first window, and ``done_s``, until all objects were looked at. ``changes`` has the CPU seconds of this process
per second while objects change at ``rate``, one after the other; ``--no-table`` measures the informer alone for
comparison, with the same events.

``held_s`` is the longest time for which the event loop was blocked, as seen by a task that sleeps for a millisecond at
a time, ``held_cpu_s`` the same in CPU seconds, which other processes do not lengthen. Both include Python's full
garbage collections, which visit all that was imported, unless ``--freeze`` calls ``gc.freeze()``.

``sent_kb`` are the messages to the page in JSON. What a browser does with them is not measured.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable
from contextlib import nullcontext
from random import Random
from typing import Any

import trio

import dynkube
from benchmarks.loop_monitor import LoopMonitor
from benchmarks.measure import Meter, byte_server, cpu, report
from benchmarks.sync_informer import WIDGETS
from dynkube.notebook._columns import own_columns
from dynkube.notebook._follower import Follower

_COLUMNS = {"host": "{.spec.hostnames[0]}", "revision": "{.metadata.annotations['example.com/revision']}"}
_SEARCHES = {"name": "widget-123", "no object": "absent-word", "cell of some": "Programmed", "cell of all": "widget"}


class Page:
    """A page that scrolls, searches and sorts; measures what it is sent."""

    def __init__(self) -> None:
        self.follower: Follower | None = None
        self.head: dict[str, Any] = {}
        self.rows = 0
        self.sent = 0
        self._number = 0
        self._news = trio.Event()

    def show(self, message: dict[str, Any], picture: object) -> None:
        """Receive a message."""
        self.sent += len(json.dumps(message))
        self.head = message.get("head", self.head)
        self.rows += len(message.get("rows", ())) + len(message.get("add", ())) - len(message.get("drop", ()))
        self._news.set()

    def ask(self, **question: object) -> None:
        """Send a question."""
        self._number += 1
        assert self.follower is not None
        self.follower.receive({"kind": "view", "page": "p", "number": self._number, **question})

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for messages until ``holds``."""
        while not holds():
            self._news = trio.Event()
            await self._news.wait()

    def answered(self) -> bool:
        """Return whether the last question was answered."""
        view = self.head.get("view")
        return view is not None and view["asked"]["number"] == self._number

    def done(self) -> bool:
        """Return whether the answer is complete."""
        return self.answered() and self.head["view"]["done"] == 1


class Steps:
    """The steps of the benchmark, each with a report."""

    def __init__(self, page: Page, loop: LoopMonitor, options: argparse.Namespace) -> None:
        self._page = page
        self._loop = loop
        self._options = options

    def report(self, step: str, **values: object) -> None:
        """Print the values of a step, and how long it blocked the loop."""
        held = {"held_s": self._loop.held, "held_cpu_s": self._loop.held_cpu}
        report(client="dynkube", step=step, objects=self._options.objects, **held, **values)
        self._loop.held = self._loop.held_cpu = self._page.sent = 0

    async def open(self) -> None:
        """Open the table."""
        page, meter, began = self._page, Meter(), time.perf_counter()
        assert page.follower is not None
        self._loop.held = self._loop.held_cpu = 0  # by the garbage collection of the meter
        page.follower.receive({"kind": "hello", "page": "p", "scrolls": True})
        await page.until(lambda: page.rows > 0)
        first = time.perf_counter() - began
        await page.until(lambda: not page.head["reading"] and page.head["matching"] == self._options.objects)
        complete, used = time.perf_counter() - began, meter.read()["cpu_s"]
        self.report("open", first_row_s=first, complete_s=complete, cpu_s=used, table_mb=meter.held())

    async def scroll(self, places: int = 40) -> None:
        """Scroll to random places."""
        page, random, took, used = self._page, Random(1), list[float](), cpu()
        for _ in range(places):
            began = time.perf_counter()
            page.ask(first=random.randrange(self._options.objects))
            await page.until(page.done)
            took.append(time.perf_counter() - began)
        kilobytes = page.sent / places / 1000
        values = {"median_s": statistics.median(took), "worst_s": max(took), "cpu_s": (cpu() - used) / places}
        self.report("scroll", places=places, **values, sent_kb=kilobytes)

    async def look(self, step: str, **question: object) -> None:
        """Search or sort all objects."""
        page, began, used = self._page, time.perf_counter(), cpu()
        page.ask(**question)
        await page.until(page.answered)
        first = time.perf_counter() - began
        await page.until(page.done)
        found = page.head["view"]["found"]
        self.report(step, found=found, first_s=first, done_s=time.perf_counter() - began, cpu_s=cpu() - used)

    async def change(self, step: str) -> None:
        """Let objects change for a while."""
        began, used = time.perf_counter(), cpu()
        await trio.sleep(self._options.seconds)
        seconds = time.perf_counter() - began
        self.report(step, cpu_per_s=(cpu() - used) / seconds, sent_kb_per_s=self._page.sent / seconds / 1000)


async def run(url: str, options: argparse.Namespace) -> None:
    """Sync an informer, and measure its table."""
    async with (
        dynkube.connect(url=url) as client,
        client.informer(WIDGETS) as informer,
        trio.open_nursery() as nursery,
    ):
        await informer.wait_synced()
        gc.collect()
        if options.freeze:
            gc.freeze()
        page, loop = Page(), LoopMonitor()
        nursery.start_soon(loop.run)
        page.follower = Follower(lambda: nullcontext({"": informer}), nursery.start_soon, columns=own_columns(_COLUMNS))
        page.follower.outlet = page
        steps = Steps(page, loop, options)
        if options.no_table:
            await steps.change("changes, no table")
        else:
            await measure(steps)
            await page.follower.close()
        nursery.cancel_scope.cancel()


async def measure(steps: Steps) -> None:
    """Measure all steps of a table."""
    await steps.open()
    await steps.change("changes")
    await steps.scroll()
    for what, word in _SEARCHES.items():
        await steps.look(f"search: {what}", words=[word])
    await steps.look("sort by a name", column="Name", down=True)
    await steps.change("changes, sorted")
    await steps.look("sort by a JSONPath", column="revision")


def main() -> None:
    """Parse the command line, start a server, and run once."""
    parser = argparse.ArgumentParser(description="Measure a live table of many objects.")
    parser.add_argument("--objects", type=int, default=200_000)
    parser.add_argument("--size", type=int, default=3000)
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--no-table", action="store_true", help="measure only the changes, on the informer alone")
    parser.add_argument("--freeze", action="store_true", help="exempt the synced informer from garbage collections")
    options = parser.parse_args()
    events = options.rate * 3600
    with byte_server(objects=options.objects, size=options.size, events=min(events, 60_000), rate=options.rate) as url:
        trio.run(run, url, options)


if __name__ == "__main__":
    main()
