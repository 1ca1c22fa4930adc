"""The made-up cluster: an API server in a thread, filled, and what may be made to happen in it."""

from __future__ import annotations

import atexit
import random
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import dynkube.sync
from demo_cluster._apps import APPS
from demo_cluster._controllers import Clock, Controllers
from dynkube.testing import APIServer, ServerThread, User, serve_in_thread

_SEED = 2026  # the same names each time
_ADMIN, _ADA = "admins-token", "adas-token"  # no secrets: the server listens on this machine alone, for as long as
_MANIFESTS = Path(__file__).parent / "manifests"


class DemoCluster:
    """A running cluster; :func:`start` makes it.

    Attributes:
        server: The API server.
        kubeconfig: What leads there, for :func:`dynkube.sync.connect`: as the user ``ada``, to the namespace ``shop``.
    """

    def __init__(self, server: ServerThread, clock: Clock) -> None:
        self.server = server
        self.kubeconfig: dict[str, Any] = replace(server.endpoint, token=_ADA).kubeconfig(namespace="shop")
        self._clock = clock
        self._chance = random.Random(_SEED)

    def fill(self) -> None:
        """Everything that is there when a notebook begins, each thing as old as it looks."""
        self.server.load(_MANIFESTS)
        with dynkube.sync.connect(kubeconfig=self.server.endpoint.kubeconfig()) as k:
            controllers = Controllers(k, self._clock, self._chance)
            for app in sorted(APPS, key=lambda app: app.age, reverse=True):
                self._clock.behind = app.age
                controllers.deploy(app)
            self._clock.behind = timedelta()


def start() -> DemoCluster:
    """Start a made-up cluster, 90 days old. It ends with the kernel."""
    clock = Clock(behind=timedelta(days=90))
    server = APIServer(
        now=clock.now, random=random.Random(_SEED), rbac=True, users={_ADA: User("ada", groups=("developers",))}
    )
    running = ExitStack()
    cluster = DemoCluster(running.enter_context(serve_in_thread(server, token=_ADMIN)), clock)
    atexit.register(running.close)
    cluster.fill()
    return cluster
