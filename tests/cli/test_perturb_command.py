"""``dynkube perturb``: runs a scenario of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from dynkube.cli import main

pytestmark = pytest.mark.real_time

SCENARIO = """
import trio
from dynkube.errors import DynkubeError

async def program(client):
    try:
        await client.resource("configmaps").create(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
        )
    except DynkubeError:
        pass
    await trio.sleep_forever()

async def scenario(run):
    run.start(program)
    await run.settle()

number = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "scenarios.py"
    path.write_text(SCENARIO)
    return str(path)


def test_a_finding_is_printed_and_its_plan_can_be_run_again(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", f"{file}:scenario", "--plans", "5", "--family", "refuse", "--seed", "3"]) == 1
    printed = capsys.readouterr().out
    assert "configmaps default/a is missing" in printed
    plan = printed.partition("plan: ")[2].partition("\n")[0]

    assert main(["perturb", f"{file}:scenario", "--plan", plan, "--seed", "3"]) == 1
    assert f"plan: {plan}" in capsys.readouterr().out


def test_a_command_is_run_in_real_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "commands.py"
    path.write_text("async def scenario(run):\n    run.start_command(['true'])\n    await run.settle(quiet=1)\n")

    for options in ([], ["--real-time"]):
        assert main(["perturb", f"{path}:scenario", *options]) != 0

    virtual, real = capsys.readouterr().err.splitlines()
    assert "the scenario fails without perturbations too" in virtual
    assert "the program ends by itself: exit code 0, without perturbations too" in real


def test_without_findings_the_exit_code_is_0(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", f"{file}:scenario", "--plans", "2", "--family", "crash"]) == 0
    assert "no findings" in capsys.readouterr().out
    assert main(["perturb", f"{file}:scenario", "--plan", "lag(at=9, resource=pods, seconds=1)"]) == 0
    assert capsys.readouterr().out == "nothing found\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["{file}"], "names no function: pass MODULE:NAME or FILE.py:NAME"),
        (["{file}:number"], "has no function 'number'"),
        (["{file}:scenario", "--family", "cash"], "there is no family 'cash'"),
        (["{file}:scenario", "--plan", "crash"], "'crash' is not a perturbation"),
        (["{file}:scenario", "--plan", "refuse(at=1, how=200)"], "how must be 409 or 429"),
        (["{file}:scenario", "--plan", "lag(at=1)"], "only crd, lag, unobserved have a resource, and need it"),
    ],
)
def test_what_cannot_be_run_is_an_error(
    file: str, arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["perturb", *(each.format(file=file) for each in arguments)]) == 1

    assert error in capsys.readouterr().err
