"""Start the servers of a control plane, retrying if a chosen port is taken meanwhile."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dynkube.errors import ControlPlaneError
from dynkube_testing._control_plane import probes
from dynkube_testing._control_plane.binaries import Assets, version_of
from dynkube_testing._control_plane.credentials import Credentials
from dynkube_testing._control_plane.flags import (
    Flags,
    api_server_flags,
    controller_manager_flags,
    etcd_flags,
    scheduler_flags,
)
from dynkube_testing._control_plane.ports import LOOPBACK, free_port, is_free
from dynkube_testing._control_plane.process import ServerProcess

_PORT_ATTEMPTS = 5
_KUBERNETES = r"Kubernetes (v\d+\.\d+\.\d\S*)"
Build = Callable[[int], ServerProcess]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Options of a control plane."""

    assets: Assets
    api_server_flags: Flags
    etcd_flags: Flags
    controller_manager: bool
    controller_manager_flags: Flags
    scheduler: bool
    scheduler_flags: Flags
    port: int
    start_timeout: float
    stop_timeout: float


class Startup:
    """Creates and starts the servers, in the order of the methods.

    Creating this object checks the programs and executes them to get their versions.

    Args:
        settings: The options of the control plane.
        folder: The folder for data and logs.
        servers: The created servers are added to it by name, so that the caller can end them.

    Raises:
        ControlPlaneError: A program is missing or cannot be executed, or the requested port of kube-apiserver is taken.
    """

    def __init__(self, settings: Settings, folder: Path, servers: dict[str, ServerProcess]) -> None:
        self._settings = settings
        self._folder = folder
        self._servers = servers
        self._rng = random.SystemRandom()
        if settings.port and not is_free(settings.port):
            where = f"port {settings.port} of {LOOPBACK}"
            raise ControlPlaneError(f"{where} is in use: stop the process that listens there, or pass port=0")
        self._api_server_program = settings.assets.program("kube-apiserver")
        self._etcd_program = settings.assets.program("etcd")
        wanted = {"kube-controller-manager": settings.controller_manager, "kube-scheduler": settings.scheduler}
        self._components = {name: settings.assets.program(name) for name, wanted in wanted.items() if wanted}
        self.version = version_of(self._api_server_program, _KUBERNETES)
        self._component_versions = {
            name: _major_minor(version_of(program, _KUBERNETES)) for name, program in self._components.items()
        }
        self.etcd_version = version_of(self._etcd_program, r"etcd Version: (\d+\.\d+\.\d\S*)")

    def etcd(self) -> int:
        """Start etcd, wait until it is ready, and return its port.

        Raises:
            ControlPlaneError: etcd does not become ready.
        """
        version = _numbers(self.etcd_version)

        def build(port: int) -> ServerProcess:
            flags = etcd_flags(version, self._folder, port=port, given=self._settings.etcd_flags)
            return self._server("etcd", self._etcd_program, flags, partial(probes.etcd_failure, probes.Site(port)))

        return self._start(build, 0)

    def api_server(self, credentials: Credentials, etcd_port: int) -> int:
        """Start kube-apiserver, wait until it is ready, and return its port.

        Raises:
            ControlPlaneError: kube-apiserver does not become ready.
        """
        tls = credentials.tls()

        def build(port: int) -> ServerProcess:
            flags = api_server_flags(
                _major_minor(self.version),
                self._folder,
                port=port,
                etcd_url=f"http://{LOOPBACK}:{etcd_port}",
                given=self._settings.api_server_flags,
                controllers=self._settings.controller_manager,
            )
            site = probes.Site(port, tls)
            return self._server(
                "kube-apiserver", self._api_server_program, flags, partial(probes.api_server_failure, site)
            )

        return self._start(build, self._settings.port)

    def controller_manager(self, credentials: Credentials, api_server_port: int) -> None:
        """Start kube-controller-manager if it is wanted, and wait until it is ready.

        Raises:
            ControlPlaneError: kube-controller-manager does not become ready.
        """
        name, settings = "kube-controller-manager", self._settings
        if name not in self._components:
            return
        credentials.write_for(name, api_server_port)
        tls = credentials.tls()

        def build(port: int) -> ServerProcess:
            version, given = self._component_versions[name], settings.controller_manager_flags
            flags = controller_manager_flags(version, self._folder, port=port, given=given)
            site = probes.Site(port, tls)
            probe = partial(probes.controller_manager_failure, site, probes.Site(api_server_port, tls))
            if "controllers" in given:  # perhaps without the one that creates ServiceAccounts
                probe = partial(probes.component_failure, site)
            return self._server(name, self._components[name], flags, probe)

        self._start(build, 0)

    def scheduler(self, credentials: Credentials, api_server_port: int) -> None:
        """Start kube-scheduler if it is wanted, and wait until it is ready.

        Raises:
            ControlPlaneError: kube-scheduler does not become ready.
        """
        name = "kube-scheduler"
        if name not in self._components:
            return
        credentials.write_for(name, api_server_port)
        tls = credentials.tls()

        def build(port: int) -> ServerProcess:
            version, given = self._component_versions[name], self._settings.scheduler_flags
            flags = scheduler_flags(version, self._folder, port=port, given=given)
            return self._server(
                name, self._components[name], flags, partial(probes.component_failure, probes.Site(port, tls))
            )

        self._start(build, 0)

    def _server(self, name: str, program: Path, flags: list[str], probe: Callable[[], str]) -> ServerProcess:
        server = ServerProcess(
            name,
            [str(program), *flags],
            log=self._folder / f"{name}.log",
            environment=_without_etcd_settings(self._settings.assets.environment),
            probe=probe,
            start_timeout=self._settings.start_timeout,
            stop_timeout=self._settings.stop_timeout,
        )
        self._servers[name] = server
        return server

    def _start(self, build: Build, fixed_port: int) -> int:
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            port = fixed_port or free_port(self._rng)
            server = build(port)
            try:
                server.start()
            except ControlPlaneError:
                if fixed_port or attempt == _PORT_ATTEMPTS or not server._found_port_taken():
                    raise
            else:
                return port
        raise AssertionError("the last attempt returns or raises")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _major_minor(version: str) -> tuple[int, int]:
    major, minor, *_ = _numbers(version)
    return major, minor


def _without_etcd_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return ``environment`` without etcd's variables.

    etcd does not start if an option is set by both a flag and a variable.
    """
    return {name: value for name, value in environment.items() if not name.startswith("ETCD_")}
