"""A server with RBAC and three users, and a factory of clients that act as a given user."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import httpx2
import pytest

from dynkube_testing import APIServer, User

USERS = {
    "admin-token": User("admin", ("system:masters",)),
    "alice-token": User("alice", ("devs",), "42", {"scopes": ("read", "write")}),
    "bob-token": User("bob"),
}

As = Callable[[User | str | None], httpx2.AsyncClient]


@pytest.fixture
async def guarded() -> AsyncIterator[APIServer]:
    async with APIServer(rbac=True, users=USERS) as server:
        yield server


@pytest.fixture
async def acting_as(guarded: APIServer) -> AsyncIterator[As]:
    """``acting_as("alice")`` is a client of that user; ``acting_as(None)`` is a client that sends no credentials."""
    async with AsyncExitStack() as stack:

        def client(user: User | str | None) -> httpx2.AsyncClient:
            made = httpx2.AsyncClient(transport=guarded.transport(user), base_url=guarded.url, timeout=None)
            stack.push_async_callback(made.aclose)
            return made

        yield client


@pytest.fixture
def alice(acting_as: As) -> httpx2.AsyncClient:
    return acting_as(USERS["alice-token"])


@pytest.fixture
def admin(acting_as: As) -> httpx2.AsyncClient:
    return acting_as(USERS["admin-token"])
