"""P10: failures of users' functions are reported, and end no informer."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import trio

import dynkube
from dynkube import ABSENT, LIVE, SYNCING, Client, Filter, Informer, Unstructured
from dynkube.informers._filters.filters import BoundFilter, FilterContext
from dynkube.telemetry import Observer
from dynkube_testing import APIServer
from tests.informers.kit import WIDGETS, Recorder, crd, names, quiet, widget


class UnprintableError(Exception):
    """An exception whose ``__str__`` raises."""

    def __str__(self) -> str:
        raise IndexError("no text")


@pytest.fixture(autouse=True)
def widgets_are_served(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))


@asynccontextmanager
async def with_other_informer(client: Client) -> AsyncIterator[None]:
    """Check that another informer of the client continues."""
    async with client.informer("configmaps.v1.") as other:
        await other.wait_synced()
        yield
        await trio.sleep(5)
        assert other.state.phase is LIVE


async def clean_up_badly() -> None:
    try:
        await trio.sleep_forever()
    finally:
        raise ConnectionResetError("while saying goodbye")


@pytest.mark.scenario("P10")
async def test_a_handler_whose_nursery_fails_during_cancellation_is_reported(client: Client) -> None:
    errors: list[Exception] = []

    async def on_add(obj: Unstructured) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(clean_up_badly)
            nursery.start_soon(trio.sleep_forever)

    async with with_other_informer(client):
        informer = client.informer(WIDGETS)
        handle = informer.add_handler(on_add=on_add, on_error=lambda exc, event: errors.append(exc))
        async with informer:
            await trio.sleep(1)

        [error] = errors
        assert isinstance(error, ExceptionGroup)
        assert [type(each) for each in error.exceptions] == [ConnectionResetError]
        assert (handle.errors, " removed " in repr(handle)) == (1, True)


@pytest.mark.scenario("P10")
async def test_a_handler_that_fails_during_cancellation_can_end_the_client(server: APIServer) -> None:
    async def on_add(obj: Unstructured) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(clean_up_badly)
            await trio.sleep_forever()

    async def use() -> None:
        async with dynkube.connect(transport=server.transport()) as client:
            async with client.informer(WIDGETS) as widgets:
                widgets.add_handler(on_add=on_add, on_error="cancel")
                await trio.sleep(1)
            await trio.sleep_forever()

    with pytest.raises(ConnectionResetError):
        await use()


@pytest.mark.parametrize("given", ["log", "callback"])
async def test_an_exception_whose_str_raises_is_reported(client: Client, given: str) -> None:
    def fail(*args: object) -> None:
        raise UnprintableError

    async with with_other_informer(client), client.informer(WIDGETS) as widgets:
        handle = widgets.add_handler(on_add=fail, on_error="log" if given == "log" else fail)
        await handle.wait_synced()

        assert handle.statistics().last_error == "UnprintableError: (its __str__ failed)"


async def test_a_message_of_a_megabyte_is_cut(client: Client) -> None:
    def fail(obj: Unstructured) -> None:
        raise ValueError("x" * 1_000_000)

    async with client.informer(WIDGETS, indexes={"x": fail}) as widgets:  # type: ignore[dict-item]
        handle = widgets.add_handler(on_add=fail)
        await handle.wait_synced()

        assert len(handle.statistics().last_error) < 3000
        assert len(widgets.statistics().last_error) < 3000


class Failing(Filter):
    """A user's filter of which one function raises, always or once it is armed."""

    __slots__ = ("armed", "which")

    def __init__(self, which: str, *, armed: bool = True) -> None:
        self.which = which
        self.armed = armed

    def _bind(self, context: FilterContext) -> BoundFilter:
        functions: dict[str, Any] = {"matches": lambda obj: True}
        return BoundFilter(**functions | {self.which: self.fail})

    def fail(self, *args: object) -> Any:
        if self.armed:
            raise UnprintableError
        return {"pending": "", "at_once": lambda obj: True}.get(self.which, True)

    def __repr__(self) -> str:
        raise UnprintableError


@pytest.mark.scenario("P10")
@pytest.mark.parametrize("which", ["matches", "ready", "pending", "at_once", "close"])
async def test_a_filter_that_raises_is_reported_and_can_be_replaced(client: Client, which: str) -> None:
    recorder = Recorder()
    async with with_other_informer(client), client.informer(WIDGETS, filter=Failing(which)) as widgets:
        recorder.attach(widgets)
        await trio.sleep(1)
        shown = names(widgets)
        assert repr(widgets)

        widgets.set_filter(None)
        await widgets.wait_synced()

        hides = which in ("matches", "ready", "at_once")
        assert (shown, names(widgets), await recorder.drain()) == ([] if hides else ["a"], ["a"], ["add/a"])
        assert (which == "pending") is ("UnprintableError" not in widgets.statistics().last_error)


class NeverReady(Filter):
    """A filter that is never ready; its ``pending`` text may be empty."""

    __slots__ = ("pending",)

    def __init__(self, pending: str) -> None:
        self.pending = pending

    def _bind(self, context: FilterContext) -> BoundFilter:
        return BoundFilter(lambda obj: True, lambda: False, lambda: self.pending)


@pytest.mark.parametrize(("pending", "shown"), [("a token", "a token"), ("", "an unspecified condition")])
async def test_an_informer_is_syncing_while_its_filter_is_not_ready(client: Client, pending: str, shown: str) -> None:
    async with with_other_informer(client), client.informer(WIDGETS, filter=NeverReady(pending)) as widgets:
        await trio.sleep(1)

        assert widgets.state.phase is SYNCING
        assert widgets.state.message == f"the filter waits for {shown}"
        assert widgets.list() == []


@pytest.mark.parametrize("which", ["ready", "at_once"])
async def test_a_filter_that_raises_causes_no_delete(server: APIServer, client: Client, which: str) -> None:
    recorder = Recorder()
    failing = Failing(which, armed=False)
    async with client.informer(WIDGETS, filter=failing) as widgets:
        recorder.attach(widgets)
        await widgets.wait_synced()
        assert await recorder.drain() == ["add/a"]

        failing.armed = True
        server.create(widget("b"))
        assert (await recorder.drain(), widgets.list(), widgets.state.phase) == ([], [], SYNCING)
        failing.armed = False
        server.create(widget("c"))

        assert sorted(await recorder.drain()) == ["add/b", "add/c"]
        assert (names(widgets), widgets.state.phase) == (["a", "b", "c"], LIVE)


async def test_both_parts_of_a_filter_are_closed_although_the_first_raises(server: APIServer, client: Client) -> None:
    both = Failing("close") & dynkube.NamespaceFilter("team=a")
    async with client.informer(WIDGETS, filter=both) as widgets:
        await trio.sleep(1)

        widgets.set_filter(None)
        await trio.sleep(60)

        assert [each.gvr.resource for each in client.informers()] == ["widgets"]


@dataclass
class Unhashable:
    """A transform that is equal to others of its class, and not hashable."""

    calls: int = 0

    def __call__(self, obj: Unstructured) -> Unstructured:
        self.calls += 1
        return obj


async def test_a_transform_that_cannot_be_hashed_has_its_own_cache(client: Client) -> None:
    one, other = Unhashable(), Unhashable()
    async with (
        client.informer(WIDGETS, transform=one) as first,
        client.informer(WIDGETS, transform=one) as second,
        client.informer(WIDGETS, transform=other) as third,
    ):
        for each in (first, second, third):
            await each.wait_state(LIVE)

        assert (one.calls, other.calls) == (1, 1)
        assert [each.statistics().users for each in (first, second, third)] == [2, 2, 1]


class NamelessFunction:
    """A function without a name or signature, whose results cannot be formatted."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("__qualname__", "__signature__", "__wrapped__"):
            raise UnprintableError
        return super().__getattribute__(name)

    def __call__(self, obj: Unstructured) -> list[Any]:
        return [self]

    def __str__(self) -> str:
        raise UnprintableError


async def test_index_values_whose_str_raises_are_reported(client: Client) -> None:
    async with client.informer(WIDGETS, indexes={"x": NamelessFunction()}) as widgets:
        await widgets.wait_synced()

        assert (names(widgets), widgets.by_index("x", "a")) == (["a"], [])
        assert widgets.statistics().last_error.startswith("index 'x' on <Widget")


async def test_a_handler_without_name_and_signature_is_called(client: Client) -> None:
    async with client.informer(WIDGETS) as widgets:
        handle = widgets.add_handler(on_add=NamelessFunction())  # type: ignore[arg-type]
        await handle.wait_synced()

        assert (handle.name, handle.statistics().handled, handle.errors) == ("handler", 1, 0)


class Group(Observer):
    def state_changed(self, *args: object) -> None:
        raise ExceptionGroup("observers", [UnprintableError()])


async def test_an_observer_that_raises_does_not_affect_informers(server: APIServer) -> None:
    async with (
        dynkube.connect(transport=server.transport(), observers=[Group()]) as client,
        with_other_informer(client),
        client.informer("absent.v1.example.com") as absent,
    ):
        await absent.wait_state(ABSENT)


async def ends_by(server: APIServer, use: Callable[[Informer], Awaitable[None]]) -> None:
    async with dynkube.connect(transport=server.transport()) as client, client.informer(WIDGETS) as widgets:
        await use(widgets)
        await trio.sleep_forever()


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("where", ["handler", "async handler", "filter", "index"])
async def test_an_exit_or_interrupt_in_a_users_function_is_raised_in_the_main_thread(
    server: APIServer, kind: type[BaseException], where: str
) -> None:
    def leave(obj: Unstructured) -> Any:
        raise kind

    async def leave_later(obj: Unstructured) -> None:
        await quiet()
        sys.exit(3) if kind is SystemExit else leave(obj)

    async def use(widgets: Informer) -> None:
        await widgets.wait_synced()
        if where == "filter":
            widgets.add_handler(on_add=print)
            widgets.set_filter(leave)
        elif where == "index":
            widgets.add_index("x", leave)
        else:
            widgets.add_handler(on_add=leave if where == "handler" else leave_later)

    with pytest.raises(kind):
        await ends_by(server, use)
