"""``dynkube run``: run controllers of a module until a signal."""

from __future__ import annotations

import re
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from dynkube.cli._cluster import Cluster
from dynkube.cli._logging import LogFormat, LogLevel, log_to_stderr
from dynkube.cli._run import CommandFailed
from dynkube.cli._targets import load_operator
from dynkube.controllers import LeaderElection, StatusServer
from dynkube.controllers import run as run_controllers
from dynkube.errors import InvalidInput
from dynkube.telemetry import PrometheusMetrics


async def run(
    *targets: str,
    lease: str | None = None,
    listen: str | None = None,
    shutdown_timeout: Annotated[float, Parameter(validator=Number(gte=0))] = 20.0,
    log_level: LogLevel = "info",
    log_format: LogFormat = "text",
    cluster: Cluster = Cluster(),  # noqa: B008  # immutable, and without options of its own
) -> None:
    """Run the controllers of a module until SIGINT or SIGTERM.

    If the module has a function named lifespan, its context manager is entered before the first reconcile, and exited
    after the last one; its value is ctx.state.

    Stops in order: no further reconcile starts, those that run may end, the lifespan is exited, and the Lease is
    released. A second signal ends the process at once. Exits with 1 if the Lease was lost.

    Args:
        targets: MODULE:NAME or FILE.py:NAME of a Controller, or of a list of them; without :NAME all controllers of the
            module.
        lease: Reconcile only while holding this Lease, NAME or NAMESPACE/NAME; for several replicas.
        listen: Serve /livez, /readyz and /metrics over HTTP at PORT or ADDRESS:PORT.
        shutdown_timeout: Seconds that running reconciles have to end.
        log_level: The least severe level of log records, which go to stderr.
        log_format: Lines of text, or one JSON object a line.
        cluster: The cluster.
    """
    if not targets:
        raise CommandFailed("pass the controllers to run, as MODULE:NAME or FILE.py:NAME")
    election = None if lease is None else _election(lease)
    metrics = None if listen is None else PrometheusMetrics()
    server = None if listen is None else _server(listen, metrics)
    log_to_stderr(log_level, log_format)
    operator = load_operator(targets)
    async with cluster.client(observers=[] if metrics is None else [metrics]) as client:
        await run_controllers(
            client,
            *operator.controllers,
            election=election,
            lifespan=operator.lifespan,
            server=server,
            signals=True,
            shutdown_timeout=shutdown_timeout,
        )


def _election(lease: str) -> LeaderElection:
    namespace, separator, name = lease.rpartition("/")
    try:
        return LeaderElection(name, namespace=namespace if separator else None)
    except InvalidInput as error:
        raise CommandFailed(f"--lease {lease}: {error}") from error


def _server(listen: str, metrics: PrometheusMetrics | None) -> StatusServer:
    found = re.fullmatch(r"(?:\[?([^\[\]]*?)\]?:)?(\d{1,5})", listen, re.ASCII)
    if found is None:
        raise CommandFailed(f"--listen {listen}: pass a port, like 8080, or an address and a port, like 127.0.0.1:8080")
    try:
        return StatusServer(host=found[1] or "0.0.0.0", port=int(found[2]), metrics=metrics)  # noqa: S104  # as in a pod
    except InvalidInput as error:
        raise CommandFailed(f"--listen {listen}: {error}") from error
