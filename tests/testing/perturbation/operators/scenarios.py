"""Scenarios of operators by other authors' libraries, each with a bug and without it."""

from __future__ import annotations

import sys
from pathlib import Path

from dynkube_testing import PerturbedRun
from tests.testing.perturbation.kit import Scenario, config

HERE = Path(__file__).parent
GO_PROGRAM = HERE / "controller_runtime"


def kopf(ships: str) -> Scenario:
    """Return the scenario of the operator on kopf; ``ships`` are ``generated`` (the bug) or ``named``."""
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "--namespace=default", str(HERE / "kopf_fleet.py")]
    return _growing(command, SHIPS=ships)


def controller_runtime(ships: str, program: Path) -> Scenario:
    """Return the scenario of the operator on controller-runtime, which was built as ``program``."""
    return _growing([str(program), f"-ships={ships}"])


def _growing(command: list[str], **env: str) -> Scenario:
    async def growing(run: PerturbedRun) -> None:
        run.start_command(command, env=env)
        fleet = config("a", size="2")
        run.server.create({**fleet, "metadata": {**fleet["metadata"], "labels": {"fleet": "yes"}}})
        await run.settle()

    return growing
