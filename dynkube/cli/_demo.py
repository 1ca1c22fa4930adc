"""``dynkube demo``: a lazy informer on an embedded server, step by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import trio
from cyclopts import Parameter

from dynkube._client import Client
from dynkube.cli._console import PlainConsole
from dynkube.cli._demo_output import Check, DemoPrinter
from dynkube.cli._packages import embedded_server_required
from dynkube.cli._story import APISERVICES, CRDS, ROUTES, STORY, DemoStep, opening, source
from dynkube.cli._timeline import Timeline
from dynkube.errors import DynkubeError
from dynkube.informers import Informer

if TYPE_CHECKING:
    from rich.console import Console

    from dynkube_testing import APIServer

_WATCHED = {"CRDs": CRDS, "APIServices": APISERVICES, "HTTPRoutes": ROUTES}
_PAUSE = 0.5  # seconds between steps, to leave time for reading
_PATIENCE = 10.0  # seconds within which the expectations of a step have to hold


async def demo(*, fast: Annotated[bool, Parameter(negative="")] = False) -> int:
    """Show what a lazy informer does, without a cluster: absent, appear, fill, filter, delete, return.

    Everything runs in this process, on an embedded API server. Each step shows the Python code that it runs and its
    results; a failed check is marked FAILED and ends the demo with exit code 1.

    Args:
        fast: Do not pause between steps.
    """
    with embedded_server_required("demo"):
        from dynkube_testing import APIServer  # imported here, so that other commands start faster

    async with APIServer() as server:
        held = await tell(server, PlainConsole(), STORY, pause=0 if fast else _PAUSE)
    return 0 if held else 1


@dataclass(frozen=True, slots=True)
class DemoContext:
    """The server, client and informer of the demo, and the record to check."""

    server: APIServer
    client: Client
    routes: Informer
    calls: Timeline

    @property
    def shown(self) -> list[str]:
        """The names of the objects that the informer lists."""
        return sorted(obj.name for obj in self.routes.list())

    @property
    def watches(self) -> dict[str, int]:
        """The number of open watches by resource, as counted by the server."""
        open_now = Counter(str(watch.resource) for watch in self.server.open_watches)
        known = {name: open_now.pop(gvr, 0) for name, gvr in _WATCHED.items()}
        return known | dict(open_now)


async def tell(server: APIServer, console: Console, story: Sequence[DemoStep], *, pause: float = 0) -> bool:
    """Run ``story`` on a fresh ``server``, up to the first step that fails.

    Return whether all checks held.
    """
    output = DemoPrinter(console)
    output.introduce("Runs on an embedded API server in this process. The Python code shown is the code that runs.")
    output.begin("An informer on HTTPRoutes, whose CRD is not installed", source(opening))
    calls = Timeline()
    async with opening(server, calls) as (client, routes), trio.open_nursery() as nursery:
        context = DemoContext(server, client, routes, calls)
        held = output.judge([Check("routes.list(), before the initial sync", [], context.shown)])
        nursery.start_soon(calls.follow_states, routes)
        for number, step in enumerate(story, 1):
            if held:
                await trio.sleep(pause)
                output.begin(f"{number}. {step.title}", source(step.act))
                held = await _perform(step, context, output)
        if held:
            output.begin("All steps, as counted by the server", "")
            held = output.judge(_overall_checks(context))
        nursery.cancel_scope.cancel()
    output.end(held)
    return held


async def _perform(step: DemoStep, context: DemoContext, output: DemoPrinter) -> bool:
    """Run one step, wait until its expectations hold (10 s at most), and return whether its checks held."""
    sent = len(context.server.requests)
    trouble: list[Check] = []
    try:
        with trio.move_on_after(_PATIENCE):
            await step.act(context.client, context.routes)
            await context.calls.wait_for(step.calls, step.phase)
            await context.server.wait_open_watches(2)
    except DynkubeError as error:
        trouble = [Check("error", "none", f"{type(error).__name__}: {error}")]
    calls = context.calls.events
    output.print_timeline(context.calls.take())
    checks = [
        Check("state", step.phase, context.routes.state.phase),
        Check("list", sorted(step.shown), context.shown),
        Check("handler calls", sorted(step.calls), calls),
        # While no CRD defines the resource, APIServices are watched too, as one may serve it.
        Check("watches", {"CRDs": 1, "APIServices": 1 - step.watches, "HTTPRoutes": step.watches}, context.watches),
    ]
    silence = [] if step.requests else [Check("requests", 0, len(context.server.requests) - sent)]
    return output.judge(trouble + checks + silence)


def _overall_checks(context: DemoContext) -> list[Check]:
    """Return the checks over all steps."""
    counts = {str(count.resource): count for count in context.server.watch_counts}
    most = {name: counts[gvr].most if gvr in counts else 0 for name, gvr in _WATCHED.items()}
    # After the end of a watch, another may be requested and cancelled before the server has opened it.
    asked = context.routes.statistics().watches
    opened = counts[ROUTES].opened if ROUTES in counts else 0
    return [
        Check("most watches at once", dict.fromkeys(_WATCHED, 1), most),
        Check(f"opened on HTTPRoutes, of {asked} in routes.statistics()", min(opened, asked), opened),
        Check("other handler calls", [], context.calls.events),
    ]
