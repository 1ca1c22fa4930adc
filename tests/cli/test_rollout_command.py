"""``dynkube rollout``: steps of a wait, exit codes, writes, arguments."""

from __future__ import annotations

import pytest
import trio

import dynkube
from dynkube import Client
from dynkube.cli import main
from dynkube.cli._rollout import run_history, run_status, run_write
from dynkube.cli._run import exit_code
from dynkube.errors import DeadlineExceeded
from dynkube.workloads import Rollout, RolloutError
from dynkube_testing import APIServer
from tests.workloads.kit import new_replica_set, with_status, workload

DONE = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
OFFLINE = ["--url", "http://127.0.0.1:1"]


def web(client: Client) -> Rollout:
    return client.rollout("deploy", "web")


def entering(server: APIServer) -> Client:
    return dynkube.connect(transport=server.transport())


async def test_status_prints_a_line_for_each_step(
    server: APIServer, client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    obj = await with_status(client, await client.resource("deploy").create(workload(replicas=2)), {"replicas": 2})
    codes: list[int] = []

    async def wait() -> None:
        codes.append(await run_status(entering(server), web, watch=True))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.sleep(1)
        obj = await with_status(client, obj, DONE | {"updatedReplicas": 1})
        await trio.sleep(1)
        await with_status(client, obj, DONE)

    assert codes == [0]
    assert capfd.readouterr().out.splitlines() == [
        'Waiting for deployment "web" rollout to finish: 0 out of 2 new replicas have been updated...',
        'Waiting for deployment "web" rollout to finish: 1 out of 2 new replicas have been updated...',
        'deployment "web" successfully rolled out',
    ]


async def test_a_rollout_that_fails_is_an_error(
    server: APIServer, client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    condition = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
    made = await client.resource("deploy").create(workload(replicas=2))
    await with_status(client, made, {"replicas": 2, "conditions": [condition]})

    with pytest.raises(RolloutError) as caught:
        await run_status(entering(server), web, watch=True)

    assert exit_code(caught.value) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith('error: deployment "web" exceeded its progress deadline')
    assert await run_status(entering(server), web, watch=False) == 1


async def test_a_rollout_that_takes_too_long_is_an_error(
    server: APIServer, client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    await with_status(client, await client.resource("deploy").create(workload(replicas=2)), {})

    with pytest.raises(DeadlineExceeded):
        await run_status(entering(server), web, watch=True, timeout=30)

    assert capfd.readouterr().out.startswith('Waiting for deployment "web" rollout to finish: 0 out of 2')
    assert await run_status(entering(server), web, watch=False) == 0


async def test_history_prints_revisions_or_a_pod_template(
    server: APIServer, client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    made = await client.resource("deploy").create(workload(image="app:2"))
    await new_replica_set(client, made, 1, "app:1", cause="first")
    await new_replica_set(client, made, 2, "app:2")

    await run_history(entering(server), web)
    table = capfd.readouterr().out
    await run_history(entering(server), web, 1)

    assert [line.split()[:2] for line in table.splitlines()[1:]] == [["1", "first"], ["2", "current"]]
    assert "  containers:\n  - image: app:1\n" in capfd.readouterr().out


async def test_writes_print_the_name_and_what_was_done(
    server: APIServer, client: Client, capfd: pytest.CaptureFixture[str]
) -> None:
    await client.resource("deploy").create(workload())

    await run_write(entering(server), web, Rollout.pause, "paused")

    assert capfd.readouterr().out == "deployment.apps/web paused\n"
    with pytest.raises(RolloutError) as caught:
        await run_write(entering(server), web, Rollout.restart, "restarted")
    exit_code(caught.value)
    assert "run 'dynkube rollout resume' first" in capfd.readouterr().err


@pytest.mark.real_time
async def test_the_commands_run(capfd: pytest.CaptureFixture[str]) -> None:
    async with APIServer() as server, server.serve() as endpoint:
        server.create(workload() | {"metadata": {"name": "web", "namespace": "default"}})
        for words in (["pause", "deploy/web"], ["resume", "deploy", "web"], ["restart", "deploy/web", "--dry-run"]):
            assert await trio.to_thread.run_sync(main, ["rollout", *words, "--url", endpoint.url]) == 0
        code = await trio.to_thread.run_sync(main, ["rollout", "undo", "deploy/web", "--url", endpoint.url])

    out, err = capfd.readouterr()
    names = [line.partition(" ")[2] for line in out.splitlines()]
    assert names == ["paused", "resumed", "restarted (dry run)"]
    assert (code, err) == (1, "error: Deployment 'web' has no revision to go back to: it has no history\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["status", "deploy"], "'deploy' has no name: pass KIND/NAME, like deploy/web"),
        (["pause", "deploy/web", "web"], "'deploy/web web' is not an object: pass KIND/NAME, like deploy/web"),
        (["restart", "deploy/"], "'deploy/' is not an object"),
        (["resume", "deploy/web", "-n", ""], "-n is empty"),
        (["status", "deploy/web", "--timeout", "5x"], "--timeout '5x' is not a duration: pass for example 30s"),
        (["undo", "deploy/web", "--to-revision=-1"], "--to-revision must be an integer >= 0, not -1"),
    ],
)
def test_invalid_arguments_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rollout", *arguments, *OFFLINE]) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")
