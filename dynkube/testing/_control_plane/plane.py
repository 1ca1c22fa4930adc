"""A real etcd and kube-apiserver for tests, as controller-runtime's envtest starts them.

They are alone: no controllers, no scheduler, no nodes. Namespaces that are deleted stay ``Terminating``, a Deployment
makes no ReplicaSet, nothing is garbage collected, and namespaces have no ServiceAccount ``default``.
"""

from __future__ import annotations

import os
import sys
import warnings
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import trio

from dynkube.errors import ClosedError, ControlPlaneError, InvalidInput
from dynkube.testing._control_plane import probes
from dynkube.testing._control_plane.binaries import Assets
from dynkube.testing._control_plane.credentials import Credentials
from dynkube.testing._control_plane.flags import Flags, check_flags
from dynkube.testing._control_plane.folder import Folder, given_path
from dynkube.testing._control_plane.process import ServerProcess
from dynkube.testing._control_plane.startup import Settings, Startup
from dynkube.testing._wire.endpoint import Endpoint


class ControlPlane:
    """A real Kubernetes control plane, etcd and kube-apiserver, that runs inside a ``with`` block.

    ::

        with ControlPlane() as plane:
            subprocess.run(["kubectl", "--kubeconfig", plane.write_kubeconfig("kubeconfig"), "get", "namespaces"])

    ``with`` blocks while it starts, for some seconds. ``async with`` lets trio's loop go on, and a start that is
    cancelled takes its processes with it. Leaving the block kills both servers and removes what they wrote. A control
    plane can be entered once; its functions may be called from any thread.

    Needs the ``control-plane`` extra, and Linux or macOS. Made for kube-apiserver 1.20 and later.

    Args:
        assets: The folder with ``kube-apiserver``, ``etcd`` and perhaps ``kubectl``. Unless given they are looked for
            as envtest does: ``$TEST_ASSET_KUBE_APISERVER``, ``$TEST_ASSET_ETCD`` and ``$TEST_ASSET_KUBECTL`` name one
            program each, ``$KUBEBUILDER_ASSETS`` names their folder, which else is ``/usr/local/kubebuilder/bin``.
        api_server_flags: More flags for kube-apiserver, or other values: ``{"feature-gates": "WatchList=false"}``.
            ``None`` takes a default away, a list gives a flag several times.
        etcd_flags: The same for etcd.
        port: Where kube-apiserver listens on 127.0.0.1; ``0`` takes any free port.
        folder: Where data, certificates and logs go; a new temporary folder unless given. One that an earlier control
            plane has left still has its objects.
        keep: Whether to leave the folder when the block ends; may also be set inside the block, as an attribute. Unless
            given, a folder that was named stays and a temporary one goes. Whatever this says, the folder stays where
            the block raised an exception, which gets a note, or where a server ended by itself, which is a warning.
        start_timeout: Seconds that each server has to get ready.
        stop_timeout: Seconds that each server has to end when it is asked to.

    Raises:
        InvalidInput: A flag or the port cannot be set so.
    """

    def __init__(
        self,
        assets: str | os.PathLike[str] | None = None,
        *,
        api_server_flags: Flags | None = None,
        etcd_flags: Flags | None = None,
        port: int = 0,
        folder: str | os.PathLike[str] | None = None,
        keep: bool | None = None,
        start_timeout: float = 120.0,
        stop_timeout: float = 90.0,
    ) -> None:
        if not 0 <= port <= 65535:
            raise InvalidInput(f"port {port} is not between 0 and 65535 (0 takes any free one)")
        check_flags(api_server_flags or {}, etcd_flags or {})
        self._settings = Settings(
            assets=Assets(folder=given_path(assets), environment=dict(os.environ)),
            api_server_flags=dict(api_server_flags or {}),
            etcd_flags=dict(etcd_flags or {}),
            port=port,
            start_timeout=start_timeout,
            stop_timeout=stop_timeout,
        )
        self._given_folder = given_path(folder)
        self._entered = False
        self._folder: Folder | None = None
        self._running: _Running | None = None
        self._holdings = _Holdings(keep=folder is not None if keep is None else keep)
        self._servers = self._holdings.servers

    # ── lifetime ──────────────────────────────────────────────────────────────────────────

    def __enter__(self) -> Self:
        if sys.platform == "win32":
            raise ControlPlaneError(
                "a control plane runs on Linux and macOS; Windows lacks the signals for its servers"
            )
        if self._entered:
            raise ClosedError("this ControlPlane was entered before; make a new one")
        self._entered = True
        self._holdings.owner = os.getpid()
        self._folder = self._holdings.folder = Folder(self._given_folder)
        # Where nobody leaves the block: a notebook at its end, a program that never gets to __exit__.
        self._abandoned = weakref.finalize(self, self._holdings.abandon)
        try:
            self._running = self._start(self._folder)
        except BaseException as error:
            self._end(error)
            raise
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end(exc)

    async def __aenter__(self) -> Self:
        if not trio.lowlevel.in_trio_run():
            raise RuntimeError("'async with ControlPlane()' is for trio; elsewhere say 'with', or enter it in a thread")
        return await trio.to_thread.run_sync(self.__enter__)

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self._end, exc)

    def _start(self, folder: Folder) -> _Running:
        startup = Startup(self._settings, folder.path, self._servers)
        credentials = Credentials(folder, datetime.now(UTC))
        etcd_port = startup.etcd()
        port = startup.api_server(credentials, etcd_port)
        return _Running(
            endpoint=credentials.endpoint(port),
            credentials=credentials,
            port=port,
            etcd=probes.Site(etcd_port),
            version=startup.version,
        )

    def _end(self, error: BaseException | None) -> None:
        """Kill what runs, and remove what was written unless somebody will want to read it."""
        self._running = None
        if not self._holdings.mine:
            return
        assert self._folder is not None
        crashed = self._holdings.end_servers()
        self._abandoned.detach()
        endings = [f"{server.name} ended by itself, {server.ending}" for server in crashed]
        story = "; ".join([*endings, f"the logs of the control plane are in {self._folder.path}"])
        # What is no Exception is no failure: somebody cancelled, skipped a test, or pressed Ctrl-C.
        failure = error if isinstance(error, Exception) and self._folder.has_logs else None
        if failure is None and not crashed and not self.keep:
            self._folder.remove()
        self._folder.release()  # only now: another may start there at once
        if failure is not None:
            failure.add_note(story)
        elif crashed:
            warnings.warn(story, RuntimeWarning, stacklevel=3)

    def _now(self) -> _Running:
        if self._running is None:
            raise ClosedError("the control plane is not running: use it inside 'with ControlPlane() as plane:'")
        return self._running

    def __repr__(self) -> str:
        state = f"{self.version} at {self.url}" if self._running else "not running"
        return f"<ControlPlane {state}>"

    @property
    def keep(self) -> bool:
        """Whether to leave the folder when the block ends; may be set inside the block."""
        return self._holdings.keep

    @keep.setter
    def keep(self, keep: bool) -> None:
        self._holdings.keep = keep

    # ── how clients reach it ──────────────────────────────────────────────────────────────

    @property
    def endpoint(self) -> Endpoint:
        """Where kube-apiserver is, for its administrator, who may do everything (``system:masters``)."""
        return self._now().endpoint

    @property
    def url(self) -> str:
        """Its address, like ``https://127.0.0.1:21853``."""
        return self.endpoint.url

    @property
    def ca_pem(self) -> bytes:
        """The certificate authority to trust."""
        return self._now().credentials.ca_pem

    @property
    def version(self) -> str:
        """What kube-apiserver calls itself, like ``v1.36.3``."""
        return self._now().version

    @property
    def kubectl(self) -> Path:
        """The kubectl among the assets, else the one on ``$PATH``.

        Raises:
            ControlPlaneError: There is none, or it cannot be run here.
        """
        return self._settings.assets.kubectl()

    def kubeconfig(self, *, context: str = "dynkube", namespace: str = "default") -> dict[str, object]:
        """The administrator's kubeconfig, decoded."""
        return self.endpoint.kubeconfig(context=context, namespace=namespace)

    def write_kubeconfig(
        self, path: str | os.PathLike[str], *, context: str = "dynkube", namespace: str = "default"
    ) -> Path:
        """Write :meth:`kubeconfig` to ``path`` (mode 0600, replaced as a whole) and return the path.

        Raises:
            OSError: The directory does not exist or cannot be written to.
        """
        return self.endpoint.write_kubeconfig(path, context=context, namespace=namespace)

    def add_user(self, name: str, *, groups: Iterable[str] = ()) -> Endpoint:
        """Let a user in, by a client certificate: the same server as ``name``, with a kubeconfig of its own.

        Like everybody it is in ``system:authenticated`` too. It may do what stored roles allow it; create these as the
        administrator. Nothing is stored, and nothing restarted: the same name again gives another certificate.

        Raises:
            InvalidInput: The name or a group is empty or too long for a certificate.
        """
        running = self._now()
        return running.credentials.endpoint(running.port, name, groups)

    # ── its servers ───────────────────────────────────────────────────────────────────────

    @property
    def api_server(self) -> ServerProcess:
        """The process of kube-apiserver: ``kill()``, ``stop()``, ``start()``, ``restart()``, ``pause()``, ``log``."""
        self._now()
        return self._servers["kube-apiserver"]

    @property
    def etcd(self) -> ServerProcess:
        """The process of etcd, the same way."""
        self._now()
        return self._servers["etcd"]

    @property
    def folder(self) -> Path:
        """Where data, certificates and logs are."""
        if self._folder is None:
            raise ClosedError("the control plane has no folder yet: use it inside 'with ControlPlane() as plane:'")
        return self._folder.path

    def compact(self) -> int:
        """Let etcd forget all revisions but the current ones, and return the revision this was done at. Blocks.

        Who resumes at an older resourceVersion gets 410 from then on, unless kube-apiserver still has it in its watch
        cache: that forgets with ``plane.api_server.restart()``, and is not there with
        ``ControlPlane(api_server_flags={"watch-cache": False})``.

        Raises:
            ControlPlaneError: etcd does not answer.
        """
        return probes.compact(self._now().etcd)

    def describe(self) -> str:
        """Each server in a line: whether it runs, and where its log is; for reports."""
        return "\n".join(map(repr, self._servers.values())) or "not started"

    def logs(self, lines: int = 20) -> str:
        """The last lines of both servers, under their names and the paths of their logs. Blocks on the file system."""
        return "\n".join(f"── {server.name}: {server.log}\n{server.tail(lines)}" for server in self._servers.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    endpoint: Endpoint
    credentials: Credentials
    port: int
    etcd: probes.Site
    version: str


@dataclass(slots=True, kw_only=True)
class _Holdings:
    """What is to be ended and removed: apart from the control plane, as that may be gone by then."""

    keep: bool
    owner: int = 0
    folder: Folder | None = None
    servers: dict[str, ServerProcess] = field(default_factory=dict)

    @property
    def mine(self) -> bool:
        """Whether this process started them, and is no fork of the one that did."""
        return os.getpid() == self.owner

    def end_servers(self) -> list[ServerProcess]:
        """End them for good, the API server before etcd, or it would complain of that in its log.

        Returns:
            Those that had ended by themselves.
        """
        crashed = [server for server in self.servers.values() if server.crashed]
        for name in sorted(self.servers, reverse=True):
            self.servers[name]._retire()
        return crashed

    def abandon(self) -> None:
        """Do what leaving the block does, where nobody does that."""
        if self.mine and self.folder is not None:
            if not (self.end_servers() or self.keep):
                self.folder.remove()
            self.folder.release()
