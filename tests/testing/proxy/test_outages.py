"""Trouble below HTTP: connections that nobody takes, that end, that nobody answers; lines that are down."""

from __future__ import annotations

import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube.testing import APIServer, Endpoint, FaultProxy
from tests.testing.proxy.kit import PATIENCE, WATCH, configmap, connected

pytestmark = pytest.mark.real_time


async def refuses(proxy: FaultProxy) -> None:
    with pytest.raises(OSError, match="all attempts to connect") as failure:
        async with connected(proxy.endpoint):
            pass
    cause = failure.value.__cause__
    assert isinstance(cause, ExceptionGroup)
    assert cause.subgroup(ConnectionRefusedError), cause.exceptions


async def resets(proxy: FaultProxy) -> None:
    # The reset may come before connecting has returned.
    with pytest.raises((trio.BrokenResourceError, OSError)):
        async with connected(proxy.endpoint) as connection:
            await connection.rest()


async def test_connecting_fails_during_an_outage_and_the_port_stays(proxy: FaultProxy) -> None:
    async with connected(proxy.endpoint) as before:
        with proxy.refuse_connections():
            await refuses(proxy)

            await before.get("/version")
            assert b"200 OK" in await before.until(b"}")

    async with connected(proxy.endpoint) as after:
        await after.get("/version")
        assert b"200 OK" in await after.until(b"}")


async def test_a_connection_is_reset_once_it_stands(proxy: FaultProxy) -> None:
    outage = proxy.refuse_connections("reset")

    await resets(proxy)

    outage.remove()
    async with connected(proxy.endpoint) as connection:
        await connection.get("/version")
        assert b"200 OK" in await connection.until(b"}")


async def test_a_connection_that_nobody_answers_is_forgotten_when_its_client_goes(proxy: FaultProxy) -> None:
    with proxy.refuse_connections("silent"):
        async with connected(proxy.endpoint) as connection:
            await connection.get("/version")
            with trio.move_on_after(0.2) as deadline:
                await connection.until(b"HTTP")
            assert deadline.cancelled_caught
            assert proxy.connections == 1
        with trio.fail_after(PATIENCE):
            await proxy.wait_connections(0)
    assert proxy.audit == []


@pytest.mark.parametrize("how", ["reset", "cut"])
async def test_open_connections_end_below_http(how: str, server: APIServer, proxy: FaultProxy) -> None:
    async with connected(proxy.endpoint) as connection:
        await connection.get(WATCH)
        await connection.until(b"\r\n\r\n")

        assert proxy.drop_connections(how) == 1  # type: ignore[arg-type]  # it comes from a table

        if how == "cut":
            assert await connection.rest() == b""
        else:
            with pytest.raises(trio.BrokenResourceError):
                await connection.rest()
        with trio.fail_after(PATIENCE):
            await server.wait_open_watches(0)
        assert proxy.connections == 0


async def test_in_a_black_hole_nothing_arrives_and_afterwards_all_of_it(server: APIServer, proxy: FaultProxy) -> None:
    async with connected(proxy.endpoint) as watching, connected(proxy.endpoint) as asking:
        await watching.get(WATCH)
        await watching.until(b"\r\n\r\n")
        with proxy.black_hole():
            server.create(configmap("a"))
            await asking.get("/version")
            async with connected(proxy.endpoint) as new:
                await new.get("/version")
                with trio.move_on_after(0.3):
                    await watching.until(b"\n")
                assert watching.received == b""
            assert proxy.requests[-1].verb == "watch", "no request has arrived"

        assert b'"a"' in await watching.until(b"\n\r\n")
        assert b"200 OK" in await asking.until(b"}")


async def test_in_a_black_hole_an_end_stays_unknown(server: APIServer, proxy: FaultProxy) -> None:
    async with connected(proxy.endpoint) as connection:
        await connection.get(WATCH)
        await connection.until(b"\r\n\r\n")
        with proxy.black_hole():
            server.end_watches(how="cut")
            await server.wait_open_watches(0)
            with trio.move_on_after(0.3) as deadline:
                await connection.rest()
            assert deadline.cancelled_caught, "no FIN has come"

        assert await connection.rest() == b""


async def test_in_a_black_hole_a_client_that_goes_stays_unknown(server: APIServer, proxy: FaultProxy) -> None:
    async with connected(proxy.endpoint) as connection:
        await connection.get(WATCH)
        await connection.until(b"\r\n\r\n")
        outage = proxy.black_hole()
    await trio.sleep(0.2)
    assert len(server.open_watches) == 1

    outage.remove()
    with trio.fail_after(PATIENCE):
        await server.wait_open_watches(0)


async def test_of_several_outages_the_oldest_decides(proxy: FaultProxy) -> None:
    with proxy.refuse_connections("reset") as first, proxy.refuse_connections():
        await resets(proxy)
        first.remove()
        first.remove()
        await refuses(proxy)


async def test_an_outage_may_outlive_its_proxy(upstream: Endpoint) -> None:
    async with FaultProxy(upstream) as proxy:
        outages = [proxy.refuse_connections(), proxy.black_hole()]

    for outage in outages:
        outage.remove()


async def test_ways_that_are_none_are_refused(proxy: FaultProxy) -> None:
    with pytest.raises(InvalidInput, match="how='gently' is invalid: pass one of 'refuse', 'reset', 'silent'"):
        proxy.refuse_connections("gently")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(InvalidInput, match="how='silent' is invalid: pass one of 'cut', 'reset'"):
        proxy.drop_connections("silent")  # type: ignore[arg-type]  # that is the point
