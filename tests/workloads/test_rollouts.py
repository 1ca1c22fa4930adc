"""Rollouts on the embedded server: waiting, custom resources, and what cannot be done."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import trio

from dynkube import Client
from dynkube.errors import DeadlineExceeded, InvalidInput, NotFound
from dynkube.workloads import Rollout, RolloutError, RolloutPhase, RolloutStatus
from dynkube_testing import APIServer
from tests.informers.kit import crd, widget
from tests.workloads.kit import new_replica_set, owned_by, with_status, workload

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
DONE = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
HALF = {**DONE, "updatedReplicas": 1}
QUOTA = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "exceeded quota"}
LATE = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}


async def start(client: Client) -> Callable[..., Any]:
    """Create a Deployment of two replicas, and return a function that writes its status."""
    created = await client.resource("deploy").create(workload(replicas=2))
    return partial(with_status, client, created)


async def test_waiting_shows_each_step_and_ends_with_the_rollout(client: Client) -> None:
    write, shown = await start(client), list[RolloutStatus]()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(client.rollout("deploy", "web").wait, on_status=shown.append))
        for number, status in enumerate([HALF, HALF, DONE]):
            await trio.sleep(10)
            await write({**status, "collisionCount": number})  # HALF comes twice, and is shown once

    assert [(each.phase.value, each.progress) for each in shown] == [
        ("progressing", 0.0),
        ("progressing", 0.5),
        ("complete", 1.0),
    ]
    assert trio.current_time() == 30


async def test_reasons_of_the_rollout_before_are_left_out(client: Client) -> None:
    write, rollout = await start(client), client.rollout("deploy", "web")
    await write({**HALF, "conditions": [LATE]})
    assert (await rollout.status()).reasons == ("ProgressDeadlineExceeded",)

    await rollout.restart()

    status = await rollout.status()
    assert (status.phase, status.reasons) == (RolloutPhase.PROGRESSING, ())


async def test_a_wait_that_is_too_short_says_what_was_missing(client: Client) -> None:
    write = await start(client)
    await write({**HALF, "conditions": [QUOTA]})

    with pytest.raises(DeadlineExceeded) as caught:
        await client.rollout("deploy", "web").wait(timeout=5)

    assert str(caught.value) == (
        "deploy 'web' was not complete within 5 s; last seen: Waiting for deployment \"web\" rollout to finish: "
        "1 out of 2 new replicas have been updated...; FailedCreate: exceeded quota"
    )


async def test_a_rollout_that_fails_ends_the_wait(client: Client) -> None:
    write = await start(client)
    await write({**HALF, "conditions": [LATE]})

    with pytest.raises(RolloutError, match='deployment "web" exceeded its progress deadline') as caught:
        await client.rollout("deploy", "web").wait()

    assert caught.value.status is not None
    assert caught.value.status.phase is RolloutPhase.FAILED


@pytest.mark.parametrize("again", [False, True])
async def test_a_deleted_object_ends_the_wait_even_if_another_takes_its_name(client: Client, again: bool) -> None:
    await start(client)
    deployments = client.resource("deploy")

    async def replace() -> None:
        await trio.sleep(1)
        await deployments.delete("web")
        if again:
            await deployments.create(workload(replicas=0))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(replace)
        with pytest.raises(RolloutError, match="deploy 'web' was deleted during its rollout"):
            await client.rollout("deploy", "web").wait()


async def test_an_object_that_does_not_exist_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound, match="web"):
        await client.rollout("deploy", "web").wait()


async def test_an_error_in_on_status_ends_the_wait(client: Client) -> None:
    await start(client)

    with pytest.raises(ZeroDivisionError):
        await client.rollout("deploy", "web").wait(on_status=lambda status: 1 // 0)


async def test_a_restart_sets_the_time_and_nothing_else(client: Client) -> None:
    await start(client)

    restarted = await client.rollout("deploy", "web").restart()

    before, after = workload(replicas=2)["spec"]["template"], restarted["spec"]["template"]
    (stamp,) = after["metadata"]["annotations"].items()
    assert stamp[0] == "kubectl.kubernetes.io/restartedAt"
    assert stamp[1].endswith("Z")
    assert after["metadata"]["labels"] == before["metadata"]["labels"]


async def test_a_second_restart_within_a_second_says_that_nothing_would_change(client: Client) -> None:
    await start(client)
    moments = iter([NOON, NOON + timedelta(milliseconds=900), NOON + timedelta(seconds=1)])
    rollout = Rollout(client._api, "deploy", "web", None, lambda: next(moments))
    first = await rollout.restart()

    with pytest.raises(RolloutError, match="was not restarted, as nothing would change"):
        await rollout.restart()

    assert (await rollout.restart()).generation == first.generation + 1


async def test_a_paused_deployment_is_neither_restarted_nor_rolled_back(client: Client) -> None:
    created = await client.resource("deploy").create(workload(replicas=2))
    for number in (1, 2):
        await new_replica_set(client, created, number, f"app:{number}")
    rollout = client.rollout("deploy", "web")
    paused = await rollout.pause()

    for change in (rollout.restart, rollout.undo):
        with pytest.raises(RolloutError, match="deploy 'web' is paused"):
            await change()
    assert (await rollout.pause()).resource_version == paused.resource_version
    assert (await rollout.resume())["spec"].get("paused") in (None, False)


async def test_a_revision_that_does_not_exist_is_an_error_that_names_the_others(client: Client) -> None:
    created = await client.resource("deploy").create(workload())
    rollout = client.rollout("deploy", "web")
    with pytest.raises(RolloutError, match="has no revision to go back to: it has no history"):
        await rollout.undo()
    for number in (1, 4):
        await new_replica_set(client, created, number, "app:1")

    with pytest.raises(RolloutError, match="Deployment 'web' has no revision 3: it has 1, 4"):
        await rollout.undo(3)
    with pytest.raises(InvalidInput, match="to_revision is 0"):
        await rollout.undo(0)


@pytest.mark.parametrize(
    ("status", "phase", "message"),
    [
        ({}, "unknown", 'Widget "a" has none of the conditions Ready, '),
        ({"conditions": [{"type": "Ready", "status": "True"}]}, "complete", "has the condition Ready=True"),
        (
            {"conditions": [{"type": "Ready", "status": "False", "reason": "NoDisk", "message": "full"}]},
            "progressing",
            "has the condition Ready=False: NoDisk: full",
        ),
        ({"conditions": [{"type": "Stalled", "status": "True", "reason": "Bad"}]}, "failed", "Stalled=True: Bad"),
        ({"observedGeneration": 0}, "progressing", "to be observed"),
        ({"observedGeneration": 1}, "complete", "its last update was observed"),
        (
            {"conditions": [{"type": "Ready", "status": "True", "observedGeneration": 0}]},
            "progressing",
            "of an older generation",
        ),
        (
            {"conditions": [{"type": "Stalled", "status": "True", "observedGeneration": 0}]},
            "unknown",
            "has none of the conditions",
        ),
        (
            {"conditions": [{"type": "Available", "status": "True"}, {"type": "Healthy", "status": "False"}]},
            "progressing",
            "has the condition Healthy=False",
        ),
        ({"conditions": [{"type": "Reconciling", "status": "True", "reason": "Busy"}]}, "progressing", "=True: Busy"),
        ({"observedGeneration": "0"}, "progressing", "to be observed"),
    ],
)
async def test_a_custom_resource_is_judged_by_its_conditions(
    server: APIServer, client: Client, status: dict[str, Any], phase: str, message: str
) -> None:
    server.create(crd())
    server.create({**widget("a"), "status": status})

    found = await client.rollout("widgets", "a").status()

    assert found.phase == phase
    assert message in found.message


async def test_what_a_custom_resource_cannot_do_is_an_error_that_names_the_workloads_it_owns(
    server: APIServer, client: Client
) -> None:
    server.create(crd())
    owner = await client.resource("widgets").create(widget("a"))
    server.create(owned_by(owner, {**workload(), "metadata": {"name": "web", "namespace": "default"}}))
    rollout = client.rollout("widgets", "a")

    for method in (rollout.restart, rollout.undo, rollout.history, rollout.pause, rollout.resume):
        with pytest.raises(RolloutError, match=r"client\.rollout\(\) with what it owns, deployments/web"):
            await method()


async def test_a_custom_resource_with_a_pod_template_is_restarted_and_paused(server: APIServer, client: Client) -> None:
    server.create(crd())
    spec = {"paused": False, "template": workload()["spec"]["template"]}
    server.create({**widget("a"), "spec": spec})
    rollout = client.rollout("widgets", "a")

    restarted = await rollout.restart()
    paused = await rollout.pause()

    assert list(restarted["spec"]["template"]["metadata"]["annotations"]) == ["kubectl.kubernetes.io/restartedAt"]
    assert paused["spec"]["paused"] is True
