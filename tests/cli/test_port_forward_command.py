"""``dynkube port-forward``: listeners, failed connections, arguments."""

from __future__ import annotations

import re
import signal

import pytest
import trio

from dynkube.cli import main
from dynkube.cli._port_forward import Ports, read_pod, read_ports
from dynkube_testing import APIServer
from tests.cli.processes import dynkube
from tests.pods.kit import add, running_pod
from tests.pods.test_ports import echo, refuse

OFFLINE = ["--url", "http://127.0.0.1:1"]
FORWARDING = re.compile(r"Forwarding from 127\.0\.0\.1:(\d+) -> (\d+)\Z")


@pytest.mark.real_time
async def test_connections_go_to_ports_of_the_pod_until_ctrl_c(server: APIServer) -> None:
    pod = running_pod("web")
    pod["metadata"]["labels"] = {"app": "web"}
    add(server, pod)
    ports = [{"name": "p80", "port": 80, "targetPort": 8080}, {"name": "p81", "port": 81}]
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"}}
    server.create({**service, "spec": {"selector": {"app": "web"}, "ports": ports}})
    server.containers.on_port_forward(echo)

    async with (
        server.serve() as endpoint,
        dynkube("port-forward", "svc/web", ":80", ":p81", "--url", endpoint.url) as command,
    ):
        lines = [FORWARDING.match(await command.line()) for _ in range(2)]
        for found, remote in zip(lines, (8080, 81), strict=True):
            assert found is not None
            assert int(found[2]) == remote
            async with await trio.open_tcp_stream("127.0.0.1", int(found[1])) as stream:
                assert await stream.receive_some() == f"{remote}:".encode()
        assert await command.stop(signal.SIGINT) == (130, "", "")


@pytest.mark.real_time
async def test_a_connection_that_fails_is_a_warning(server: APIServer) -> None:
    add(server, running_pod("web"))
    server.containers.on_port_forward(refuse)

    async with server.serve() as endpoint, dynkube("port-forward", "web", ":80", "--url", endpoint.url) as command:
        found = FORWARDING.match(await command.line())
        assert found is not None
        async with await trio.open_tcp_stream("127.0.0.1", int(found[1])) as stream:
            assert await stream.receive_some() == b""
        code, _, err = await command.stop(signal.SIGINT)

    assert code == 130
    assert err.startswith("warning: a connection to 127.0.0.1:")
    assert "connection refused" in err


@pytest.mark.real_time
async def test_a_port_that_is_in_use_is_an_error(server: APIServer, capfd: pytest.CaptureFixture[str]) -> None:
    add(server, running_pod("web"))

    async with server.serve() as endpoint:
        port = endpoint.url.rpartition(":")[2]
        arguments = ["port-forward", "web", f"{port}:80", "--url", endpoint.url]
        assert await trio.to_thread.run_sync(main, arguments) == 1

    assert capfd.readouterr().err.startswith(f"error: cannot listen on port {port} of --address '127.0.0.1': ")


def test_ports_are_pairs() -> None:
    assert (read_ports("8080:80"), read_ports("80"), read_ports(":80")) == (
        Ports(8080, 80),
        Ports(80, 80),
        Ports(0, 80),
    )
    assert (read_ports("http"), read_ports("8080:http"), read_ports(":http")) == (
        Ports(None, "http"),
        Ports(8080, "http"),
        Ports(0, "http"),
    )
    assert (read_pod("web"), read_pod("po/web"), read_pod("deploy/web")) == ("web", "po/web", "deploy/web")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["web"], "no port is given: pass LOCAL:REMOTE, like 8080:80"),
        (["web", "a:http"], "'a:http' is not a pair of ports: pass LOCAL:REMOTE"),
        (["web", "1:2:3"], "'1:2:3' is not a pair of ports"),
        (["web", "80:0"], "'80:0' has a port that is not between 1 and 65535"),
        (["deploy/", "80"], "'deploy/' is not an object: pass KIND/NAME, like deploy/web"),
    ],
)
def test_invalid_arguments_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["port-forward", *arguments, *OFFLINE]) == 1
    assert capsys.readouterr().err.startswith(f"error: {message}")
