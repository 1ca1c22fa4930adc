"""Who is woken when an informer ends."""

from __future__ import annotations

import pytest
import trio

from dynkube import ABSENT, LIVE, STOPPED, Client
from dynkube.errors import ClosedError
from dynkube.testing import APIServer
from tests.informers.kit import WIDGETS, quiet


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
