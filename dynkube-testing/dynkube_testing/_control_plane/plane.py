"""Real etcd and kube-apiserver for tests, as in controller-runtime's envtest.

Unless requested, there are no controllers and no scheduler, and there are never nodes. Without controllers deleted
namespaces stay ``Terminating``, a Deployment creates no ReplicaSet, nothing is garbage collected, and namespaces have
no ServiceAccount ``default``.
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
from dynkube_testing._control_plane import probes
from dynkube_testing._control_plane.binaries import Assets
from dynkube_testing._control_plane.credentials import Credentials
from dynkube_testing._control_plane.flags import Flags, check_flags
from dynkube_testing._control_plane.folder import Folder, given_path
from dynkube_testing._control_plane.process import ServerProcess
from dynkube_testing._control_plane.startup import Settings, Startup
from dynkube_testing._wire.endpoint import Endpoint


class ControlPlane:
    """A real etcd and kube-apiserver, running inside a ``with`` block.

    ::

        with ControlPlane() as plane:
            subprocess.run(["kubectl", "--kubeconfig", plane.write_kubeconfig("kubeconfig"), "get", "namespaces"])

    ``with`` blocks for some seconds while the servers start. ``async with`` does not block trio's event loop; if it is
    cancelled, the started processes are killed. Leaving the block kills the servers and removes their files. A control
    plane can be entered only once. Its methods may be called from any thread.

    Needs the extra ``control-plane`` of dynkube-testing, and Linux or macOS. Supports kube-apiserver 1.20 and later.

    Args:
        assets: The folder with ``kube-apiserver``, ``etcd`` and optionally ``kubectl``. By default they are found as by
            envtest: ``$TEST_ASSET_KUBE_APISERVER``, ``$TEST_ASSET_ETCD``, ``$TEST_ASSET_KUBECTL`` and so on are the
            paths of single programs; ``$KUBEBUILDER_ASSETS`` is the folder of the others (default:
            ``/usr/local/kubebuilder/bin``).
        api_server_flags: Additional or changed flags of kube-apiserver: ``{"feature-gates": "WatchList=false"}``.
            ``None`` removes a default flag, a list repeats a flag.
        etcd_flags: Additional or changed flags of etcd, in the same form.
        controller_manager: Whether to start kube-controller-manager, whose program must be with the others. The
            ServiceAccount admission plugin is then enabled, as in a cluster.
        controller_manager_flags: Additional or changed flags of it, in the same form.
        scheduler: Whether to start kube-scheduler, whose program must be with the others.
        scheduler_flags: Additional or changed flags of it, in the same form.
        port: Port of kube-apiserver on 127.0.0.1; ``0`` selects a free port.
        folder: Folder for data, certificates and logs; default: a new temporary folder. With the folder of an earlier
            control plane, its objects exist again.
        keep: Whether to keep the folder at the end of the block; can also be set as an attribute inside the block. By
            default a given folder is kept and a temporary one is removed. The folder is always kept if the block raised
            an exception (to which a note with the path is added), or if a server exited by itself (a warning has the
            path).
        start_timeout: Seconds to wait for each server to become ready.
        stop_timeout: Seconds to wait for each server to exit after SIGTERM.

    Raises:
        InvalidInput: A flag or the port is invalid.
    """

    def __init__(
        self,
        assets: str | os.PathLike[str] | None = None,
        *,
        api_server_flags: Flags | None = None,
        etcd_flags: Flags | None = None,
        controller_manager: bool = False,
        controller_manager_flags: Flags | None = None,
        scheduler: bool = False,
        scheduler_flags: Flags | None = None,
        port: int = 0,
        folder: str | os.PathLike[str] | None = None,
        keep: bool | None = None,
        start_timeout: float = 120.0,
        stop_timeout: float = 90.0,
    ) -> None:
        if not 0 <= port <= 65535:
            raise InvalidInput(f"port {port} is not between 0 and 65535 (0 picks a free one)")
        for name, wanted, flags in (
            ("controller_manager", controller_manager, controller_manager_flags),
            ("scheduler", scheduler, scheduler_flags),
        ):
            if flags and not wanted:
                raise InvalidInput(f"{name}_flags are given without {name}=True, so nothing would use them")
        check_flags(
            api_server=api_server_flags or {},
            etcd=etcd_flags or {},
            controller_manager=controller_manager_flags or {},
            scheduler=scheduler_flags or {},
        )
        self._settings = Settings(
            assets=Assets(folder=given_path(assets), environment=dict(os.environ)),
            api_server_flags=dict(api_server_flags or {}),
            etcd_flags=dict(etcd_flags or {}),
            controller_manager=controller_manager,
            controller_manager_flags=dict(controller_manager_flags or {}),
            scheduler=scheduler,
            scheduler_flags=dict(scheduler_flags or {}),
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
            raise ClosedError("this ControlPlane was entered before; create a new one")
        self._entered = True
        self._holdings.owner = os.getpid()
        self._folder = self._holdings.folder = Folder(self._given_folder)
        # Cleans up if __exit__ is never called, for example in a notebook.
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
            raise RuntimeError("'async with ControlPlane()' requires trio: use 'with', or enter it in a thread")
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
        startup.controller_manager(credentials, port)
        startup.scheduler(credentials, port)
        return _Running(
            endpoint=credentials.endpoint(port),
            credentials=credentials,
            port=port,
            etcd=probes.Site(etcd_port),
            version=startup.version,
        )

    def _end(self, error: BaseException | None) -> None:
        """Kill the servers, and remove their files unless they are needed for debugging."""
        self._running = None
        if not self._holdings.mine:
            return
        assert self._folder is not None
        crashed = self._holdings.end_servers()
        self._abandoned.detach()
        endings = [f"{server.name} exited unexpectedly, {server.ending}" for server in crashed]
        story = "; ".join([*endings, f"the logs of the control plane are in {self._folder.path}"])
        # Only an Exception means failure. Other exceptions are cancellation, a skipped test, or KeyboardInterrupt.
        failure = error if isinstance(error, Exception) and self._folder.has_logs else None
        if failure is None and not crashed and not self.keep:
            self._folder.remove()
        self._folder.release()  # after this, another control plane may use the folder
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
        """Whether to keep the folder when the block ends; may be set inside the block."""
        return self._holdings.keep

    @keep.setter
    def keep(self, keep: bool) -> None:
        self._holdings.keep = keep

    # ── connecting clients ────────────────────────────────────────────────────────────────

    @property
    def endpoint(self) -> Endpoint:
        """URL, CA and credentials of the administrator (group ``system:masters``)."""
        return self._now().endpoint

    @property
    def url(self) -> str:
        """Base URL of kube-apiserver, like ``https://127.0.0.1:21853``."""
        return self.endpoint.url

    @property
    def ca_pem(self) -> bytes:
        """The CA certificate of kube-apiserver, in PEM."""
        return self._now().credentials.ca_pem

    @property
    def version(self) -> str:
        """Version of kube-apiserver, like ``v1.36.3``."""
        return self._now().version

    @property
    def kubectl(self) -> Path:
        """Path of the kubectl beside the other programs, or of the one on ``$PATH``.

        Raises:
            ControlPlaneError: There is no kubectl, or it cannot be executed on this machine.
        """
        return self._settings.assets.kubectl()

    def kubeconfig(self, *, context: str = "dynkube", namespace: str = "default") -> dict[str, object]:
        """Return the administrator's kubeconfig as a mapping."""
        return self.endpoint.kubeconfig(context=context, namespace=namespace)

    def write_kubeconfig(
        self, path: str | os.PathLike[str], *, context: str = "dynkube", namespace: str = "default"
    ) -> Path:
        """Write :meth:`kubeconfig` to ``path`` and return the path.

        The file gets mode 0600 and is replaced atomically. This is blocking file I/O.

        Raises:
            OSError: The directory does not exist or cannot be written to.
        """
        return self.endpoint.write_kubeconfig(path, context=context, namespace=namespace)

    def add_user(self, name: str, *, groups: Iterable[str] = ()) -> Endpoint:
        """Issue a client certificate for user ``name``, and return an endpoint that uses it.

        Use the endpoint to write a kubeconfig for the user. The user is also in the group ``system:authenticated``. To
        give the user permissions, create RBAC objects as the administrator. Nothing is stored in the server; calling
        this again with the same name issues another certificate.

        Raises:
            InvalidInput: The name or a group is empty or too long for a certificate.
        """
        running = self._now()
        return running.credentials.endpoint(running.port, name, groups)

    # ── servers ───────────────────────────────────────────────────────────────────────────

    @property
    def api_server(self) -> ServerProcess:
        """The kube-apiserver process: stop, kill, restart or pause it, or read its log."""
        self._now()
        return self._servers["kube-apiserver"]

    @property
    def etcd(self) -> ServerProcess:
        """The etcd process: stop, kill, restart or pause it, or read its log."""
        self._now()
        return self._servers["etcd"]

    @property
    def controller_manager(self) -> ServerProcess:
        """The kube-controller-manager process: stop, kill, restart or pause it, or read its log.

        Raises:
            ClosedError: The control plane is not running, or has none: pass ``controller_manager=True``.
        """
        return self._component("kube-controller-manager", "controller_manager")

    @property
    def scheduler(self) -> ServerProcess:
        """The kube-scheduler process: stop, kill, restart or pause it, or read its log.

        Raises:
            ClosedError: The control plane is not running, or has none: pass ``scheduler=True``.
        """
        return self._component("kube-scheduler", "scheduler")

    def _component(self, name: str, argument: str) -> ServerProcess:
        self._now()
        if name not in self._servers:
            raise ClosedError(f"this control plane has no {name}: create it with ControlPlane({argument}=True)")
        return self._servers[name]

    @property
    def folder(self) -> Path:
        """The folder with data, certificates and logs."""
        if self._folder is None:
            raise ClosedError("the control plane has no folder yet: use it inside 'with ControlPlane() as plane:'")
        return self._folder.path

    def compact(self) -> int:
        """Compact etcd at the current revision, and return that revision.

        Blocks until etcd has done it.

        Lists and watches from older resourceVersions then get 410, unless kube-apiserver still has these in its watch
        cache. So restart kube-apiserver (``plane.api_server.restart()``), which empties the cache, or disable the cache
        with ``ControlPlane(api_server_flags={"watch-cache": False})``.

        Raises:
            ControlPlaneError: etcd does not respond.
        """
        return probes.compact(self._now().etcd)

    def describe(self) -> str:
        """Return one line per server, with its state and the path of its log."""
        return "\n".join(map(repr, self._servers.values())) or "not started"

    def logs(self, lines: int = 20) -> str:
        """Return the last log lines of each server, with their names and log paths.

        This is blocking file I/O.
        """
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
    """The processes and the folder of a control plane, which must be cleaned up.

    They are a separate object because the control plane may be garbage collected before the cleanup.
    """

    keep: bool
    owner: int = 0
    folder: Folder | None = None
    servers: dict[str, ServerProcess] = field(default_factory=dict)

    @property
    def mine(self) -> bool:
        """Whether this process has started the servers; ``False`` in a fork of it."""
        return os.getpid() == self.owner

    def end_servers(self) -> list[ServerProcess]:
        """Kill the servers permanently, and return those that had exited by themselves.

        They are killed in the reverse order of their start, which is that of their names, as the others would log
        errors.
        """
        crashed = [server for server in self.servers.values() if server.crashed]
        for name in sorted(self.servers, reverse=True):
            self.servers[name]._retire()
        return crashed

    def abandon(self) -> None:
        """Clean up after a control plane whose block was never left."""
        if self.mine and self.folder is not None:
            if not (self.end_servers() or self.keep):
                self.folder.remove()
            self.folder.release()
