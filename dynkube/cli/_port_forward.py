"""``dynkube port-forward``: ports of a pod on this machine."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Final, NamedTuple

import trio

from dynkube._client import Client
from dynkube._text.tables import printable
from dynkube.cli._arguments import NamespaceOption, check_namespace, read_object
from dynkube.cli._cluster import Cluster
from dynkube.cli._logging import warnings_as_notes
from dynkube.cli._output import Output
from dynkube.cli._run import CommandFailed
from dynkube.pods._ports import PORT_NAME

_LARGEST_PORT: Final = 0xFFFF


class Ports(NamedTuple):
    """A port of this machine, and the one that it goes to.

    Attributes:
        local: 0 for any free one; ``None`` for the number of the remote one, which is given by its name.
        remote: the number or name of the port of the pod, or of the Service.
    """

    local: int | None
    remote: int | str


async def port_forward(
    pod: str,
    /,
    *ports: str,
    namespace: NamespaceOption = None,
    address: str = "127.0.0.1",
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Listen on this machine, and forward connections to ports of a pod, until Ctrl-C.

    A connection that fails is closed and reported on stderr; the others go on. The pod of a workload is chosen once.

    Args:
        pod: Name of the pod, or KIND/NAME of a workload or Service with pods: deploy/web, svc/web.
        ports: LOCAL:REMOTE, like 8080:80; 80 for the same port on this machine, :80 for any free one. The remote port
            of svc/NAME is that of the Service; it may be a name, like 8080:http. Several may be given.
        namespace: Namespace of the pod; by default the context's.
        address: Address to listen on; anyone who can reach it can use the ports.
        cluster: The cluster.
    """
    check_namespace(namespace, "that of the current context")
    name = read_pod(pod)
    if not ports:
        raise CommandFailed("no port is given: pass LOCAL:REMOTE, like 8080:80")
    wanted = [read_ports(each) for each in ports]
    await run_port_forward(cluster.client(), name, wanted, namespace=namespace, address=address)


async def run_port_forward(
    client: Client, pod: str, ports: list[Ports], *, namespace: str | None = None, address: str = "127.0.0.1"
) -> None:
    """Enter ``client``, and forward ports until cancelled; each is printed on stdout when it is listened on.

    Raises:
        NotFound: there is no such pod or workload.
        PodError: the pod does not run, or the workload has no pods.
        InvalidInput: there is no such port.
        ConfigError: an address or port cannot be listened on.
        BrokenPipeError: the reader of stdout has closed the pipe.
    """
    out = Output.standard()
    with warnings_as_notes():  # the library logs connections that fail
        async with client, AsyncExitStack() as forwards:
            handle = client.pod(pod, namespace=namespace)
            for local, remote in ports:
                if local is None:
                    local, _ = await handle._numbers(remote)  # noqa: PLW2901  # its number
                opened = handle.port_forward(remote, local_port=local, address=address)
                forward = await forwards.enter_async_context(opened)
                await out.line(printable(f"Forwarding from {forward} -> {forward._pod_port}"))
            await trio.sleep_forever()


def read_pod(text: str) -> str:
    """Return what ``Client.pod`` takes, from ``NAME`` or ``KIND/NAME``.

    Raises:
        CommandFailed: it is neither.
    """
    if "/" in text:
        read_object(text, "")
    return text


def read_ports(text: str) -> Ports:
    """Parse ``LOCAL:REMOTE``, ``PORT`` or ``:REMOTE``; the remote one may be a name.

    Raises:
        CommandFailed: it is none of these.
    """
    local, colon, remote = text.rpartition(":")
    named = PORT_NAME.match(remote) is not None
    first = local or "0" if colon else "0" if named else remote
    numbers = (first,) if named else (first, remote)
    if not all(number.isascii() and number.isdecimal() and len(number) <= 5 for number in numbers):
        raise CommandFailed(
            f"{text!r} is not a pair of ports: pass LOCAL:REMOTE, like 8080:80 or 8080:http, or a single port"
        )
    found = Ports(None if named and not colon else int(first), remote if named else int(remote))
    if (found.local or 0) > _LARGEST_PORT or not (named or 0 < int(remote) <= _LARGEST_PORT):
        raise CommandFailed(f"{text!r} has a port that is not between 1 and {_LARGEST_PORT}")
    return found
