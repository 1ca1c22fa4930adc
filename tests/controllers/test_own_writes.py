"""No key is reconciled before the caches show its own writes, as in controller-runtime's consistency tests."""

from __future__ import annotations

from random import Random

import pytest
import trio

import dynkube
from dynkube.controllers import Context, Controller, ObjectKey, Requeue, Watch
from dynkube.informers._pending_writes import PendingWrites
from dynkube_testing import APIServer, Cut, Delay, Disconnect, Lag, Refuse
from tests.controllers.kit import quiet, running
from tests.informers.kit import WIDGETS, crd, widget

LAG = 10.0
SEEDS_A_TEST = 20


def pod(owner: str) -> dict[str, object]:
    """A dependent whose name the server generates, as those of a ReplicaSet."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": f"{owner}-"}}


async def keep_replicas(ctx: Context, key: ObjectKey) -> Requeue | None:
    """Create or delete one dependent at a time until the number is as wanted, trusting the cache."""
    obj = ctx.get()
    if obj is None:
        return None
    present, wanted = ctx.owned(), obj["spec"]["replicas"]
    if len(present) < wanted:
        await ctx.create(pod(key.name))
    elif len(present) > wanted:
        await ctx.delete(present[0])
    return Requeue(after=0.5) if len(present) != wanted else None


async def creates_and_deletes(seed: int) -> tuple[int, int, int]:
    """Run a random workload; return the replicas wanted last, created and deleted."""
    random = Random(seed)
    wanted = random.randint(1, 4)
    async with APIServer() as server, dynkube.connect(transport=server.transport()) as client:
        server.create(crd())
        server.inject(Lag(LAG * random.random() * 2), verb="watch")
        server.inject(Delay(random.random()), chance=0.5)
        server.create(widget("a", replicas=wanted))
        async with running(client, Controller(WIDGETS, keep_replicas, owns=["configmaps"], concurrency=2)):
            for _ in range(random.randint(0, 3)):
                await trio.sleep(random.random() * 20)
                server.update(widget("a", replicas=wanted, touched=random.random()))
            await quiet(1000)
            writes = [each.verb for each in server.audit if each.resource and each.resource.resource == "configmaps"]
            left = len(server.list("configmaps"))
    assert left == wanted
    return wanted, writes.count("create"), writes.count("delete")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run as many workloads as ``--seeds`` says, in tests that can run in parallel."""
    if "first" in metafunc.fixturenames:
        metafunc.parametrize("first", range(0, metafunc.config.getoption("--seeds"), SEEDS_A_TEST))


async def test_a_lagging_cache_causes_no_excess_replicas(first: int) -> None:
    for seed in range(first, first + SEEDS_A_TEST):
        wanted, creates, deletes = await creates_and_deletes(seed)
        assert (creates, deletes) == (wanted, 0), f"seed {seed}"


async def test_without_waiting_for_own_writes_the_same_controller_creates_excess_replicas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PendingWrites, "expect", lambda self, obj, seen: False)

    counts = [await creates_and_deletes(seed) for seed in range(6)]

    assert sum(creates > wanted for wanted, creates, _ in counts) > 3


async def test_wait_for_get_waits_for_the_version_that_was_written(server: APIServer, client: dynkube.Client) -> None:
    sizes: list[object] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        obj = ctx.get()
        assert obj is not None
        sizes.append(obj["spec"].get("size"))
        if obj["spec"].get("size") is None:
            await ctx.patch(obj, {"spec": {"size": 1}})

    server.create(crd())
    server.create(widget("a"))
    server.inject(Lag(LAG), verb="watch")
    async with running(client, Controller(WIDGETS, reconcile, resync=1)):
        await quiet(60)

    assert sizes[:1] == [None]
    assert set(sizes[1:]) == {1}


async def test_wait_for_list_waits_for_a_dependent_that_was_created(server: APIServer, client: dynkube.Client) -> None:
    observed: list[int] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        observed.append(len(ctx.owned()))
        if not ctx.owned():
            await ctx.create(pod("a"))

    server.create(crd())
    server.create(widget("a"))
    server.inject(Lag(LAG), verb="watch")
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"], resync=1)):
        await quiet(60)

    assert observed[:1] == [0]
    assert set(observed[1:]) == {1}
    assert len(server.list("configmaps")) == 1


async def test_wait_for_get_waits_for_pending_deletes_by_uid(server: APIServer, client: dynkube.Client) -> None:
    observed: list[str] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        found = ctx.get("child", resource="configmaps")
        observed.append("" if found is None else found.uid)
        if found is not None and found.uid == first:
            await ctx.delete(found)
            await ctx.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}})

    server.create(crd())
    first = server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}})["metadata"]["uid"]
    server.create(widget("a"))
    server.inject(Lag(LAG), verb="watch")
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"], resync=1)):
        await quiet(60)

    second = server.get("configmaps", "child")["metadata"]["uid"]
    assert observed[0] == first
    assert set(observed[1:]) == {second}


async def test_only_the_key_that_deleted_objects_waits_until_all_are_gone(
    server: APIServer, client: dynkube.Client
) -> None:
    seen: dict[str, list[tuple[float, int]]] = {"deletes": [], "reads": []}

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        found = [obj for each in ("configmaps", "secrets") if (obj := ctx.get("child", resource=each)) is not None]
        seen[key.name].append((trio.current_time(), len(found)))
        for obj in found if key.name == "deletes" else ():
            await ctx.delete(obj)

    server.create(crd())
    children = [{"apiVersion": "v1", "kind": kind, "metadata": {"name": "child"}} for kind in ("ConfigMap", "Secret")]
    for obj in (*children, *map(widget, seen)):
        server.create(obj)
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps", "secrets"], resync=1)):
        server.inject(Lag(LAG / 2), verb="watch", resource="configmaps")
        server.inject(Lag(LAG), verb="watch", resource="secrets")
        await quiet(4 * LAG)

    (began, both), *later = seen["deletes"]
    assert (both, {count for _, count in later}) == (2, {0})
    assert later[0][0] - began >= LAG
    assert 1 in [count for _, count in seen["reads"]]


async def test_a_pending_write_of_one_key_delays_no_other_key(server: APIServer, client: dynkube.Client) -> None:
    calls: list[tuple[str, float]] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        calls.append((key.name, trio.current_time()))
        obj = ctx.get()
        if obj is not None and key.name == "writes" and "size" not in obj["spec"]:
            await ctx.patch(obj, {"spec": {"size": 1}})

    server.create(crd())
    server.create(widget("writes"))
    server.create(widget("reads"))
    server.inject(Lag(LAG), verb="watch")
    async with running(client, Controller(WIDGETS, reconcile, resync=1)):
        await quiet(3 * LAG)
        started = min(at for _, at in calls)
        assert all(at - started >= LAG for name, at in calls[2:] if name == "writes")
        assert sum(name == "reads" for name, at in calls if at - started < LAG) >= 8


async def test_the_status_lists_the_keys_that_wait_for_a_cache(server: APIServer, client: dynkube.Client) -> None:
    server.create(crd())
    server.create(widget("a", replicas=1))
    server.inject(Lag(LAG), verb="watch", resource="configmaps")
    controller = Controller(WIDGETS, keep_replicas, owns=["configmaps"])
    async with running(client, controller):
        await quiet(LAG + 5)  # the initial objects arrive late as well
        assert list(controller.status().waiting_for_cache) == [ObjectKey("default", "a")]
        await quiet(20)
        assert controller.status().waiting_for_cache == {}


@pytest.mark.parametrize(
    "selector",
    [{"label_selector": "selected=yes"}, {"field_selector": "metadata.name=a"}],
    ids=["labels", "fields"],
)
async def test_a_write_that_the_informer_never_receives_is_not_waited_for(
    server: APIServer, client: dynkube.Client, selector: dict[str, str]
) -> None:
    calls: list[float] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        calls.append(trio.current_time())
        await ctx.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "not-selected-"}})

    server.create(crd())
    server.create(widget("a"))
    watch = Watch("configmaps", **selector)  # type: ignore[arg-type]
    async with running(client, Controller(WIDGETS, reconcile, watches=[watch])):
        await quiet(1)
        server.update(widget("a", size=2))
        await quiet(1)

    assert len(calls) == 2


async def test_a_key_continues_when_the_resource_that_it_wrote_is_removed(
    server: APIServer, client: dynkube.Client
) -> None:
    calls: list[float] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> Requeue:
        calls.append(trio.current_time())
        if len(calls) == 1:
            await ctx.create({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}})
        return Requeue(after=1)

    server.create(crd())
    server.create(crd("gadgets"))
    server.create(widget("a"))
    server.inject(Lag(LAG), verb="watch", resource="gadgets.v1.example.com")
    async with running(client, Controller(WIDGETS, reconcile, owns=["gadgets.v1.example.com"])):
        await quiet(LAG + 5)
        assert len(calls) == 1
        server.delete("crds", "gadgets.example.com")
        await quiet(5)

    assert len(calls) > 3


@pytest.mark.parametrize("name", [{"name": "child"}, {"generateName": "child-"}], ids=["named", "generated"])
async def test_an_object_whose_create_had_no_response_is_seen_before_the_next_reconcile(
    server: APIServer, client: dynkube.Client, name: dict[str, str]
) -> None:
    observed: list[int] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        observed.append(len(ctx.owned()))
        if not ctx.owned():
            await ctx.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": name})

    server.create(crd())
    server.create(widget("a"))
    server.inject(Lag(LAG), verb="watch")
    server.inject(Cut("reset"), verb="create", resource="configmaps", times=1)
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"])):
        await quiet(300)

    assert observed[:2] == [0, 1]
    assert len(server.list("configmaps")) == 1


async def test_an_object_that_was_not_created_is_not_waited_for(server: APIServer, client: dynkube.Client) -> None:
    calls: list[float] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        calls.append(trio.current_time())
        await ctx.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}})

    server.create(crd())
    server.create(widget("a"))
    server.inject(Lag(100), verb="watch", resource="configmaps")
    server.inject(Disconnect(), verb="create", resource="configmaps", times=1)
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"])):
        await quiet(120)

    assert calls[1] - calls[0] < 1
    assert len(server.list("configmaps")) == 1


async def test_a_key_continues_when_an_older_backup_is_restored(server: APIServer, client: dynkube.Client) -> None:
    calls: list[float] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> Requeue:
        calls.append(trio.current_time())
        if len(calls) == 2:
            await ctx.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}})
        return Requeue(after=5)

    server.create(crd())
    server.create(widget("a"))
    backup = server.snapshot()
    for number in range(100):  # so that the server never reaches the version of the write again
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"later-{number}"}})
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"])):
        await quiet(1)
        server.end_watches("configmaps", how="silent")
        await quiet(10)
        assert len(calls) == 2
        server.restore(backup, rewind=True)
        await quiet(300)

    assert len(calls) > 3


async def test_a_delete_without_a_response_is_seen_before_the_next_reconcile(
    server: APIServer, client: dynkube.Client
) -> None:
    observed: list[bool] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        found = ctx.get("child", resource="configmaps")
        observed.append(found is not None)
        if found is not None:
            await ctx.delete(found)

    server.create(crd())
    server.create(widget("a"))
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}})
    server.inject(Lag(LAG), verb="watch")
    server.inject(Cut("reset"), verb="delete", resource="configmaps", times=1)
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"])):
        await quiet(300)

    assert observed == [True, False]


async def test_an_object_that_was_applied_without_a_response_and_then_deleted_is_not_seen_any_more(
    server: APIServer, client: dynkube.Client
) -> None:
    observed: list[bool] = []
    child = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}}

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        observed.append(ctx.get("child", resource="configmaps") is not None)
        if observed == [True]:
            try:
                await ctx.apply({**child, "data": {"a": "1"}})
            finally:
                server.delete("configmaps", "child")

    server.create(crd())
    server.create(widget("a"))
    server.create(child)
    server.inject(Lag(LAG), verb="watch")
    server.inject(Cut("reset"), verb="patch", resource="configmaps", times=1)
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"])):
        await quiet(300)

    assert observed[:2] == [True, False]


async def test_a_key_is_not_reconciled_while_a_write_without_a_response_cannot_be_verified(
    server: APIServer, client: dynkube.Client
) -> None:
    calls: list[float] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        calls.append(trio.current_time())
        await ctx.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}})

    server.create(crd())
    server.create(widget("a"))
    server.inject(Cut("reset"), verb="patch", resource="configmaps", times=1)
    server.inject(Refuse(403), verb="get", resource="configmaps", duration=60)
    controller = Controller(WIDGETS, reconcile, owns=["configmaps"])
    async with running(client, controller):
        await quiet(50)
        assert len(calls) == 1
        assert controller.status().failures[0].error.startswith("Forbidden")
        await quiet(200)

    assert len(calls) == 2


async def test_a_write_that_no_cache_can_show_is_not_read_back(server: APIServer, client: dynkube.Client) -> None:
    calls: list[float] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        calls.append(trio.current_time())
        await ctx.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "child"}})

    server.create(crd())
    server.create(widget("a"))
    server.inject(Cut("reset"), verb="patch", resource="secrets", times=1)
    server.inject(Refuse(403), verb="get", resource="secrets")  # a role that only writes
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"])):
        await quiet(50)

    assert len(calls) == 2


async def test_a_create_without_a_response_is_not_waited_for_once_its_resource_is_removed(
    server: APIServer, client: dynkube.Client
) -> None:
    calls: list[float] = []

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        calls.append(trio.current_time())
        if len(calls) == 1:
            gadget = {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"generateName": "child-"}}
            try:
                await ctx.create(gadget)
            finally:
                server.delete("crds", "gadgets.example.com")

    for plural in ("widgets", "gadgets"):
        server.create(crd(plural))
    server.create(widget("a"))
    async with running(client, Controller(WIDGETS, reconcile, owns=["gadgets.v1.example.com"])):
        server.inject(Cut("reset"), verb="create", resource="gadgets.v1.example.com", times=1)
        await quiet(50)

    assert len(calls) > 1


async def test_two_keys_that_delete_the_same_object_both_wait_until_it_is_gone(
    server: APIServer, client: dynkube.Client
) -> None:
    observed: dict[str, list[bool]] = {"a": [], "b": []}

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        found = ctx.get("child", resource="configmaps")
        observed[key.name].append(found is not None)
        if found is not None:
            await ctx.delete(found)

    server.create(crd())
    for name in observed:
        server.create(widget(name))
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}})
    server.inject(Lag(LAG), verb="watch")
    async with running(client, Controller(WIDGETS, reconcile, owns=["configmaps"], resync=1)):
        await quiet(60)

    for reads in observed.values():
        assert reads[0] is True
        assert set(reads[1:]) == {False}


async def test_an_object_whose_last_finalizer_was_removed_is_cleaned_up_once_while_the_watch_lags(
    server: APIServer, client: dynkube.Client
) -> None:
    cleaned: list[float] = []

    async def clean_up(ctx: Context, key: ObjectKey) -> None:
        cleaned.append(trio.current_time())
        await ctx.patch(ctx.get(), {"spec": {"cleaned": True}})  # type: ignore[arg-type]

    async def reconcile(ctx: Context, key: ObjectKey) -> None:
        pass

    server.create(crd())
    server.create(widget("a"))
    server.inject(Lag(LAG), verb="watch")
    async with running(client, Controller(WIDGETS, reconcile, finalizer=("example.com/clean", clean_up), resync=1)):
        await quiet(3 * LAG)
        server.delete(WIDGETS, "a")
        await quiet(5 * LAG)

    assert len(cleaned) == 1
    assert server.list(WIDGETS) == []
