"""``dynkube watch`` as a command: start, stdout and stderr, end."""

from __future__ import annotations

import re
import signal

import pytest
import trio

from dynkube import connect
from dynkube.cli._watch import Query, run_watch
from dynkube.errors import NoMatch
from dynkube_testing import APIServer
from tests.cli.processes import dynkube
from tests.informers.kit import WIDGETS, crd, widget

UNREACHABLE = ("--url", "http://127.0.0.1:1")


@pytest.mark.parametrize("resource", ["httproutes", "HTTPRoute.gateway.networking.k8s.io", "HTTPRoute"])
async def test_the_error_for_an_unknown_resource_says_how_to_wait_for_it(resource: str, server: APIServer) -> None:
    with pytest.raises(
        NoMatch, match=r"does not serve.*to follow a resource that is not .* pass RESOURCE\.VERSION\.GROUP"
    ):
        await run_watch(connect(transport=server.transport()), Query(resource=resource), "table")


async def test_a_short_name_of_a_served_resource_is_accepted(
    server: APIServer, capfd: pytest.CaptureFixture[str]
) -> None:
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}})

    with trio.move_on_after(2):
        await run_watch(connect(transport=server.transport()), Query(resource="cm"), "name")

    assert "configmap/settings" in capfd.readouterr().out.splitlines()


async def test_statistics_agree_with_the_counts_of_the_server(
    server: APIServer, capfd: pytest.CaptureFixture[str]
) -> None:
    server.create(crd())
    server.create(widget("a"))

    with trio.move_on_after(2):
        await run_watch(connect(transport=server.transport()), Query(resource=WIDGETS), "json", stats=True)

    out, err = capfd.readouterr()
    (count,) = (count for count in server.watch_counts if str(count.resource) == WIDGETS)
    assert out.count("\n") == 1
    assert f"watches={count.opened} " in err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("statistics  lists=")
    assert err.splitlines()[-1].endswith("failures=0 objects=1")
    assert (count.most, count.open) == (1, 0)


@pytest.mark.real_time
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_ends_watch_without_a_message(number: signal.Signals) -> None:
    async with dynkube("watch", WIDGETS, *UNREACHABLE) as watch:
        first = await watch.line()
        ended = await watch.stop(number)

    assert re.fullmatch(r"\d\d:\d\d:\d\d  UNKNOWN   \w+.*", first)
    assert (ended[0], ended[2]) == (0, "")


@pytest.mark.real_time
async def test_an_unreachable_server_is_printed_as_the_reason_of_the_state() -> None:
    async with dynkube("watch", WIDGETS, *UNREACHABLE) as watch:
        lines = await watch.until("ConnectFailed")

    assert "UNKNOWN   ConnectFailed: " in lines[-1]
    assert lines[-1].endswith("cannot connect to 127.0.0.1:1: Connection refused (server from --url)")


@pytest.mark.real_time
async def test_a_closed_pipe_ends_watch_without_an_error_message(server: APIServer) -> None:
    async with server.serve() as endpoint, dynkube("watch", "configmaps.v1", "--url", endpoint.url) as watch:
        await watch.until("LIVE")
        await watch.close_stdout()
        server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "not-watched"}})

        assert await watch.ended() == (141, "", "")


@pytest.mark.real_time
async def test_a_signal_ends_watch_although_its_pipe_is_full(server: APIServer) -> None:
    data = {"large": "x" * 500_000}  # more than the buffer of a pipe holds
    server.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
    arguments = ("watch", "configmaps.v1", "-o", "json", "--url")
    async with server.serve() as endpoint, dynkube(*arguments, endpoint.url) as watch:
        await server.wait_open_watches(1)

        code, _, errors = await watch.stop(signal.SIGTERM)

    assert code == 0
    assert "Traceback" not in errors
