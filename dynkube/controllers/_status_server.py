"""``StatusServer``: the HTTP server for the kubelet's probes and for Prometheus."""

from __future__ import annotations

import inspect
import ipaddress
import logging
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import trio

from dynkube._logs import get_logger
from dynkube.controllers._probes import Checked, ProbeApp
from dynkube.errors import ConfigError, InvalidInput
from dynkube.meta._arguments import a_type, brief
from dynkube.telemetry import PrometheusMetrics

_HEADER_BYTES: Final = 16 * 1024
_SECONDS: Final = 10.0  # for a request to arrive, and for an idle connection

_log: Final = get_logger("dynkube.controllers")


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusServer:
    """An HTTP server for probes and metrics, which :func:`run` starts: ``run(..., server=StatusServer())``.

    - ``/livez`` and ``/healthz`` return 200 while the event loop runs; 500 if the lease has expired and reconciles that
      cannot be cancelled are still running.
    - ``/readyz`` returns 200 once the informers of all controllers are synced, which includes standbys and resources
      that are not installed, and until the process shuts down; otherwise 500.
    - ``/metrics`` returns all metrics in the registry of ``metrics``; 404 without it.

    Probes take ``?verbose``, ``?exclude=CHECK`` and ``/readyz/CHECK``, as those of the API server do; a check is a
    controller's name, NAME/CLUSTER if there are several clusters, or one of ``checks``. There is no authentication and
    no TLS: responses have names of controllers and resources, but no content of objects.

    Attributes:
        host: the IP address to listen on; by default all of IPv4, as the kubelet connects to the pod's address.
        port: the port; 0 for a free one.
        checks: further readiness checks, by name. They are plain functions, called in the event loop; they fail if they
            return ``False`` or raise.
        metrics: for ``/metrics``; pass the same to ``dynkube.connect(observers=[metrics])``.

    Raises:
        InvalidInput: an argument is invalid.
    """

    host: str = "0.0.0.0"  # noqa: S104  # the kubelet connects to the pod's address
    port: int = 8080
    checks: Mapping[str, Callable[[], object]] = field(default_factory=dict)
    metrics: PrometheusMetrics | None = None

    def __post_init__(self) -> None:
        host: object = self.host  # callers are not always type-checked
        port: object = self.port
        checks: object = self.checks
        metrics: object = self.metrics
        if not isinstance(host, str) or not _is_address(host):
            raise InvalidInput(f"host={brief(host)}: pass an IP address, like '0.0.0.0' or '127.0.0.1'")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
            raise InvalidInput(f"port={brief(port)}: pass a number from 0 to 65535")
        if metrics is not None and not isinstance(metrics, PrometheusMetrics):
            raise InvalidInput(f"metrics is {a_type(metrics)}: pass a PrometheusMetrics, or None")
        if not isinstance(checks, Mapping):
            raise InvalidInput(f"checks is {a_type(checks)}: pass a mapping of names to functions")
        for name, check in checks.items():
            if inspect.iscoroutinefunction(check):  # it would always pass
                raise InvalidInput(
                    f"checks has {brief(name)}: an async function; pass a plain one, as checks never wait"
                )
            if not isinstance(name, str) or not name or not callable(check):
                raise InvalidInput(f"checks has {brief(name)}: {a_type(check)}; pass a mapping of names to functions")


async def serve(
    settings: StatusServer, controllers: Checked, *, task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED
) -> None:
    """Serve until cancelled. Reports its URL when it has started.

    Raises:
        ConfigError: hypercorn is not installed, or the address cannot be used.
    """
    try:
        import hypercorn.config
        import hypercorn.trio
    except ImportError as error:
        raise ConfigError("StatusServer requires the package hypercorn: pip install 'dynkube[controllers]'") from error
    metrics = None
    if settings.metrics is not None:
        # In a thread, as thousands of series take longer than the event loop may be held; in one at a time, so that
        # scrapes without end do not take the threads of the program.
        one = trio.CapacityLimiter(1)
        metrics = partial(trio.to_thread.run_sync, settings.metrics.exposition, limiter=one)
    app = ProbeApp(controllers, settings.checks, metrics)
    config = hypercorn.config.Config()
    config.bind = [f"fd://{_listening(settings.host, settings.port).detach()}"]
    config.errorlog = _log.getChild("http")
    if config.errorlog.level == logging.NOTSET:
        config.errorlog.setLevel(logging.WARNING)  # the start is logged below
    config.accesslog = None
    config.include_server_header = False
    config.h11_max_incomplete_size = _HEADER_BYTES
    config.keep_alive_timeout = _SECONDS
    config.read_timeout = int(_SECONDS)
    config.graceful_timeout = 0
    async with trio.open_nursery() as nursery:
        (url,) = await nursery.start(hypercorn.trio.serve, app, config)
        _log.info("probes and metrics are served at %s", url)
        task_status.started(url)


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        ConfigError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host} port {port}: {error.strerror or error}; choose another host or port"
        ) from error


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
