"""``Pod``: a handle of one pod."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final, TypeVar

from dynkube._bound import Bound
from dynkube.client._client import APIClient
from dynkube.client._deadline import Deadline
from dynkube.client._options import check_timeout
from dynkube.errors import InvalidInput
from dynkube.meta._arguments import brief
from dynkube.pods._attach import open_attached
from dynkube.pods._attachable import AttachablePod, container_port
from dynkube.pods._copying import MAX_SIZE, Progress, copy_from, copy_to
from dynkube.pods._debug import add_debugger
from dynkube.pods._exec import MAX_OUTPUT, ExecResult, Stdin, run_command
from dynkube.pods._logs.source import PodSource
from dynkube.pods._logs.verbs import LogVerbs
from dynkube.pods._port_forward import PortForward, open_port_forward
from dynkube.pods._ports import PortStream, check_port, open_port
from dynkube.pods._process import Process, checked_command, open_process
from dynkube.pods._target import PODS, PodTarget
from dynkube.pods._unpack import Copied

T = TypeVar("T")

_KIND_AND_NAME: Final = re.compile(r"([A-Za-z0-9.-]+)/([^/]+)\Z")
_POD_KINDS: Final = frozenset({"pods", "pod", "po"})


class Pod(Bound, LogVerbs):
    """One pod of a cluster; from :meth:`Client.pod <dynkube.Client.pod>`.

    Making one does no I/O, so the pod need not exist. It may be used any number of times, also by several tasks at
    once. One that was made for a workload or Service (``"deploy/web"``) chooses one of its pods in the first method
    that needs it, waiting up to a minute for one, and stays with it.

    Attributes:
        name: the pod's name; of one that was made for a workload, what was given until a pod is chosen.
        namespace: the pod's namespace.
    """

    __slots__ = ("_api", "_workload", "name", "namespace")

    def __init__(self, api: APIClient, name: str, namespace: str | None = None) -> None:
        if not isinstance(name, str):
            raise InvalidInput(f"name is {brief(name)}: pass the name of a pod")
        self._api = api
        self.namespace: str = api.namespace if namespace is None else namespace
        if self.namespace == "":
            raise InvalidInput("namespace is '': pass the namespace of the pod, or None for the context's")
        self._workload: AttachablePod | None = None
        found = _KIND_AND_NAME.match(name)
        if found is not None and found[1].lower() not in _POD_KINDS:
            self._workload = AttachablePod(api, found[1], found[2], self.namespace)
        self.name: str = name if found is None or self._workload is not None else found[2]
        if self._workload is None:
            self._path()  # refuses what cannot be part of a path

    # ── commands ─────────────────────────────────────────────────────────────────────────────

    async def exec(
        self,
        command: Sequence[str],
        *,
        container: str | None = None,
        stdin: Stdin = None,
        check: bool = True,
        timeout: float | None = None,
        max_output: int = MAX_OUTPUT,
    ) -> ExecResult:
        """Run a command in a container, and return what it has written.

        ``(await pod.exec(["cat", "/etc/hostname"])).text``. Cancelling it closes the connection, which does not end a
        command that neither reads nor writes.

        Args:
            command: the command and its arguments; no shell is involved.
            container: the container's name; ``None`` if the pod has only one.
            stdin: what the command reads: bytes, text (sent as UTF-8), or an async iterable of bytes. It is closed
                afterwards, so the server has to speak v5.channel.k8s.io (Kubernetes 1.30).
            check: raise CommandFailed if the exit code is not 0.
            timeout: seconds for all of it; ``None`` for no limit.
            max_output: maximum bytes of output and errors together.

        Returns:
            The exit code, output and errors.

        Raises:
            CommandFailed: the exit code is not 0; has the exit code, the output and the errors.
            CommandNotStarted: the command is not in the image, or the container does not run.
            OutputTooLong: more than ``max_output`` bytes; has the output so far.
            CommandLost: the connection ended before the command; has the output so far.
            DeadlineExceeded: it took longer than ``timeout``.
            NotFound: there is no such pod.
            BadRequest: there is no such container, or the pod has several and none was named (the message has their
                names); or the pod has no node yet.
            Forbidden: not allowed; the message names the verb that is missing.
            PodError: the server cannot close stdin.
            InvalidInput: an argument is invalid.
            TransportError: the connection could not be established.
        """
        words = checked_command(command)
        target, timeout = await self._chosen_within(timeout)
        return await run_command(
            target,
            words,
            container=container,
            stdin=stdin,
            check=check,
            timeout=timeout,
            max_output=max_output,
        )

    def open_exec(
        self,
        command: Sequence[str],
        *,
        container: str | None = None,
        stdin: bool = False,
        stdout: bool = True,
        stderr: bool = True,
        tty: bool = False,
        timeout: float | None = None,
    ) -> AbstractAsyncContextManager[Process]:
        r"""Start a command in a container, with streams to and from it.

        ::

            async with pod.open_exec(["sh"], stdin=True) as shell:
                await shell.stdin.send_all(b"date\n")
                print(await shell.stdout.receive_some())

        Leaving the block closes the connection, which does not end a command that neither reads nor writes.

        Args:
            command: the command and its arguments; no shell is involved.
            container: the container's name; ``None`` if the pod has only one.
            stdin: whether to send to its stdin.
            stdout: whether to receive its output.
            stderr: whether to receive its errors; with a terminal they are part of the output.
            tty: whether it gets a terminal.
            timeout: seconds until it has started; ``None`` means the client's default for streams.

        Raises:
            NotFound: there is no such pod.
            BadRequest: there is no such container, or the pod has several and none was named (the message has their
                names); or the pod has no node yet.
            Forbidden: not allowed; the message names the verb that is missing.
            InvalidInput: an argument is invalid.
            TransportError: the connection could not be established.
        """
        words = checked_command(command)
        return self._open(
            lambda target: open_process(
                target,
                words,
                container=container,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                tty=tty,
                timeout=timeout,
            )
        )

    def attach(
        self,
        *,
        container: str | None = None,
        stdin: bool = False,
        stdout: bool = True,
        stderr: bool = True,
        tty: bool = False,
        timeout: float | None = None,
    ) -> AbstractAsyncContextManager[Process]:
        """Connect to what runs in a container, with streams to and from it.

        What it wrote before is not received: that is in its log. Leaving the block closes the connection, and the
        container runs on.

        Args:
            container: the container's name; ``None`` if the pod has only one.
            stdin: whether to send to its stdin, which it must have been created with (``stdin: true``).
            stdout: whether to receive its output.
            stderr: whether to receive its errors; with a terminal they are part of the output.
            tty: whether to use its terminal, which it must have been created with (``tty: true``).
            timeout: seconds until it is attached; ``None`` means the client's default for streams.

        Raises:
            PodError: the container was created without stdin or without a terminal.
            NotFound: there is no such pod.
            BadRequest: there is no such container, or the pod has several and none was named (the message has their
                names); or the pod has no node yet.
            Forbidden: not allowed; the message names the verb that is missing.
            InvalidInput: no stream is wanted.
            TransportError: the connection could not be established.
        """
        return self._open(
            lambda target: open_attached(
                target, container=container, stdin=stdin, stdout=stdout, stderr=stderr, tty=tty, timeout=timeout
            )
        )

    async def debug(
        self,
        image: str,
        *,
        target: str | None = None,
        command: Sequence[str] | None = None,
        name: str | None = None,
        timeout: float = 60.0,
    ) -> str:
        """Add a container to the running pod, for tools that the pod's own images lack, and wait until it runs.

        ::

            async with pod.attach(container=await pod.debug("busybox"), stdin=True, tty=True) as shell: ...

        It is an ephemeral container (Kubernetes 1.25), with stdin and a terminal. It cannot be removed, and ends with
        its command. If waiting is cancelled, it stays.

        Args:
            image: the image.
            target: a container whose processes it sees; ``None`` for none.
            command: the command and its arguments; ``None`` for the image's own.
            name: the name of the new container; ``None`` for the first free one of ``debugger-1``, ``debugger-2``, ...
            timeout: seconds to wait until it runs.

        Returns:
            The name of the new container, for :meth:`attach` and :meth:`exec`.

        Raises:
            DeadlineExceeded: it does not run in time; the message says what it waits for. It stays in the pod.
            CommandNotStarted: it has ended already; the message has its exit code.
            InvalidInput: an argument is invalid, there is no container ``target``, or there is one called ``name``.
            NotFound: there is no such pod, or the server does not know ephemeral containers.
            Forbidden: not allowed; it needs the verb patch on pods/ephemeralcontainers, and get and watch on pods.
        """
        return await add_debugger(
            await self._chosen(timeout),
            self._api.resource(PODS),
            image,
            container=target,
            command=command,
            name=name,
            timeout=timeout,
        )

    # ── ports ────────────────────────────────────────────────────────────────────────────────

    def port_forward(
        self, port: int | str, *, local_port: int = 0, address: str = "127.0.0.1"
    ) -> AbstractAsyncContextManager[PortForward]:
        """Listen on this machine, and forward each connection to a port of the pod.

        ::

            async with pod.port_forward(80) as forward:
                url = f"http://127.0.0.1:{forward.port}"

        Each connection has a WebSocket of its own. Leaving the block ends the listener and all connections. Anyone
        who can reach the address can use the port.

        Args:
            port: the port of the pod, or the name that one of its containers gives it. If this pod was made for a
                Service, that of the Service, by its number or name, which leads to its target port.
            local_port: the port to listen on; 0 for any free one.
            address: the address to listen on, which decides who can connect.

        Raises:
            NotFound: there is no such pod.
            PodError: the pod does not run; the message says why.
            ConfigError: the address or port cannot be listened on.
            InvalidInput: an argument is invalid.
            TransportError: the API server does not answer.
        """
        check_port(port, named=True)
        check_port(local_port, "local_port", least=0)
        return self._open_port(port, lambda target, number: open_port_forward(target, number, local_port, address))

    def connect(self, port: int | str, *, timeout: float | None = None) -> AbstractAsyncContextManager[PortStream]:
        r"""Connect to a port of the pod, without a listener.

        ::

            async with pod.connect(6379) as stream:
                await stream.send_all(b"PING\r\n")
                print(await stream.receive_some())

        Leaving the block closes the connection.

        Args:
            port: the port of the pod, or the name that one of its containers gives it. If this pod was made for a
                Service, that of the Service, by its number or name, which leads to its target port.
            timeout: seconds until it is open; ``None`` means the client's default for streams.

        Raises:
            NotFound: there is no such pod.
            BadRequest: the pod has no node yet.
            Forbidden: not allowed; the message names the verb that is missing.
            InvalidInput: the port is neither a number between 1 and 65,535 nor the name of one.
            TransportError: the connection could not be established.
        """
        check_port(port, named=True)
        return self._open_port(port, lambda target, number: open_port(target, number, timeout=timeout))

    # ── files ────────────────────────────────────────────────────────────────────────────────

    async def copy_to(
        self,
        local: str | os.PathLike[str],
        remote: str,
        *,
        container: str | None = None,
        progress: Progress = None,
    ) -> Copied:
        """Copy a file or folder from this machine to a container.

        ``await pod.copy_to("site/", "/srv/www")``: the copy of ``site`` is ``/srv/www``. The container's image needs
        ``sh``, ``mkdir``, ``head``, ``tar`` and ``wc``; it works with servers that cannot close stdin, too. Memory does
        not grow with the files. If it is cancelled or fails, some files may have been copied, the last one in part.

        Args:
            local: a file or folder, without symbolic links in it. Files that grow meanwhile are copied with the size
                that they had at first.
            remote: the path of the copy; with a slash at its end, the folder of the copy, which has the same name.
                Folders are created; files that are there are replaced, and others in a folder stay.
            container: the container's name; ``None`` if the pod has only one.
            progress: called with the bytes that were sent so far, headers included. If it raises, the copy ends with
                that exception.

        Returns:
            The number of files and their bytes, after their sizes in the container were compared.

        Raises:
            CopyFailed: something in the container failed, a size is wrong, or a file has become shorter.
            InvalidInput: an argument is invalid, or ``local`` cannot be read or has links.
            ConnectionLost: the connection ended.
            NotFound: there is no such pod.
            BadRequest: there is no such container, the pod has several and none was named, or it has no node yet.
            Forbidden: not allowed; the message names the verb that is missing.
        """
        return await copy_to(await self._chosen(), local, remote, container, progress)

    async def copy_from(
        self,
        remote: str,
        local: str | os.PathLike[str],
        *,
        container: str | None = None,
        progress: Progress = None,
        max_size: int = MAX_SIZE,
    ) -> Copied:
        """Copy a file or folder from a container to this machine.

        ``await pod.copy_from("/var/log/app", "logs")``: the copy is ``logs``. The container's image needs ``tar``. What
        it sends is not trusted: nothing is written outside of ``local``, and links and devices are refused. Memory does
        not grow with the files. If it is cancelled or fails, some files may have been copied, each completely.

        Args:
            remote: a file or folder in the container.
            local: the path of the copy; with a slash at its end, the folder of the copy, which has the same name.
                Folders are created; files that are there are replaced, and others in a folder stay.
            container: the container's name; ``None`` if the pod has only one.
            progress: called with the bytes that were received so far, headers included. If it raises, the copy ends
                with that exception.
            max_size: maximum bytes to receive, headers included; by default 64 GiB.

        Returns:
            The number of files and their bytes.

        Raises:
            UnsafeArchive: the container sent a link, a device, or something that is not in ``remote``.
            CopyFailed: something in the container failed, the archive is incomplete or larger than ``max_size``, or a
                file cannot be written.
            InvalidInput: an argument is invalid.
            ConnectionLost: the connection ended.
            NotFound: there is no such pod.
            BadRequest: there is no such container, the pod has several and none was named, or it has no node yet.
            Forbidden: not allowed; the message names the verb that is missing.
        """
        return await copy_from(await self._chosen(), remote, local, container, progress, max_size)

    def _path(self, subresource: str | None = None) -> str:
        return self._target.path(subresource)

    @property
    def _target(self) -> PodTarget:
        return PodTarget(self._api.rest, self.namespace, self.name)

    async def _chosen(self, timeout: float | None = None) -> PodTarget:
        """Return the pod, after one of a workload was chosen."""
        if self._workload is not None:
            self.name = await self._workload.name(timeout)
        return self._target

    async def _chosen_within(self, timeout: float | None) -> tuple[PodTarget, float | None]:
        """Return the pod, and the seconds that are left of ``timeout``."""
        if self._workload is None:
            return self._target, timeout
        check_timeout(timeout)
        deadline = Deadline.after(timeout)
        return await self._chosen(timeout), deadline.left()

    async def _source(self) -> PodSource:
        await self._chosen()
        return PodSource(self._api, self.name, self.namespace)

    async def _numbers(self, port: int | str) -> tuple[int, int]:
        """Return the number of the port that is meant, and that in the pod, which for a Service may be another one."""
        if self._workload is not None:
            return await self._workload.port(port)
        number = port
        if isinstance(port, str):
            number = container_port(await self._api.resource(PODS).get(self.name, namespace=self.namespace), port)
        assert isinstance(number, int)
        return number, number

    @asynccontextmanager
    async def _open(self, opening: Callable[[PodTarget], AbstractAsyncContextManager[T]]) -> AsyncIterator[T]:
        async with opening(await self._chosen()) as opened:
            yield opened

    @asynccontextmanager
    async def _open_port(
        self, port: int | str, opening: Callable[[PodTarget, int], AbstractAsyncContextManager[T]]
    ) -> AsyncIterator[T]:
        target, (_, number) = await self._chosen(), await self._numbers(port)
        async with opening(target, number) as opened:
            yield opened

    def __repr__(self) -> str:
        return f"<Pod {self.namespace}/{self.name}>"
