"""Outages of the proxy below HTTP: refused, reset or unanswered connections, and black holes."""

from __future__ import annotations

import pytest
import trio

from dynkube.errors import InvalidInput
from dynkube_testing import APIServer, Endpoint, FaultProxy
from tests.testing.proxy.kit import TIMEOUT, WATCH, configmap, connected

pytestmark = pytest.mark.real_time


async def refuses(proxy: FaultProxy) -> None:
    with pytest.raises(OSError, match="all attempts to connect") as failure:
        async with connected(proxy.endpoint):
            pass
    cause = failure.value.__cause__
    assert isinstance(cause, ExceptionGroup)
    assert cause.subgroup(ConnectionRefusedError), cause.exceptions


async def resets(proxy: FaultProxy) -> None:
    # The reset may arrive before connecting has returned.
    with pytest.raises((trio.BrokenResourceError, OSError)):
        async with connected(proxy.endpoint) as connection:
            await connection.read_to_end()


async def test_connecting_fails_during_an_outage_and_the_port_is_kept(proxy: FaultProxy) -> None:
    async with connected(proxy.endpoint) as before:
        with proxy.refuse_connections():
            await refuses(proxy)

            await before.get("/version")
            assert b"200 OK" in await before.read_until(b"}")

    async with connected(proxy.endpoint) as after:
        await after.get("/version")
        assert b"200 OK" in await after.read_until(b"}")


async def test_a_connection_is_reset_after_it_was_accepted(proxy: FaultProxy) -> None:
    outage = proxy.refuse_connections("reset")

    await resets(proxy)

    outage.remove()
    async with connected(proxy.endpoint) as connection:
        await connection.get("/version")
        assert b"200 OK" in await connection.read_until(b"}")


async def test_a_silent_connection_is_closed_when_its_client_disconnects(proxy: FaultProxy) -> None:
    with proxy.refuse_connections("silent"):
        async with connected(proxy.endpoint) as connection:
            await connection.get("/version")
            with trio.move_on_after(0.2) as deadline:
                await connection.read_until(b"HTTP")
            assert deadline.cancelled_caught
            assert proxy.connections == 1
        with trio.fail_after(TIMEOUT):
            await proxy.wait_connections(0)
    assert proxy.audit == []


@pytest.mark.parametrize("how", ["reset", "cut"])
async def test_drop_connections_ends_open_connections(how: str, server: APIServer, proxy: FaultProxy) -> None:
    async with connected(proxy.endpoint) as connection:
        await connection.get(WATCH)
        await connection.read_until(b"\r\n\r\n")

        assert proxy.drop_connections(how) == 1  # type: ignore[arg-type]  # from the parameters

        if how == "cut":
            assert await connection.read_to_end() == b""
        else:
            with pytest.raises(trio.BrokenResourceError):
                await connection.read_to_end()
        with trio.fail_after(TIMEOUT):
            await server.wait_open_watches(0)
        assert proxy.connections == 0


async def test_data_sent_into_a_black_hole_arrives_after_it_ends(server: APIServer, proxy: FaultProxy) -> None:
    async with connected(proxy.endpoint) as watching, connected(proxy.endpoint) as sending:
        await watching.get(WATCH)
        await watching.read_until(b"\r\n\r\n")
        with proxy.black_hole():
            server.create(configmap("a"))
            await sending.get("/version")
            async with connected(proxy.endpoint) as new:
                await new.get("/version")
                with trio.move_on_after(0.3):
                    await watching.read_until(b"\n")
                assert watching.received == b""
            assert proxy.requests[-1].verb == "watch", "no request has arrived"

        assert b'"a"' in await watching.read_until(b"\n\r\n")
        assert b"200 OK" in await sending.read_until(b"}")


async def test_in_a_black_hole_the_client_does_not_see_the_end_of_its_watch(
    server: APIServer, proxy: FaultProxy
) -> None:
    async with connected(proxy.endpoint) as connection:
        await connection.get(WATCH)
        await connection.read_until(b"\r\n\r\n")
        with proxy.black_hole():
            server.end_watches(how="cut")
            await server.wait_open_watches(0)
            with trio.move_on_after(0.3) as deadline:
                await connection.read_to_end()
            assert deadline.cancelled_caught, "no FIN was received"

        assert await connection.read_to_end() == b""


async def test_in_a_black_hole_the_server_does_not_see_that_a_client_disconnects(
    server: APIServer, proxy: FaultProxy
) -> None:
    async with connected(proxy.endpoint) as connection:
        await connection.get(WATCH)
        await connection.read_until(b"\r\n\r\n")
        outage = proxy.black_hole()
    await trio.sleep(0.2)
    assert len(server.open_watches) == 1

    outage.remove()
    with trio.fail_after(TIMEOUT):
        await server.wait_open_watches(0)


async def test_of_several_outages_the_oldest_takes_effect(proxy: FaultProxy) -> None:
    with proxy.refuse_connections("reset") as first, proxy.refuse_connections():
        await resets(proxy)
        first.remove()
        first.remove()
        await refuses(proxy)


async def test_an_outage_can_be_removed_after_its_proxy_has_ended(upstream: Endpoint) -> None:
    async with FaultProxy(upstream) as proxy:
        outages = [proxy.refuse_connections(), proxy.black_hole()]

    for outage in outages:
        outage.remove()


async def test_unknown_ways_of_failing_are_rejected(proxy: FaultProxy) -> None:
    with pytest.raises(InvalidInput, match="how is 'gently': pass 'refuse', 'reset' or 'silent'"):
        proxy.refuse_connections("gently")  # type: ignore[arg-type]  # invalid on purpose
    with pytest.raises(InvalidInput, match="how is 'silent': pass 'cut' or 'reset'"):
        proxy.drop_connections("silent")  # type: ignore[arg-type]  # invalid on purpose
