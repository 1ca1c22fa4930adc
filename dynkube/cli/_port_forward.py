"""``dynkube port-forward``: ports of a pod on this machine."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Final, NamedTuple

import trio

from dynkube._client import Client
from dynkube._text.tables import printable
from dynkube.cli._arguments import NamespaceOption, check_namespace, read_target
from dynkube.cli._cluster import Cluster
from dynkube.cli._logging import warnings_as_notes
from dynkube.cli._output import Output
from dynkube.cli._run import CommandFailed

_LARGEST_PORT: Final = 0xFFFF
_POD_NAMES: Final = frozenset({"pods", "pod", "po"})


class Ports(NamedTuple):
    """A port of this machine, 0 for any free one, and the port of the pod that it goes to."""

    local: int
    remote: int


async def port_forward(
    pod: str,
    /,
    *ports: str,
    namespace: NamespaceOption = None,
    address: str = "127.0.0.1",
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Listen on this machine, and forward connections to ports of a pod, until Ctrl-C.

    A connection that fails is closed and reported on stderr; the others go on.

    Args:
        pod: Name of the pod, or pod/NAME.
        ports: LOCAL:REMOTE, like 8080:80; 80 for the same port on this machine, :80 for any free one. Several may be
            given.
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
        NotFound: there is no such pod.
        PodError: the pod does not run.
        ConfigError: an address or port cannot be listened on.
        BrokenPipeError: the reader of stdout has closed the pipe.
    """
    out = Output.standard()
    with warnings_as_notes():  # the library logs connections that fail
        async with client, AsyncExitStack() as forwards:
            handle = client.pod(pod, namespace=namespace)
            for local, remote in ports:
                opened = handle.port_forward(remote, local_port=local, address=address)
                forward = await forwards.enter_async_context(opened)
                await out.line(printable(f"Forwarding from {forward} -> {remote}"))
            await trio.sleep_forever()


def read_pod(text: str) -> str:
    """Return the name of a pod, from ``NAME`` or ``pod/NAME``.

    Raises:
        CommandFailed: it is the name of something else.
    """
    if "/" not in text:
        return text
    kind, name = read_target(text, "")
    if kind not in _POD_NAMES:
        raise CommandFailed(f"{text!r} is not a pod: pass its name, or pod/NAME")
    return name


def read_ports(text: str) -> Ports:
    """Parse ``LOCAL:REMOTE``, ``PORT`` or ``:REMOTE``.

    Raises:
        CommandFailed: it is none of these.
    """
    local, colon, remote = text.rpartition(":")
    numbers = (local or "0", remote) if colon else (remote, remote)
    if not all(number.isascii() and number.isdecimal() and len(number) <= 5 for number in numbers):
        raise CommandFailed(f"{text!r} is not a pair of ports: pass LOCAL:REMOTE, like 8080:80, or a single port")
    found = Ports(*map(int, numbers))
    if found.local > _LARGEST_PORT or not 0 < found.remote <= _LARGEST_PORT:
        raise CommandFailed(f"{text!r} has a port that is not between 1 and {_LARGEST_PORT}")
    return found
