"""``dynkube serve --stats``: counts of watches, printed at the end."""

from __future__ import annotations

import signal

import httpx2
import pytest

from tests.cli.processes import dynkube

pytestmark = pytest.mark.real_time


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_the_watches_of_each_client_are_counted(number: signal.Signals) -> None:
    async with dynkube("serve", "--stats") as serve, httpx2.AsyncClient(headers={"User-Agent": "me\t1"}) as client:
        url = (await serve.line()).removeprefix("Kubernetes API at ")
        await serve.line()
        for _ in range(2):
            async with client.stream("GET", f"{url}/api/v1/pods?watch=1&timeoutSeconds=1") as watch:
                await watch.aread()
        async with client.stream("GET", f"{url}/api/v1/pods?watch=1"):
            ended = await serve.stop(number)

    assert ended == (0, "watches  pods.v1  opened=3 most=1 open=1  me\ufffd1\n", "")


async def test_without_the_option_nothing_is_printed_at_the_end() -> None:
    async with dynkube("serve") as serve:
        await serve.line()
        await serve.line()

        assert await serve.stop(signal.SIGTERM) == (0, "", "")
