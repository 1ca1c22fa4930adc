"""``Chaos``: random faults from a seed; ``play_script``: faults at given times."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube_testing import MISHAPS, APIServer, Chaos, Faulty, Refuse, play_script
from tests.contract.objects import config

CONFIGS = "/api/v1/configmaps"


def fail_requests(server: Faulty, random: Random) -> None:
    server.inject(Refuse(503))


async def poll_forever(client: httpx2.AsyncClient, outcomes: list[str]) -> None:
    """List and watch forever, and record the outcome of each request."""
    while True:
        for path in (CONFIGS, f"{CONFIGS}?watch=true&timeoutSeconds=5&allowWatchBookmarks=true"):
            try:
                response = await client.get(path, timeout=20)
                outcomes.append(str(response.status_code))
            except httpx2.TransportError as error:
                outcomes.append(type(error).__name__)


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_every_mishap_happens_and_the_server_survives(
    server: APIServer, client: httpx2.AsyncClient, seed: int
) -> None:
    chaos, outcomes = Chaos(server, random=Random(seed), every=4), list[str]()
    server.create(config("a"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(poll_forever, client, outcomes)
        await chaos.run(3600)
        nursery.cancel_scope.cancel()

    assert set(chaos.counts) == {mishap.__name__ for mishap in MISHAPS}
    assert {"200", "410", "429", "500", "503", "ReadTimeout", "RemoteProtocolError", "ReadError"} <= set(outcomes)


async def test_after_chaos_ends_requests_succeed(server: APIServer, client: httpx2.AsyncClient) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Chaos(server, random=Random(1), every=1, mishaps=[fail_requests]).run)
        await trio.sleep(60)
        during = (await client.get(CONFIGS)).status_code
        nursery.cancel_scope.cancel()

    assert (during, (await client.get(CONFIGS)).status_code) == (503, 200)


async def test_equal_seeds_give_equal_mishaps(server: APIServer) -> None:
    def times(seed: int) -> tuple[Chaos, list[float]]:
        noted: list[float] = []
        note = lambda server, random: noted.append(trio.current_time() - begin)  # noqa: E731 - the mishap
        return Chaos(server, random=Random(seed), every=2, mishaps=[note]), noted

    begin = trio.current_time()
    (first, one), (second, two), (third, three) = times(1), times(1), times(2)
    async with trio.open_nursery() as nursery:
        for chaos in (first, second, third):
            nursery.start_soon(chaos.run, 600)

    assert one == two != three
    assert 200 < len(one) < 400


async def test_requests_for_which_when_is_false_are_spared(server: APIServer, client: httpx2.AsyncClient) -> None:
    chaos = Chaos(
        server,
        random=Random(1),
        every=1,
        mishaps=[fail_requests],
        when=lambda request: request.headers.get("user-agent") != "the test",
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(chaos.run)
        await trio.sleep(60)

        assert (await client.get(CONFIGS)).status_code == 503
        assert (await client.get(CONFIGS, headers={"User-Agent": "the test"})).status_code == 200
        nursery.cancel_scope.cancel()


async def test_a_script_runs_each_step_at_its_time(server: APIServer) -> None:
    begin, outcomes = trio.current_time(), list[tuple[str, float]]()

    def note(what: str) -> None:
        outcomes.append((what, trio.current_time() - begin))

    await play_script((0, partial(note, "now")), (60, partial(note, "soon")), (60, partial(note, "and")))

    assert outcomes == [("now", 0), ("soon", 60), ("and", 60)]


async def test_a_script_waits_for_a_step_that_takes_longer(server: APIServer) -> None:
    begin, outcomes = trio.current_time(), list[float]()

    await play_script(
        (10, partial(server.restart, seconds=30)),
        (20, lambda: outcomes.append(trio.current_time() - begin)),
        (60, lambda: outcomes.append(trio.current_time() - begin)),
    )

    assert outcomes == [40, 60]


@pytest.mark.parametrize(
    ("steps", "message"),
    [([(-1, print)], "a step's time is -1"), ([(5, print), (4, print)], "at 4 s comes after one at 5 s")],
)
async def test_an_invalid_script_is_rejected(steps: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        await play_script(*steps)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"every": 0}, "every is 0"),
        ({"mishaps": []}, "mishaps is empty"),
        ({"random": 7}, r"random is 7: pass a random.Random, such as Random\(7\)"),
    ],
)
def test_invalid_arguments_of_chaos_are_rejected(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Chaos(APIServer(), **{"random": Random(1), **wrong})
