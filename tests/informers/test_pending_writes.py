"""``PendingWrites``: what a cache has to show before it is acted on, and when that is in doubt."""

from __future__ import annotations

import pytest
import trio

from dynkube import ABSENT, LIVE, Client, Informer
from dynkube.errors import ClosedError
from dynkube.informers._pending_writes import PendingWrites, may_select
from dynkube.meta import FieldSelector, Unstructured
from dynkube_testing import APIServer, Drip, Refuse
from tests.informers.kit import CRDS, WIDGETS, crd, quiet
from tests.informers.test_wait_for import CONFIGS, config, written


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


@pytest.mark.parametrize("fault", [Refuse(403), Drip(2000)], ids=["forbidden CRDs", "slow watch"])
async def test_a_write_to_a_resource_that_counts_as_absent_is_awaited(
    server: APIServer, client: Client, fault: Refuse | Drip
) -> None:
    server.inject(fault, resource=CRDS, verb="watch" if isinstance(fault, Drip) else None)
    async with client.informer(WIDGETS) as widgets, trio.open_nursery() as nursery:
        pending, seen = PendingWrites(widgets), list[int]()
        nursery.start_soon(pending.follow)
        await widgets.wait_state(ABSENT)
        server.create(crd())

        made = await written(client)
        assert pending.expect(made, lambda: seen.append(len(widgets)))
        assert pending.expect_version(made.resource_version, lambda: seen.append(len(widgets)))
        pending.refresh()  # before the informer has processed the verdict
        assert seen == []

        await widgets.wait_state(LIVE)
        await quiet()
        assert seen == [1, 1]
        nursery.cancel_scope.cancel()


async def test_a_list_of_a_resource_that_counts_as_absent_is_awaited(server: APIServer, client: Client) -> None:
    server.inject(Drip(2000), resource=CRDS, verb="watch")
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(ABSENT)
        server.create(crd())
        version = (await written(client)).resource_version

        assert PendingWrites(widgets).expect_version(version, lambda: None)

        await widgets.wait_state(LIVE)


def unlisted(server: APIServer) -> None:
    """Have lists and watches of widgets fail."""
    for verb in ("list", "watch"):
        server.inject(Refuse(503), resource="widgets", verb=verb)


async def test_only_an_absence_that_is_newer_than_a_write_ends_its_wait(server: APIServer, client: Client) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets, trio.open_nursery() as nursery:
        pending, seen = PendingWrites(widgets), list[str]()
        nursery.start_soon(pending.follow)
        await widgets.wait_state(LIVE)
        made = await written(client)
        unlisted(server)  # so that the resource is not listed before the next CRD is received
        assert pending.expect(made.transform(["metadata", "resourceVersion"], "9999"), lambda: seen.append("mine"))

        server.delete(CRDS, "widgets.example.com")  # a deletion that is received late: the write was made after it
        await trio.sleep(20)
        assert (seen, len(pending)) == ([], 1)

        await trio.sleep(20)  # discovery, which was read after the write, has confirmed that it is gone
        assert (seen, len(pending)) == (["mine"], 0)
        nursery.cancel_scope.cancel()


async def test_an_absence_that_is_newer_than_a_write_ends_its_wait(server: APIServer, client: Client) -> None:
    async with client.informer(WIDGETS) as widgets:
        pending, seen = PendingWrites(widgets), list[str]()
        await widgets.wait_state(ABSENT)
        unlisted(server)
        server.create(crd())
        assert pending.expect(await written(client), lambda: seen.append("mine"))
        await quiet()

        server.delete(CRDS, "widgets.example.com")
        await widgets.wait_state(ABSENT)
        pending.refresh()

        assert (seen, len(pending)) == (["mine"], 0)


@pytest.mark.parametrize("checkpoints", range(6))
async def test_a_wait_for_a_write_ends_if_the_informer_is_closed_at_that_moment(
    server: APIServer, client: Client, checkpoints: int
) -> None:
    server.create(crd())
    made = await written(client)
    server.delete(CRDS, "widgets.example.com")
    widgets = await client.informer(WIDGETS).__aenter__()
    await widgets.wait_state(ABSENT)
    outcomes: list[type[BaseException] | None] = []

    async def wait() -> None:
        try:
            await widgets.wait_for(made.transform(["metadata", "resourceVersion"], "99999"))
        except Exception as exc:  # any is recorded
            outcomes.append(type(exc))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        for _ in range(checkpoints):
            await trio.lowlevel.checkpoint()
        await widgets.aclose()

    assert outcomes == [ClosedError]


@pytest.mark.parametrize(
    ("selector", "selected"),
    [
        ("metadata.name=web", True),
        ("metadata.name=db", False),
        ("metadata.name!=web", False),
        ("metadata.namespace=shop,metadata.name=web", True),
        ("metadata.namespace=shop,metadata.name=db", False),
        ("status.phase=Pending", True),
        ("status.phase!=Running", True),
        ("status.phase=Running", False),
        ("spec.replicas=3", True),
        ("spec.replicas=4", False),
        ("spec.paused=true", True),
        ("spec.paused=false", False),
        ("spec.nodeName=", True),
        ("spec.nodeName=node-1", False),
        ("spec.hostNetwork=false", True),
        ("spec.nodeName!=", True),  # not known, as it would be "false" if it were a boolean
        ("status.successful=1", True),  # not the name of the field
        ("status=1", True),
    ],
)
def test_an_object_may_be_selected_by_its_fields(selector: str, selected: bool) -> None:
    metadata = {"name": "web", "namespace": "shop"}
    spec, status = {"replicas": 3, "paused": True}, {"phase": "Pending"}
    obj = Unstructured({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status})

    assert may_select(FieldSelector.parse(selector), obj) is selected
