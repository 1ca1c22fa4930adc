"""``PendingWrites``: what a cache has to show before it is acted on, and when that is in doubt."""

from __future__ import annotations

import trio

from dynkube import LIVE, Client, Informer
from dynkube.informers._pending_writes import PendingWrites
from dynkube_testing import APIServer
from tests.informers.test_wait_for import CONFIGS, config


async def deleted_unseen(server: APIServer, configs: Informer, pending: PendingWrites, seen: list[str]) -> None:
    """Delete an object while the watch is silent, so that the cache keeps it."""
    await configs.wait_state(LIVE)
    known = configs.get("one", namespace="default")
    assert known is not None
    server.end_watches("configmaps", "silent")
    server.delete("configmaps", "one")
    assert pending.expect_deleted(known, lambda: seen.append("one"))


async def test_a_deletion_that_the_cache_does_not_show_is_overdue_after_some_time(
    server: APIServer, client: Client
) -> None:
    server.create(config("one"))
    async with client.informer(CONFIGS) as configs:
        pending = PendingWrites(configs)
        await deleted_unseen(server, configs, pending, [])
        recorded = trio.current_time()

        early = pending.overdue(10)
        await trio.sleep(11)
        late = pending.overdue(10)

        assert early == []
        assert [(each.key, each.since) for each in late] == [(("default", "one"), recorded)]


async def test_a_deletion_that_is_withdrawn_is_not_awaited_any_more(server: APIServer, client: Client) -> None:
    server.create(config("one"))
    async with client.informer(CONFIGS) as configs:
        pending, seen = PendingWrites(configs), list[str]()
        await deleted_unseen(server, configs, pending, seen)
        await trio.sleep(11)
        [overdue] = pending.overdue(10)

        pending.withdraw(overdue)
        pending.withdraw(overdue)

        assert (len(pending), seen, pending.overdue(10)) == (0, ["one"], [])


async def test_a_deletion_that_the_cache_has_shown_is_not_overdue(server: APIServer, client: Client) -> None:
    server.create(config("one"))
    async with client.informer(CONFIGS) as configs:
        pending = PendingWrites(configs)
        await deleted_unseen(server, configs, pending, [])
        await trio.sleep(300)  # the silent watch was replaced

        assert len(configs) == 0
        assert pending.overdue(10) == []
