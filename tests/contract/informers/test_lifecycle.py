"""Failure mode 9, P7 and P8: reads and states of an informer while its CRD is changed, deleted and created again."""

from __future__ import annotations

from contextlib import aclosing

import pytest
import trio

from dynkube import ABSENT, LIVE, Client, State, Unstructured
from tests.contract.cluster import Cluster
from tests.contract.informers.kit import Recorder, put_widget, resource, wait_live
from tests.contract.objects import CRDS, version


@pytest.mark.scenario("F9")
async def test_9_no_event_is_lost_when_the_spec_of_a_crd_changes(cluster: Cluster, client: Client) -> None:
    await cluster.create_crd()
    await put_widget(cluster, "before")
    recorder = Recorder()
    async with client.informer(resource(cluster)) as widgets:
        recorder.attach(widgets)
        assert await recorder.take(1) == ["add/before"]

        for number, others in enumerate((["v2"], [], ["v2", "v3"])):
            versions = [version(), *(version(name, storage=False) for name in others)]
            await cluster.patch(CRDS, f"widgets.{cluster.group}", {"spec": {"versions": versions}})
            await put_widget(cluster, f"after-{number}")

        assert await recorder.take(3) == ["add/after-0", "add/after-1", "add/after-2"]
        await wait_live(widgets)


@pytest.mark.scenario("P7", "P1")
@pytest.mark.reads_bodies
async def test_reads_are_empty_as_soon_as_the_state_is_absent(cluster: Cluster, client: Client) -> None:
    await cluster.create_crd()
    for number in range(30):
        await put_widget(cluster, f"w{number}", host="x")
    recorder, checked, wrong = Recorder(), list[str](), list[State]()
    async with client.informer(resource(cluster), indexes={"host": "{.spec.host}"}) as widgets:
        recorder.attach(widgets)
        await recorder.take(30)

        def reads() -> list[Unstructured]:
            return [*widgets.list(), *widgets.by_index("host", "x")]

        async def check_reads() -> None:
            async with aclosing(widgets.states()) as states:
                async for state in states:  # until it is cancelled
                    checked.append(state.phase)
                    if state.phase is ABSENT and reads():
                        wrong.append(state)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(check_reads)
            await cluster.delete_crd()
            await widgets.wait_state(ABSENT)
            assert reads() == []
            assert sorted(await recorder.take(30)) == sorted(f"delete/w{number}" for number in range(30))
            nursery.cancel_scope.cancel()

    assert ABSENT in checked
    assert wrong == []


@pytest.mark.scenario("P8", "F32")
@pytest.mark.one_collection("states of a set have more messages")
async def test_the_states_of_a_new_resource_are_absent_syncing_and_live(cluster: Cluster, client: Client) -> None:
    seen: list[str] = []

    async def note() -> None:
        async with aclosing(widgets.states()) as states:
            seen.extend([f"{state.phase} {state.reason}" async for state in states])

    async with trio.open_nursery() as nursery, client.informer(resource(cluster)) as widgets:
        nursery.start_soon(note)
        await widgets.wait_state(ABSENT)
        await cluster.create(CRDS, cluster.crd())
        await widgets.wait_state(LIVE)

    known = [state for state in seen if not state.startswith("UNKNOWN")]
    assert [state for state in known if state != "ABSENT NotEstablished"] == [
        "ABSENT CRDNotFound",
        "SYNCING Listing",
        "LIVE Watching",
        "STOPPED Closed",
    ]


@pytest.mark.scenario("G9", "P6")
async def test_has_synced_stays_true_while_the_crd_is_deleted_and_recreated(cluster: Cluster, client: Client) -> None:
    async with client.informer(resource(cluster)) as widgets:
        await widgets.wait_synced()
        for _ in range(2):
            await cluster.create_crd()
            await wait_live(widgets)
            assert widgets.has_synced
            await cluster.delete_crd()
            await widgets.wait_state(ABSENT)
            assert widgets.has_synced
