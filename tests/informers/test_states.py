"""What an informer says of itself, and who is woken by it."""

from __future__ import annotations

from contextlib import aclosing

import pytest
import trio

from dynkube import ABSENT, LIVE, STOPPED, Client
from dynkube.errors import ClosedError
from dynkube.testing import APIServer
from tests.informers.kit import WIDGETS, crd, quiet


async def test_states_come_as_they_change_with_their_reasons(server: APIServer, client: Client) -> None:
    seen: list[str] = []

    async def note() -> None:
        async with aclosing(widgets.states()) as states:
            seen.extend([f"{state.phase} {state.reason}" async for state in states])

    async with trio.open_nursery() as nursery, client.informer(WIDGETS) as widgets:
        nursery.start_soon(note)
        await widgets.wait_state(ABSENT)
        await quiet()
        server.create(crd())
        await widgets.wait_state(LIVE)
        await quiet()

    assert seen[-3:] == ["SYNCING Listing", "LIVE Watching", "STOPPED Closed"]
    assert "ABSENT CRDNotFound" in seen


async def test_who_waits_on_a_closed_informer_is_woken_also_if_others_share_it(
    server: APIServer, client: Client
) -> None:
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
