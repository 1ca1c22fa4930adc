"""Changes of an informer's state: waiting tasks that are woken, and messages that change."""

from __future__ import annotations

from contextlib import aclosing
from random import Random

import pytest
import trio

import dynkube
from dynkube import ABSENT, DEGRADED, LIVE, STOPPED, SYNCING, Client
from dynkube.errors import ClosedError
from dynkube.informers import Phase
from dynkube_testing import APIServer, Refuse
from tests.informers.kit import CRDS, WIDGETS, crd, quiet, widget


async def test_a_wait_on_a_closed_informer_ends_even_if_its_watch_is_shared(server: APIServer, client: Client) -> None:
    async with client.informer(WIDGETS) as other:
        mine = client.informer(WIDGETS)
        await mine.__aenter__()
        await mine.wait_state(ABSENT)

        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def wait() -> None:
                with pytest.raises(ClosedError, match=r"STOPPED \(Closed\), it will not become LIVE"):
                    await mine.wait_state(LIVE)

            await quiet()
            await mine.aclose()

        assert (mine.state.phase, other.state.phase) == (STOPPED, ABSENT)


async def test_an_informer_that_has_synced_by_a_streaming_list_is_live(server: APIServer, client: Client) -> None:
    server.create(crd())
    server.create(widget("a"))

    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()

        assert (len(widgets), widgets.state.phase) == (1, LIVE)


async def test_a_selector_that_the_server_rejects_is_shown_at_once(server: APIServer, client: Client) -> None:
    async with client.informer("configmaps.v1", field_selector="metadata.nam=a") as maps:
        await quiet()

        assert maps.state.phase is DEGRADED
        assert '"metadata.nam" is not a known field selector' in maps.state.message


async def test_a_changed_message_is_a_new_state_with_the_same_since(server: APIServer, client: Client) -> None:
    server.create(crd())
    first = server.inject(Refuse(403, message="not yet"), resource="widgets")
    async with client.informer(WIDGETS) as widgets, aclosing(widgets.states()) as states:
        before = await widgets.wait_state(DEGRADED)
        assert "not yet" in before.message
        first.remove()
        server.inject(Refuse(403, message="never"), resource="widgets")

        with trio.fail_after(120):
            async for after in states:
                if "never" in after.message:
                    break

        assert (after.phase, after.reason, after.since) == (before.phase, before.reason, before.since)


async def test_the_message_of_an_absent_resource_names_the_served_versions(server: APIServer, client: Client) -> None:
    server.create(crd(served=("v1", "v2")))
    async with client.informer("widgets.v3.example.com") as widgets:
        assert "only v1, v2" in (await widgets.wait_state(ABSENT)).message

        stored = server.get(CRDS, "widgets.example.com")
        stored["spec"]["versions"][0]["served"] = False
        server.update(stored)
        await quiet()

        assert widgets.state.message.endswith("only v2")


@pytest.mark.parametrize("status", [401, 403, 500])
@pytest.mark.parametrize("streaming", [None, False], ids=["streamed", "listed"])
async def test_a_successful_list_after_error_responses_leads_to_live_without_delay(
    server: APIServer, status: int, streaming: bool | None
) -> None:
    server.create(crd())
    server.create(widget("a"))
    server.inject(Refuse(status), resource="widgets", duration=60)
    settings = dynkube.InformerSettings(random=Random(7), streaming_lists=streaming)
    connection = dynkube.connect(transport=server.transport(), settings=settings)
    async with connection as client, client.informer(WIDGETS) as widgets:
        await widgets.wait_state(DEGRADED)

        await widgets.wait_synced()
        await quiet()  # no time passes

        assert (len(widgets), widgets.state.phase) == (1, LIVE)


async def test_a_successful_list_does_not_lead_to_live_while_watches_are_forbidden(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    server.inject(Refuse(403), resource="widgets", verb="watch", duration=600)
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_synced()
        phases: set[Phase] = set()

        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def follow() -> None:
                async for state in widgets.states():
                    phases.add(state.phase)

            await trio.sleep(500)
            nursery.cancel_scope.cancel()

        assert phases == {SYNCING, DEGRADED}  # the first until a watch was refused


async def test_states_end_when_the_client_is_closed_before_the_informer_is_left(server: APIServer) -> None:
    phases: list[Phase] = []

    async def follow() -> None:
        phases.extend([state.phase async for state in widgets.states()])

    async with trio.open_nursery() as nursery, dynkube.connect(transport=server.transport()) as client:
        widgets = client.informer(WIDGETS)
        await widgets.__aenter__()
        nursery.start_soon(follow)
        await widgets.wait_state(ABSENT)
        await quiet()

    assert phases[-2:] == [ABSENT, STOPPED]
    await widgets.aclose()
