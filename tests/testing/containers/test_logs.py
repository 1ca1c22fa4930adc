"""Logs that a test writes, as requests for the log of a pod get them."""

from __future__ import annotations

from datetime import datetime

import httpx2
import pytest
import trio

from dynkube.errors import InvalidInput, NotFound
from dynkube_testing import APIServer
from tests.testing.containers.conftest import NOON
from tests.testing.containers.kit import PODS, following, log, pod

LINES = "one\ntwo\nthree\n"


async def test_what_was_written_is_the_log_of_the_pod(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.containers.write_log("web", "GET /\n")
    server.containers.write_log("web", b"\xff\n")

    response = await client.get(f"{PODS}/web/log")

    assert (response.status_code, response.content) == (200, b"GET /\n\xff\n")
    assert response.headers["content-type"] == "text/plain"


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, LINES),
        ({"tailLines": 2}, "two\nthree\n"),
        ({"tailLines": 0}, ""),
        ({"tailLines": 9}, LINES),
        ({"limitBytes": 6}, "one\ntw"),
        ({"limitBytes": 3, "tailLines": 1}, "thr"),
        ({"timestamps": "true", "tailLines": 1}, "2026-11-24T12:00:20.000000000Z three\n"),
        ({"timestamps": "true", "limitBytes": 35}, "2026-11-24T12:00:00.000000000Z one\n"),
        ({"sinceTime": "2026-11-24T12:00:10Z"}, "two\nthree\n"),
        ({"sinceTime": "2026-11-24T13:00:10.5+01:00"}, "two\nthree\n"),  # whole seconds reach the kubelet
        ({"sinceTime": "2026-11-24T13:00:11+01:00"}, "three\n"),
        ({"sinceSeconds": 20}, "two\nthree\n"),
        ({"sinceSeconds": 9_000_000_000_000}, LINES),
        ({"sinceSeconds": 20, "tailLines": 3}, "two\nthree\n"),
    ],
)
async def test_parameters_select_a_part_of_the_log(
    server: APIServer, client: httpx2.AsyncClient, params: dict[str, str | int], expected: str
) -> None:
    for line in LINES.splitlines(keepends=True):
        server.containers.write_log("web", line)
        await trio.sleep(10)

    assert await log(client, **params) == expected


async def test_no_two_calls_write_at_the_same_time(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.containers.write_log("web", "one\n")
    server.containers.end_log("web")
    server.containers.write_log("web", "two\n")

    first, second = await log(client, timestamps="true", previous="true"), await log(client, timestamps="true")

    assert (first, second) == ("2026-11-24T12:00:00.000000000Z one\n", "2026-11-24T12:00:00.000001000Z two\n")


async def test_a_line_written_in_parts_is_one_line(server: APIServer, client: httpx2.AsyncClient) -> None:
    for part in ("a\nb", "c", "d\n", "e"):
        server.containers.write_log("web", part, time=NOON)

    assert await log(client, tailLines=2) == "bcd\ne"
    assert await log(client, timestamps="true") == "".join(
        f"2026-11-24T12:00:00.000000000Z {line}" for line in ("a\n", "bcd\n", "e")
    )


async def test_a_follower_gets_each_line_when_it_is_written(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.containers.write_log("web", "one\ntwo\n")
    async with following(client, tailLines=1) as chunks:
        assert await anext(chunks) == b"two\n"

        for line in ("three\n", "four\n"):
            server.containers.write_log("web", line)
            assert await anext(chunks) == line.encode()
        server.containers.end_log("web")

        assert [each async for each in chunks] == []


async def test_a_follower_ends_with_its_limit(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.containers.write_log("web", "one\n")
    async with following(client, limitBytes=6) as chunks:
        assert await anext(chunks) == b"one\n"

        server.containers.write_log("web", "two\n")

        assert b"".join([each async for each in chunks]) == b"tw"


async def test_a_follower_ends_when_the_pod_is_deleted(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.containers.write_log("web", "one\n")
    async with following(client) as chunks:
        server.delete("pods", "web", namespace="default")

        assert b"".join([each async for each in chunks]) == b"one\n"


async def test_a_new_pod_of_the_same_name_has_no_log(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.containers.write_log("web", "one\n")
    server.delete("pods", "web", namespace="default")
    server.create(pod("web"))

    assert (await client.get(f"{PODS}/web/log")).status_code == 204


async def test_a_restart_makes_the_log_the_previous_one(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.containers.write_log("web", "first\n")
    assert await log(client, previous="true") == 'previous terminated container "app" in pod "web" not found'

    server.containers.end_log("web")
    assert await log(client) == "first\n"
    server.containers.write_log("web", "second\n")

    assert await log(client) == "second\n"
    assert await log(client, previous="true") == "first\n"


async def test_each_container_has_a_log(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.create(pod("two", "app", "side"))
    server.containers.write_log("two", "from app\n", container="app")

    assert await log(client, "two", container="app") == "from app\n"
    assert await log(client, "two", container="side") == (
        'container "side" in pod "two" is waiting to start: ContainerCreating'
    )
    assert await log(client, "two") == "a container name must be specified for pod two, choose one of: [app side]"


async def test_only_the_end_of_a_long_log_is_kept(server: APIServer, client: httpx2.AsyncClient) -> None:
    for number in range(300):
        server.containers.write_log("web", f"{number}".ljust(65_535) + "\n")

    kept = await log(client)

    assert 10 << 20 <= len(kept) + 65_536 <= (13 << 20)
    assert kept.endswith("299".ljust(65_535) + "\n")


async def test_only_the_last_lines_of_a_log_with_many_are_kept(server: APIServer, client: httpx2.AsyncClient) -> None:
    server.containers.write_log("web", "\n" * 300_000)

    assert len(await log(client)) == 100_000


async def test_a_follower_that_is_slow_gets_the_lines_that_are_kept(
    server: APIServer, client: httpx2.AsyncClient
) -> None:
    server.containers.write_log("web", "")
    async with following(client) as chunks:
        for number in range(300):
            server.containers.write_log("web", f"{number}".ljust(65_535) + "\n")
        server.containers.end_log("web")

        received = b"".join([each async for each in chunks])

    assert received.endswith(b"299".ljust(65_535) + b"\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pod": "two"}, "pod two has the containers app, side: pass container="),
        ({"pod": "two", "container": "x"}, "pod two has no container 'x'; it has app, side"),
        ({"pod": "web", "data": 1}, "data is of type int: pass str or bytes"),
        ({"pod": "web", "time": datetime(2026, 1, 1)}, "time is 2026-01-01T00:00:00, without a time zone"),  # noqa: DTZ001
    ],
)
async def test_wrong_arguments_are_errors(server: APIServer, arguments: dict[str, object], message: str) -> None:
    server.create(pod("two", "app", "side"))

    with pytest.raises(InvalidInput, match=message.replace("(", "\\(")):
        server.containers.write_log(**{"data": "x", **arguments})  # type: ignore[arg-type]


async def test_a_pod_that_does_not_exist_has_no_log(server: APIServer) -> None:
    with pytest.raises(NotFound, match='pods "nope" not found'):
        server.containers.write_log("nope", "x")


async def test_followers_do_not_count_as_requests_in_flight() -> None:
    async with (
        APIServer(max_inflight=1) as server,
        httpx2.AsyncClient(transport=server.transport(), base_url=server.url) as client,
    ):
        server.create(pod("web"))
        server.containers.write_log("web", "one\n")
        async with following(client) as chunks:
            await anext(chunks)

            assert (await client.get(f"{PODS}/web")).status_code == 200
