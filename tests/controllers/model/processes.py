"""The processes of a script: clients that run the controller, are stopped, killed and started again."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import httpx2
import trio

import dynkube
from dynkube.controllers import Context, Controller, ControllerPhase, LeadershipLost, ObjectKey, Requeue, run
from dynkube.informers._settings import InjectedSettings
from tests.controllers.kit import START
from tests.controllers.model.history import AUTHOR, Call, Run
from tests.controllers.model.oracle import Oracle
from tests.controllers.model.shapes import ELECTION, FINALIZER


class Connection(httpx2.AsyncBaseTransport):
    """The connection of a process, which is cut when the process is killed."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner
        self._cut = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, unless the process was killed."""
        if self._cut:
            raise httpx2.ConnectError("the process was killed")
        return await self._inner.handle_async_request(request)

    async def cut(self) -> None:
        """Cancel all requests, and send no more."""
        self._cut = True
        await self._inner.aclose()


class Reconciler:
    """The functions of the controller of one run of a process."""

    def __init__(self, oracle: Oracle, this: Run) -> None:
        self._oracle = oracle
        self._shape = oracle.shape
        self._run = this

    def controller(self) -> Controller:
        """Return the controller."""
        finalizer = None if self._shape.finalizer == "none" else (FINALIZER, self.clean_up)
        return Controller("widgets.v1.example.com", self.reconcile, finalizer=finalizer, **self._shape.arguments())

    async def reconcile(self, ctx: Context, key: ObjectKey) -> Requeue | None:
        """Make the children of an object what it says, and its status what is mapped to it."""
        return await self._call(ctx, key, self._reconcile, cleaning=False)

    async def clean_up(self, ctx: Context, key: ObjectKey) -> None:
        """Clean up what an object has outside of the cluster."""
        await self._call(ctx, key, self._clean_up, cleaning=True)

    async def _call(
        self, ctx: Context, key: ObjectKey, function: Callable[..., object], *, cleaning: bool
    ) -> Requeue | None:
        call = self._oracle.began(self._run, key, ctx, cleaning=cleaning)
        token, result = AUTHOR.set(call), "cancelled"
        try:
            returned = await function(ctx, call)  # type: ignore[misc]
            result = "done"
            return returned  # type: ignore[no-any-return]
        except Exception as exc:
            result = f"{type(exc).__name__}: {exc}"
            raise
        finally:
            AUTHOR.reset(token)
            self._oracle.ended(call, result)

    async def _reconcile(self, ctx: Context, call: Call) -> Requeue | None:
        shape, obj = self._shape, ctx.get()
        if obj is None:
            return None
        if shape.finalizer != "none":
            self._oracle.acted(call)
        await trio.sleep(shape.pause)
        if obj.deletion_timestamp is None and shape.owned:
            await self._keep_children(ctx, obj)
        if shape.mapped:
            secrets = ctx.list("secrets", namespace=obj.namespace, label_selector={"parent": obj.name})
            await ctx.set_status(obj, {"values": sorted(each.labels["value"] for each in secrets)})
        return None if shape.requeue is None else Requeue(after=shape.requeue)

    async def _keep_children(self, ctx: Context, obj: dynkube.Unstructured) -> None:
        shape = self._shape
        wanted = shape.wanted(obj["spec"])
        if shape.children != "generated":
            await ctx.apply_owned([shape.child_of(obj, number) for number in range(wanted)])
            return
        present = sorted((each for each in ctx.owned() if each.deletion_timestamp is None), key=lambda each: each.name)
        for number in range(len(present), wanted):
            await ctx.create(shape.child_of(obj, number))
        for each in present[wanted:]:
            await ctx.delete(each)

    async def _clean_up(self, ctx: Context, call: Call) -> None:
        obj = ctx.get()
        assert obj is not None
        if self._shape.finalizer == "writes":
            await ctx.set_status(obj, {"cleaned": call.number})
        await trio.sleep(self._shape.pause)
        self._oracle.external.discard(obj.uid)


class Process:
    """One process, which runs the controller once at a time.

    Args:
        name: its name.
        oracle: judges its calls and writes.
        nursery: its tasks.
        seed: of its client's random numbers.
    """

    def __init__(self, name: str, oracle: Oracle, nursery: trio.Nursery, seed: int) -> None:
        self.name = name
        self.run: Run | None = None
        self._oracle = oracle
        self._nursery = nursery
        self._random = Random(f"{seed} {name}")
        self._runs = 0
        self._scope = trio.CancelScope()
        self._ended = trio.Event()
        self._connection: Connection | None = None
        self._controller: Controller | None = None

    @property
    def synced(self) -> bool:
        """Whether its caches have the initial objects, as it says, or it does not run."""
        if self.run is None or self._controller is None:
            return self.run is None
        return self._controller.status().phase in (ControllerPhase.STANDBY, ControllerPhase.RUNNING)

    def start(self) -> None:
        """Start the process, if it does not run."""
        if self.run is not None:
            return
        self._runs += 1
        self.run = Run(self.name, self._runs, trio.current_time())
        self._scope, self._ended = trio.CancelScope(), trio.Event()
        self._connection = Connection(self._oracle.server.transport(self.name))
        self._controller = Reconciler(self._oracle, self.run).controller()
        self._nursery.start_soon(self._run, self.run, self._controller, self._connection, self._scope, self._ended)

    async def stop(self) -> None:
        """Stop the process, and wait until it has ended."""
        if self.run is not None:
            self._scope.cancel()
            await self._ended.wait()

    async def kill(self) -> None:
        """Kill the process: from now on nothing of it reaches the server. What is left of it ends in the background."""
        if self.run is not None and self._connection is not None:
            self.run.killed = True
            self._scope.cancel()
            self.run, cut = None, self._connection.cut
            await cut()

    async def _run(
        self, this: Run, controller: Controller, connection: Connection, scope: trio.CancelScope, ended: trio.Event
    ) -> None:
        AUTHOR.set(this)
        shape, settings = self._oracle.shape, settings_of(self._random)
        election = None if shape.processes == 1 else identified(self.name, this.number)
        try:
            with scope:
                async with dynkube.connect(transport=connection, settings=settings) as client:
                    await run(
                        client,
                        controller,
                        election=election,
                        events=False,
                        shutdown_timeout=5.0,
                        now=lambda: START,
                        random=self._random,
                    )
        except* LeadershipLost as group:
            self._oracle.note(f"{this}: {group.exceptions[0]}")
        this.ended = trio.current_time()
        self._oracle.note(f"{this} has ended")
        if self.run is this:
            self.run = None
        ended.set()


def identified(name: str, number: int) -> dynkube.controllers.LeaderElection:
    """Return the settings of the election, with the identity of one run of a process."""
    return dynkube.controllers.LeaderElection(
        ELECTION.name,
        namespace=ELECTION.namespace,
        identity=f"{name}-{number}",
        lease_duration=ELECTION.lease_duration,
        renew_deadline=ELECTION.renew_deadline,
        retry_period=ELECTION.retry_period,
    )


def settings_of(random: Random) -> dynkube.InformerSettings:
    """Return settings with which a client does the same each time."""
    return InjectedSettings(random=random, cpu_clock=lambda: 0.0)
