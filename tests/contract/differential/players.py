"""Plays scripts on the embedded server and a backend, set up for one area; also for synchronous tests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from secrets import token_hex
from typing import TypeAlias

import httpx2
from anyio.from_thread import start_blocking_portal

from dynkube_testing import APIServer
from tests.contract.backends import EMBEDDED, Backend, open_backend
from tests.contract.cluster import Cluster
from tests.contract.differential.known import Known
from tests.contract.differential.requests import Request
from tests.contract.differential.side_by_side import Difference, Setup, SideBySide

Play: TypeAlias = Callable[[Sequence[Request]], Difference | None]


@contextmanager
def script_player(backend: Backend, setup: Setup, accepted: Sequence[Known] = ()) -> Iterator[Play]:
    """Yield a function that plays a script on both servers and returns the first difference."""
    with (
        start_blocking_portal("trio") as portal,
        portal.wrap_async_context_manager(side_by_side(backend, setup, accepted)) as both,
    ):
        yield lambda script: portal.call(both.first_difference, script)


@asynccontextmanager
async def side_by_side(backend: Backend, setup: Setup, accepted: Sequence[Known] = ()) -> AsyncIterator[SideBySide]:
    """Yield both servers after their setup, and delete the objects created on them at the end."""
    label = f"d{token_hex(4)}"
    async with AsyncExitStack() as stack:
        clients = []
        with open_backend(EMBEDDED, None) as embedded:
            for side in (embedded, backend):
                # Like a kube-apiserver without the garbage collector of kube-controller-manager.
                alone = APIServer(rbac=True, garbage_collection=False)
                server = None if side.real else await stack.enter_async_context(alone)
                clients.append(await stack.enter_async_context(side.connect(server)))
        ours, theirs = (_cluster(client, label, backend.version) for client in clients)
        both = SideBySide(embedded=ours, reference=theirs, setup=setup, accepted=accepted)
        await both.prepare()
        yield both
        await both.tidy()


def _cluster(client: httpx2.AsyncClient, label: str, version: tuple[int, int]) -> Cluster:
    """Return a cluster with a fixed User-Agent, as the default field manager is named after it."""
    return Cluster(
        http=client,
        namespace=f"ns-{label}",
        group=f"{label}.example.com",
        version=version,
        headers={"User-Agent": "differential/1"},
    )
