"""What users do with the objects of correct controllers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import trio

from dynkube_testing import PerturbedRun
from tests.testing.perturbation.zoo.kit import Program, custom, definition, tried

Scenario: TypeAlias = Callable[[PerturbedRun], Awaitable[None]]


async def create(run: PerturbedRun, obj: Mapping[str, Any]) -> None:
    """Create an object."""
    await tried(lambda: run.server.create(obj))


async def change(
    run: PerturbedRun, resource: str, name: str, namespace: str | None = "default", **fields: object
) -> None:
    """Replace fields of an object, such as its spec."""
    await tried(lambda: run.server.update({**run.server.get(resource, name, namespace), **fields}))


async def delete(run: PerturbedRun, resource: str, name: str, namespace: str | None = "default") -> None:
    """Delete an object."""
    await tried(lambda: run.server.delete(resource, name, namespace))


def cluster_scoped(kind: str) -> dict[str, Any]:
    """The CRD of a kind whose objects have no namespace."""
    found = definition(kind)
    return {**found, "spec": {**found["spec"], "scope": "Cluster"}}


def sized(program: Program, kind: str = "Fleet") -> Scenario:
    """Return a scenario: two objects with ``spec.size`` are created, one grows and shrinks, the other is deleted."""
    resource = f"{kind.lower()}s.example.com"

    async def scenario(run: PerturbedRun) -> None:
        run.server.create(definition(kind))
        run.start(program)
        for name in ("a", "b"):
            await create(run, custom(kind, name, size=2))
        await trio.sleep(2)
        await change(run, resource, "a", spec={"size": 3})
        await run.settle()
        await change(run, resource, "a", spec={"size": 1})
        await trio.sleep(2)
        await delete(run, resource, "b")
        await run.settle()

    return scenario
