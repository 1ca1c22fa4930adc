"""``Pod.read_logs`` and ``Pod.logs`` without ``follow``: parameters, limits, and what cannot be read."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
import trio

import dynkube
from dynkube.errors import ConnectionLost, Forbidden, InvalidInput, LogUnavailable, NotFound
from dynkube_testing import APIServer, User
from tests.pods.logs.kubelet import NOON, Kubelet, TearingTransport, pod


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, ["one", "two", "three"]),
        ({"tail": 2}, ["two", "three"]),
        ({"tail": 0}, []),
        ({"since": 15.0}, ["three"]),
        ({"since": NOON + timedelta(seconds=10)}, ["two", "three"]),
        ({"since": NOON + timedelta(seconds=10.5)}, ["three"]),  # the server only knows whole seconds
        ({"limit_bytes": 8}, ["one", "two"]),
        ({"limit_bytes": 6}, ["one", "tw"]),
        ({"limit_bytes": 40, "timestamps": True}, ["one", "two"[:0]]),
    ],
)
async def test_arguments_select_a_part(
    client: dynkube.Client, kubelet: Kubelet, arguments: dict[str, Any], expected: list[str]
) -> None:
    kubelet.start()
    for line in ("one", "two", "three"):
        kubelet.write(line)
        await trio.sleep(10)

    log = await client.pod("web").read_logs(**arguments)

    assert list(map(str, log)) == expected
    assert bool(log.truncated) == ("limit_bytes" in arguments)


async def test_lines_have_timestamps_if_requested(client: dynkube.Client, kubelet: Kubelet) -> None:
    kubelet.start()
    kubelet.write("one", time=NOON + timedelta(microseconds=7))

    (with_one,) = await client.pod("web").read_logs(timestamps=True)
    (without,) = await client.pod("web").read_logs()

    assert (with_one.timestamp, with_one.text) == (NOON + timedelta(microseconds=7), "one")
    assert (without.timestamp, without.timestamp_ns) == (None, None)


async def test_the_previous_run_is_read(client: dynkube.Client, kubelet: Kubelet) -> None:
    kubelet.start()
    kubelet.write("first")
    kubelet.exit(1)
    with pytest.raises(LogUnavailable, match=r"^container app of pod default/web has no log: .*previous terminated"):
        await client.pod("web").read_logs(previous=True)
    kubelet.start()

    assert (await client.pod("web").read_logs(previous=True)).text == "first\n"


async def test_a_log_that_is_too_long_is_cut_and_says_so(client: dynkube.Client, kubelet: Kubelet) -> None:
    kubelet.start()
    kubelet.write("\n" * 12_000)

    log = await client.pod("web").read_logs(limit_bytes=640_000)

    assert len(log) == 10_000  # memory is bounded as well as bytes
    assert log.truncated == "only the first 10,000 lines were read: pass tail= or since=, or a larger limit_bytes="


async def test_a_container_that_has_not_started_has_no_log(client: dynkube.Client, kubelet: Kubelet) -> None:
    kubelet.publish("Pending")

    with pytest.raises(LogUnavailable, match=r"app of pod default/web has no log: .*follow=True waits for it"):
        await client.pod("web").read_logs()


async def test_names_of_containers_are_in_the_error(client: dynkube.Client, server: APIServer) -> None:
    server.create(pod("two", "app", "proxy"))

    with pytest.raises(InvalidInput, match="has the containers app, proxy: pass container="):
        await client.pod("two").read_logs()
    with pytest.raises(InvalidInput, match="has no container 'db'; it has app, proxy"):
        await client.pod("two").read_logs(container="db")
    with pytest.raises(NotFound, match='pods "three" not found'):
        await client.pod("three").read_logs()


async def test_a_missing_permission_is_named() -> None:
    async with APIServer(rbac=True) as server:
        server.create(pod())
        server.grant("alice", verbs=["get"], resource="pods", namespace="default")
        async with dynkube.connect(url=server.url, transport=server.transport(User("alice"))) as client:
            with pytest.raises(Forbidden, match='cannot get resource "pods/log"'):
                await client.pod("web").read_logs()


async def test_a_log_that_is_cut_is_read_on(
    client: dynkube.Client, kubelet: Kubelet, transport: TearingTransport
) -> None:
    kubelet.start()
    kubelet.write(*map(str, range(100)))

    async with client.pod("web").logs() as lines:
        found = [str(await anext(lines))]
        transport.cut()
        found += [str(line) async for line in lines]

    assert found == kubelet.lines
    assert lines.requests == 2


async def test_a_log_that_is_always_cut_fails_in_the_end(
    client: dynkube.Client, kubelet: Kubelet, transport: TearingTransport
) -> None:
    kubelet.start()
    kubelet.write("x" * 1000)

    transport.cut_all = True
    async with client.pod("web").logs() as lines:
        with pytest.raises(ConnectionLost):
            await anext(lines)

    assert lines.requests == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tail": -1}, "tail must be an integer >= 0, or None, not -1"),
        ({"limit_bytes": 0}, "limit_bytes must be an integer >= 1, or None, not 0"),
        ({"since": -5}, "since must be a number of seconds > 0, or a datetime, not -5"),
        ({"since": NOON.replace(tzinfo=None)}, "since is 2026-11-24T12:00:00, without a time zone"),
        ({"container": ""}, "container must be the name of a container, or None, not ''"),
        ({"follow": 1}, "follow must be True or False, not 1"),
        ({"follow": True, "previous": True}, "follow and previous exclude each other"),
        ({"stream": "stdout"}, "stream must be one of All, Stdout, Stderr, not 'stdout'"),
    ],
)
def test_invalid_arguments_are_refused_at_once(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        dynkube.Pod.logs(object(), **arguments)  # type: ignore[arg-type]
