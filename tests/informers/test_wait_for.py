"""``wait_for``: read your own writes, even of a resource that still counts as absent."""

from __future__ import annotations

import pytest
import trio

from dynkube import ABSENT, LIVE, Client, Unstructured
from dynkube.errors import InvalidInput, NotFound
from dynkube.informers._pending_writes import PendingWrites
from dynkube_testing import APIServer, Delay, Drip, Refuse
from tests.informers.kit import CRDS, WIDGETS, crd, quiet, widget

CONFIGS = "configmaps.v1."


def config(name: str, namespace: str = "default", **labels: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


async def written(client: Client) -> Unstructured:
    """Create a widget as soon as the server accepts it."""
    while True:
        try:
            return await client.resource("widgets.v1.example.com").create(widget("mine"))
        except NotFound:
            await trio.sleep(0.01)


@pytest.mark.parametrize("fault", [None, Drip(2000), Refuse(403)], ids=["in order", "slow watch", "forbidden CRDs"])
async def test_wait_for_waits_for_a_write_although_its_crd_was_not_seen_yet(
    server: APIServer, client: Client, fault: Drip | Refuse | None
) -> None:
    if fault is not None:
        server.inject(fault, resource=CRDS, verb="watch" if isinstance(fault, Drip) else None)
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(ABSENT)
        server.create(crd())
        made = await written(client)

        with trio.fail_after(10):
            await widgets.wait_for(made)

        found = widgets.get("mine", namespace="default")
        assert found is not None
        assert (found.uid, found.resource_version) == (made.uid, made.resource_version)


@pytest.mark.parametrize("fault", [Refuse(403), Drip(2000)], ids=["forbidden CRDs", "slow watch"])
async def test_wait_for_waits_for_a_write_although_its_crd_was_cluster_scoped_when_last_seen(
    server: APIServer, client: Client, fault: Drip | Refuse
) -> None:
    server.create(crd(scope="Cluster"))
    async with client.informer(WIDGETS, namespace="default") as widgets:
        await widgets.wait_state(ABSENT)
        server.inject(fault, resource=CRDS, verb="watch" if isinstance(fault, Drip) else None)
        server.end_watches(CRDS)
        await trio.sleep(1)
        server.delete(CRDS, "widgets.example.com")
        server.create(crd())
        made = await written(client)

        with trio.fail_after(10):
            await widgets.wait_for(made)

        found = widgets.get("mine", namespace="default")
        assert found is not None
        assert (found.uid, found.resource_version) == (made.uid, made.resource_version)


async def test_wait_for_waits_for_a_write_although_a_late_event_deletes_its_crd(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        server.delete(CRDS, "widgets.example.com")
        server.end_watches(CRDS)  # the deletion is seen in the next list
        server.create(crd())
        made = Unstructured(server.create(widget("mine")))

        with trio.fail_after(10):
            await widgets.wait_for(made)

        found = widgets.get("mine", namespace="default")
        assert found is not None
        assert found.uid == made.uid


async def test_wait_for_returns_for_a_write_before_the_crd_was_deleted(server: APIServer, client: Client) -> None:
    server.create(crd())
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(LIVE)
        made = await written(client)
        server.delete(CRDS, "widgets.example.com")
        await widgets.wait_state(ABSENT)
        before = widgets.statistics()

        with trio.fail_after(1):
            await widgets.wait_for(made)

        after = widgets.statistics()
        assert (after.state, after.lists, after.watches) == (before.state, before.lists, before.watches)


async def test_wait_for_returns_for_a_write_before_the_crds_were_listed(server: APIServer, client: Client) -> None:
    server.create(crd())
    made = await written(client)
    server.delete(CRDS, "widgets.example.com")
    async with client.informer(WIDGETS) as widgets:
        before = await widgets.wait_state(ABSENT)

        with trio.fail_after(1):
            await widgets.wait_for(made)

        assert (widgets.state, widgets.statistics().lists) == (before, 0)


async def test_a_write_to_another_namespace_is_not_awaited(client: Client) -> None:
    async with client.informer(CONFIGS, namespace="middle") as configs:
        await configs.wait_state(LIVE)

        expected = {}
        for namespace in ("a", "middle", "z"):
            written = Unstructured(config("one", namespace)).transform(["metadata", "resourceVersion"], "1000000")
            expected[namespace] = PendingWrites(configs).expect(written, lambda: None)

        assert expected == {"a": False, "middle": True, "z": False}


@pytest.mark.parametrize("version", ["1", "not a number"])
async def test_a_version_that_the_cache_has_reached_or_that_has_no_order_is_not_awaited(
    client: Client, version: str
) -> None:
    async with client.informer(CONFIGS) as configs:
        await configs.wait_state(LIVE)
        written = Unstructured(config("one")).transform(["metadata", "resourceVersion"], version)
        pending = PendingWrites(configs)

        assert not pending.expect(written, lambda: None)
        assert len(pending) == 0


async def test_wait_for_returns_when_the_resource_is_gone_and_crds_cannot_be_read(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    made = await written(client)
    server.inject(Refuse(403), resource=CRDS)
    server.delete(CRDS, "widgets.example.com")
    async with client.informer(WIDGETS) as widgets:
        await widgets.wait_state(ABSENT)

        with trio.fail_after(120):
            await widgets.wait_for(made)

        assert widgets.state.phase is ABSENT


@pytest.mark.parametrize(
    ("other", "problem"),
    [
        (config("a", team="b"), "does not match the informer's label_selector 'team=a'"),
        (config("a", "elsewhere", team="a"), "is in namespace 'elsewhere': this informer follows 'default'"),
        (widget("a", labels={"team": "a"}), "is of the API group 'example.com': this informer follows configmaps.v1"),
    ],
)
async def test_wait_for_rejects_an_object_that_the_informer_never_gets(
    client: Client, other: dict[str, object], problem: str
) -> None:
    obj = Unstructured(other | {"metadata": {**other["metadata"], "resourceVersion": "999999"}})  # type: ignore[dict-item]
    async with client.informer(CONFIGS, namespace="default", label_selector="team=a") as configs:
        await configs.wait_state(LIVE)

        with pytest.raises(InvalidInput, match=problem):
            await configs.wait_for(obj)


async def test_wait_for_waits_for_an_object_that_leaves_the_selector(server: APIServer, client: Client) -> None:
    configs = client.resource(CONFIGS)
    await configs.create(config("a", team="a"))
    async with client.informer(CONFIGS, namespace="default", label_selector="team=a") as followed:
        await followed.wait_state(LIVE)
        moved = await configs.patch("a", {"metadata": {"labels": {"team": "b"}}}, namespace="default")

        await followed.wait_for(moved)

        assert followed.list() == []


async def test_wait_for_waits_for_a_write_that_is_newer_than_a_pending_discovery_response(
    server: APIServer, client: Client
) -> None:
    server.create(crd("gadgets"))
    server.inject(Refuse(403), resource=CRDS)
    server.inject(Drip(50), path_prefix="/apis/example.com", when=lambda request: not request.resource, times=1)
    async with client.informer(WIDGETS) as widgets:
        await trio.sleep(1)
        server.create(crd())
        made = await written(client)

        with trio.fail_after(60):
            await widgets.wait_for(made)

        assert widgets.get("mine", namespace="default") is not None


async def test_wait_for_rejects_an_object_that_an_informer_which_is_being_entered_never_gets(
    server: APIServer, client: Client
) -> None:
    server.inject(Delay(5), path_prefix="/apis", times=1)
    other = Unstructured(server.create(config("a", namespace="kube-system")))
    configs = client.informer("configmaps", namespace="default")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(configs.__aenter__)
        await quiet()

        with trio.fail_after(60), pytest.raises(InvalidInput, match="is in namespace 'kube-system'"):
            await configs.wait_for(other)
        await configs.aclose()
