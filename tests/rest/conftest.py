"""A client over a transport that the test controls."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest
import trio

from dynkube.config import ClientConfig
from dynkube.rest._client import RESTClient
from tests.rest.wire import NOON, MakeClient, NoJitter


@pytest.fixture
def make_client() -> MakeClient:
    """A client over the given transport, without jitter, at noon; options replace the defaults."""

    def make(transport: httpx2.AsyncBaseTransport, **options: object) -> RESTClient:
        config = options.pop("config", ClientConfig(server="https://api.example:6443"))
        settings = {"random": NoJitter(), "now": lambda: NOON, "user_agent": "test", **options}
        return RESTClient(config, transport=transport, **settings)  # type: ignore[arg-type]  # any option may be given

    return make


@pytest.fixture
async def nursery() -> AsyncIterator[trio.Nursery]:
    """A nursery for background tasks; it is cancelled at the end of the test."""
    async with trio.open_nursery() as opened:
        yield opened
        opened.cancel_scope.cancel()
