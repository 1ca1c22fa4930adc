"""``dynkube cp``: files and folders, to and from a container."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import trio
from cyclopts import Parameter
from rich.filesize import decimal
from rich.live import Live
from rich.text import Text

from dynkube._client import Client
from dynkube.cli._arguments import NamespaceOption, check_namespace
from dynkube.cli._cluster import Cluster
from dynkube.cli._console import PlainConsole
from dynkube.cli._output import Output
from dynkube.cli._run import STDIN, CommandFailed
from dynkube.errors import CommandNotStarted
from dynkube.pods import Copied, Pod
from dynkube.pods._copying import MAX_SIZE

_PERIOD: Final = 0.25  # seconds between two redraws, at least
_LOCAL: Final = ("/", "./", "../")  # what a local path may begin with; no namespace or pod has such a name

# Of KIND/NAME:PATH. It could also be NAMESPACE/POD:PATH, so no plurals, which are names of namespaces more often.
_KINDS: Final = frozenset(
    {"pod", "po", "deployment", "deploy", "statefulset", "sts", "daemonset", "ds", "replicaset", "rs"}
    | {"replicationcontroller", "rc", "job", "service", "svc"}
)

Copy = Callable[[Callable[[int], object] | None], Awaitable[Copied]]


class Place(NamedTuple):
    """A path on this machine (``pod`` is empty), or in a container."""

    path: str
    pod: str = ""
    namespace: str | None = None


async def cp(
    source: str,
    destination: str,
    /,
    *,
    container: Annotated[str | None, Parameter(name=["--container", "-c"])] = None,
    namespace: NamespaceOption = None,
    max_size: int = MAX_SIZE,
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Copy a file or folder to or from a container: dynkube cp web:/var/log/app logs.

    One of the paths is on this machine, the other one is POD:PATH, or NAMESPACE/POD:PATH; or deploy/NAME:PATH for one
    of the pods of a Deployment, and the same for sts, ds, rs, rc, job and svc. If the destination is a folder that
    exists, or ends with a slash, the copy is made in it. Links are not copied. The image needs tar, and to copy to it
    sh, mkdir, head, test and wc.

    Args:
        source: What to copy. A local path with a colon in it begins with / or ./
        destination: The path of the copy.
        container: The container; may be left out if the pod has only one.
        namespace: Namespace of the pod; by default the context's.
        max_size: Maximum bytes to receive from a container.
        cluster: The cluster.
    """
    check_namespace(namespace, "that of the current context")
    places = read_place(source, namespace), read_place(destination, namespace)
    if bool(places[0].pod) == bool(places[1].pod):
        raise CommandFailed(
            f"one of {source!r} and {destination!r} must be in a container, like web:/tmp/file, and the other one on "
            "this machine"
        )
    await run_cp(cluster.client(), *places, container=container, max_size=max_size)


async def run_cp(
    client: Client, source: Place, destination: Place, *, container: str | None = None, max_size: int = MAX_SIZE
) -> None:
    """Enter ``client``, copy, and print what was copied; on a terminal, show the bytes so far meanwhile.

    Raises:
        CopyFailed: the copy is not complete.
        DynkubeError: any other error of :meth:`Pod.copy_to` and :meth:`Pod.copy_from`.
        BrokenPipeError: the reader of stdout has closed the pipe.
    """
    async with client:
        inside = source if source.pod else destination
        pod = client.pod(inside.pod, namespace=inside.namespace)
        if source.pod:
            target = destination.path + ("/" if os.path.isdir(destination.path) else "")  # noqa: ASYNC240, PTH112  # one call
            copied = await _shown(
                lambda show: pod.copy_from(source.path, target, container=container, progress=show, max_size=max_size)
            )
        else:
            target = destination.path + ("/" if await _is_folder(pod, destination.path, container) else "")
            copied = await _shown(lambda show: pod.copy_to(source.path, target, container=container, progress=show))
    await Output.standard().line(
        f"{copied.files} file{'' if copied.files == 1 else 's'} copied, {decimal(copied.size)}"
    )


def read_place(text: str, namespace: str | None) -> Place:
    """Parse a path on this machine, ``POD:PATH`` or ``NAMESPACE/POD:PATH``.

    Raises:
        CommandFailed: it is none of these.
    """
    if text == STDIN:
        raise CommandFailed(
            "'-' is not a path: to pass data through a pipe, use dynkube exec POD -i -- with cat or tar"
        )
    before, colon, path = text.partition(":")
    if not colon or text.startswith(_LOCAL) or Path(text).drive:  # C:\ on Windows
        if not text:
            raise CommandFailed("a path is empty: pass a local path, or POD:PATH")
        return Place(text)
    given, slash, pod = before.rpartition("/")
    if given.lower() in _KINDS and pod:  # a namespace of such a name is passed as -n
        return Place(path, before, namespace)
    if not pod or not path or "/" in given or (slash and not given):
        raise CommandFailed(
            f"{text!r} is not POD:PATH or NAMESPACE/POD:PATH; a local path with a colon begins with / or ./"
        )
    return Place(path, pod, given or namespace)


async def _is_folder(pod: Pod, path: str, container: str | None) -> bool:
    """Return whether a path is that of a folder in the container; tar would replace an empty one by a file."""
    if path.endswith("/"):
        return False  # which says so itself
    with suppress(CommandNotStarted):  # the copy says what the image lacks
        return (await pod.exec(["test", "-d", path], container=container, check=False)).exit_code == 0
    return False


async def _shown(copy: Copy) -> Copied:
    """Copy, and show the bytes so far if stderr is a terminal."""
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        return await copy(None)
    # auto_refresh=False: rich's refresh thread would draw concurrently.
    with Live(console=PlainConsole(stderr=True), auto_refresh=False, transient=True) as live:
        due = trio.current_time()

        def show(size: int) -> None:
            nonlocal due
            if (now := trio.current_time()) >= due:
                due = now + _PERIOD
                live.update(Text(decimal(size)), refresh=True)

        return await copy(show)
