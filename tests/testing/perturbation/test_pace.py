"""Programs that repeat a request without end: because of what a perturbation hides from them, or because of a bug."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube.controllers import Context, Controller, ObjectKey
from dynkube.errors import DynkubeError
from dynkube_testing import PerturbedRun
from dynkube_testing._perturbation.oracles import Reference, problems
from tests.testing.perturbation.kit import Scenario, play, secret
from tests.testing.perturbation.zoo.kit import configmap, custom, definition, running, tried

FLEETS = "fleets.example.com"


async def apply_child(ctx: Context, key: ObjectKey) -> None:
    """Apply a child while the cache has the owner, whatever the server knows."""
    if (fleet := ctx.get()) is not None:
        owner = {
            "apiVersion": "example.com/v1",
            "kind": "Fleet",
            "name": key.name,
            "uid": fleet.uid,
            "controller": True,
        }
        child = configmap({"name": key.name, "namespace": "default", "ownerReferences": [owner]})
        await ctx.client.resource("configmaps").apply(child, field_manager="fleets")


async def owner_is_deleted(run: PerturbedRun) -> None:
    run.server.create(definition("Fleet"))
    run.start(running(Controller(FLEETS, apply_child, owns=["configmaps"])))
    run.server.create(custom("Fleet", "a"))
    await run.settle()
    await tried(lambda: run.server.delete(FLEETS, "a"))
    await run.settle()


async def written_once(run: PerturbedRun) -> None:
    run.start(try_without_waiting)
    await run.settle()


async def try_without_waiting(client: dynkube.Client) -> None:
    """Write an object; after an error write it for ever."""
    failed = False
    while True:
        try:
            await client.resource("secrets").apply(secret("s"), field_manager="hot")
        except DynkubeError:
            failed = True
        if not failed:
            await trio.sleep_forever()


def wrong(plan: str, scenario: Scenario) -> list[str]:
    reference = Reference.of([play("nothing", scenario)])
    return [problem.oracle for problem in problems(play(plan, scenario, requests=1000), reference)]


@pytest.mark.parametrize("family", ["unobserved", "lag"])
@pytest.mark.parametrize("seconds", [0, 5, 60])
def test_a_controller_may_restore_children_until_it_sees_that_their_owner_is_gone(family: str, seconds: int) -> None:
    assert wrong(f"{family}(at=1, resource={FLEETS}, seconds={seconds})", owner_is_deleted) == []


def test_a_program_that_repeats_a_request_when_nothing_is_perturbed_any_more_is_found() -> None:
    assert wrong("refuse(at=1, how=500)", written_once) == ["settling"]
