"""G26, G27: handlers that end their client, and event streams that nobody reads."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube import Client, Unstructured
from dynkube.testing import APIServer
from tests.informers.kit import WIDGETS, crd, quiet, replace, widget


@pytest.mark.scenario("G26", "F28", "P10")
async def test_g26_a_handler_that_may_cancel_ends_the_client_with_its_own_exception(server: APIServer) -> None:
    server.create(crd())
    server.create(widget("a"))

    def fail(obj: Unstructured) -> None:
        raise ZeroDivisionError(obj.name)

    async def use() -> None:
        async with dynkube.connect(transport=server.transport()) as client, client.informer(WIDGETS) as widgets:
            widgets.add_handler(on_add=fail, on_error="cancel")
            await trio.sleep_forever()

    with pytest.raises(ZeroDivisionError, match="a"):
        await use()
    await quiet()
    assert server.open_watches == ()


@pytest.mark.scenario("G27", "F27", "P9")
async def test_g27_an_event_stream_that_is_not_read_keeps_one_step_for_each_object(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.create(widget("a", n=0))
    async with client.informer(WIDGETS) as widgets, widgets.events() as events:
        await widgets.wait_synced()
        for number in range(1, 50):
            replace(server, widget("a", n=number))
            await quiet()

        event = await anext(events)

        assert isinstance(event, dynkube.Added)
        assert event.object["spec"] == {"n": 49}
