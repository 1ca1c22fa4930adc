"""Programs and scenarios of the tests of perturbation testing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import trio

import dynkube
from dynkube.errors import DynkubeError
from dynkube_testing import PerturbationPlan, PerturbedRun
from dynkube_testing._perturbation.perturb import new_server
from dynkube_testing._perturbation.run import Outcome, RunLimits, played

Program = Callable[[dynkube.Client], Awaitable[None]]
Scenario = Callable[[PerturbedRun], Awaitable[None]]


def config(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


def secret(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}, **more}


async def copy(client: dynkube.Client) -> None:
    """Keep a Secret for each ConfigMap, with as many retries as it takes: the program that does everything right."""
    async with client.informer("configmaps", namespace="default") as configs:
        await configs.wait_synced()
        async with configs.events() as events:
            async for _ in events:
                for each in configs.list():
                    await _copied(client, each.name, each.to_dict().get("data", {}))


async def _copied(client: dynkube.Client, name: str, data: dict[str, str]) -> None:
    while True:
        try:
            await client.resource("secrets").apply(secret(name, stringData=data), field_manager="copy", force=True)
            return
        except DynkubeError:
            await trio.sleep(1)


async def two_configs(run: PerturbedRun, program: Program = copy) -> None:
    """The program gets a ConfigMap, and a little later another one."""
    run.start(program)
    await trio.sleep(1)
    run.server.create(config("a", n="1"))
    await run.settle()
    run.server.create(config("b", n="2"))
    await run.settle()


def play(plan: str, scenario: Scenario = two_configs, **limits: Any) -> Outcome:
    """Run a scenario under a plan."""
    return played(scenario, PerturbationPlan.parse(plan), new_server, RunLimits(**limits))


def timeline(outcome: Outcome, who: str = "") -> list[str]:
    """Return the texts of the timeline."""
    return [entry.text for entry in outcome.recording.entries if who in {"", entry.who}]
