"""The options that select the cluster, shared by all commands with one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dynkube._client import Client
from dynkube._connect import connect
from dynkube.cli._run import CommandFailed
from dynkube.telemetry import Observer


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Which cluster, and as whom."""

    context: str | None = None
    """Context of the kubeconfig, instead of its current one."""
    kubeconfig: Path | None = None
    """Path of the kubeconfig, instead of $KUBECONFIG, ~/.kube/config, or the pod's service account."""
    url: str | None = None
    """URL of the API server, instead of any kubeconfig."""
    token: str | None = None
    """Bearer token, with --url."""
    insecure: Annotated[bool, Parameter(negative="")] = False
    """With --url: do not verify the server's certificate."""

    def client(self, *, observers: Iterable[Observer] = ()) -> Client:
        """Return the client, not entered yet.

        Args:
            observers: hooks called on its requests and informers.

        Raises:
            CommandFailed: options exclude each other.
        """
        if self.url is not None and self.kubeconfig is not None:
            raise CommandFailed("--url and --kubeconfig are mutually exclusive: each selects the cluster; pass one")
        if self.url is not None and self.context is not None:
            raise CommandFailed(
                "--url and --context are mutually exclusive: a context belongs to a kubeconfig; pass one"
            )
        for option, given in (("--token", self.token is not None), ("--insecure", self.insecure)):
            if given and self.url is None:
                raise CommandFailed(f"{option} requires --url: a kubeconfig has its own")
        return connect(
            context=self.context,
            kubeconfig=self.kubeconfig,
            url=self.url,
            token=self.token,
            verify=not self.insecure,
            observers=observers,
        )
