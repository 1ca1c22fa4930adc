"""The made-up cluster: an API server in a thread, filled, and what may be made to happen in it."""

from __future__ import annotations

import atexit
import random
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import dynkube.sync
from demo_cluster._apps import APPS, App
from demo_cluster._controllers import Clock, Controllers
from demo_cluster._rollout import LASTS, Rollout
from dynkube import Unstructured
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

    def now(self) -> datetime:
        """The time in the cluster, which lags behind while it plays what took longer."""
        return self._clock.now()

    def roll_out(self, name: str, image: str) -> Iterator[Unstructured]:
        """Play the rollout of another image to an app, which began three quarters of an hour ago.

        Goes as fast as it is iterated over. Each step is one change to one of its pods, and gives the pod. The
        cluster's clock is set back by that time at once, and is right again at the end.
        """
        app = next(app for app in APPS if app.name == name)
        self._clock.behind = LASTS
        return self._steps(app, image)

    def _steps(self, app: App, image: str) -> Iterator[Unstructured]:
        with dynkube.sync.connect(kubeconfig=self.server.endpoint.kubeconfig()) as k:
            yield from Rollout(k, Controllers(k, self._clock, self._chance), self._clock, app, image).steps()


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
