"""What the controllers of the zoo share: a description of a bug, its custom resources, and how controllers are run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any, Generic, TypeAlias, TypeVar

import trio

import dynkube
from dynkube.controllers import Controller, LeaderElection, run
from dynkube.errors import NoMatch, NotFound
from dynkube_testing import FAMILIES, PerturbedRun

Program: TypeAlias = Callable[[dynkube.Client], Awaitable[None]]
P = TypeVar("P")

_START = datetime(2026, 11, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Bug(Generic[P]):
    """A published bug: a program with it, the same program without it, and a scenario in which they differ.

    Attributes:
        issue: the address of the issue or pull request.
        plan: a plan that finds it.
        scenario: the workload; it starts the program that is passed.
        buggy: the program with the bug, or a function that returns instances of it.
        fixed: the program without it.
        families: of the perturbations after which the fixed program has to restore everything; all by default.
    """

    issue: str
    plan: str
    scenario: Callable[[PerturbedRun, P], Awaitable[None]]
    buggy: P
    fixed: P
    families: Sequence[str] = FAMILIES

    async def with_bug(self, run: PerturbedRun) -> None:
        """Play the scenario with the buggy program."""
        await self.scenario(run, self.buggy)

    async def without_bug(self, run: PerturbedRun) -> None:
        """Play the scenario with the fixed program."""
        await self.scenario(run, self.fixed)


async def tried(change: Callable[[], object]) -> None:
    """Make a change as users do, who try again for some minutes if the resource is not served."""
    for _ in range(200):
        try:
            change()
        except (NoMatch, NotFound):
            await trio.sleep(1)
        else:
            return
    change()


def running(*controllers: Controller, election: LeaderElection | None = None) -> Program:
    """Return a program that runs controllers; it ends without a grace period, as a crash does."""

    async def program(client: dynkube.Client) -> None:
        await run(
            client,
            *controllers,
            election=election,
            events=False,
            shutdown_timeout=0,
            now=lambda: _START,
            random=Random(0),
        )

    return program


def definition(kind: str) -> dict[str, Any]:
    """A CRD in ``example.com`` for a kind with arbitrary content and a status subresource."""
    plural = f"{kind.lower()}s"
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def custom(kind: str, name: str, **spec: object) -> dict[str, Any]:
    """An object of a kind that :func:`definition` defines."""
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def configmap(metadata: dict[str, Any], **data: str) -> dict[str, Any]:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def pod(name: str, *, node: str | None = None, **metadata: object) -> dict[str, Any]:
    """A pod, which no kubelet runs."""
    spec = {"containers": [{"name": "main", "image": "main"}], "nodeName": node}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}
