"""The demo cluster: an API server in a thread, its objects, and the changes that notebooks simulate."""

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
from demo_cluster._release import Commands, Release, Undoing
from demo_cluster._rollout import LASTS, Rollout
from dynkube import Unstructured
from dynkube_testing import APIServer, ServerThread, User, serve_in_thread

_SEED = 2026  # so that generated names are the same in each run
_ADMIN, _ADA = "admins-token", "adas-token"  # not secret: the server listens on the loopback interface only
_MANIFESTS = Path(__file__).parent / "manifests"


class DemoCluster:
    """A running cluster; created by :func:`start`.

    Attributes:
        server: the API server.
        kubeconfig: for :func:`dynkube.sync.connect`, as the user ``ada`` with the namespace ``shop``.
    """

    def __init__(self, server: ServerThread, clock: Clock, running: ExitStack) -> None:
        self.server = server
        self._running = running  # what is closed when the kernel ends
        self.kubeconfig: dict[str, Any] = replace(server.endpoint, token=_ADA).kubeconfig(namespace="shop")
        self._clock = clock
        self._chance = random.Random(_SEED)

    def fill(self) -> None:
        """Create the initial objects, with creation times in the past."""
        self.server.load(_MANIFESTS)
        with dynkube.sync.connect(kubeconfig=self.server.endpoint.kubeconfig()) as k:
            controllers = Controllers(k, self._clock, self._chance)
            for app in sorted(APPS, key=lambda app: app.age, reverse=True):
                self._clock.behind = app.age
                controllers.deploy(app)
            self._clock.behind = timedelta()

    def now(self) -> datetime:
        """Return the time of the cluster's clock, which is in the past while a rollout is simulated."""
        return self._clock.now()

    def roll_out(self, name: str, image: str) -> Iterator[Unstructured]:
        """Simulate a rollout of another image to an app, which began 45 minutes ago.

        Each iteration makes one change to one pod, and yields the pod. The cluster's clock is set back by 45 minutes
        at once, and shows the current time again at the end.
        """
        app = next(app for app in APPS if app.name == name)
        self._clock.behind = LASTS
        return self._steps(app, image)

    def release(self, name: str, image: str) -> None:
        """Simulate a release of an app, 13 minutes ago, whose new pod does not start.

        The pod has logs, and ``wget`` can be run in all pods. When somebody undoes the rollout, the pod is removed, in
        a thread, a second after each change.
        """
        app = next(app for app in APPS if app.name == name)
        k = self._running.enter_context(dynkube.sync.connect(kubeconfig=self.server.endpoint.kubeconfig()))
        controllers = Controllers(k, self._clock, self._chance)
        Release(k, self.server, controllers, self._clock, app, image).make()
        self.server.run(self.server.server.containers.on_exec, Commands(self.server.server))
        deployments = k.informer("deployments", namespace=app.namespace, field_selector={"metadata.name": name})
        undoing = Undoing(k, controllers, self._clock, app, pause=1)
        deployments.add_handler(on_update=undoing, name="undoing").wait_synced(timeout=10)

    def set_ready(self, name: str) -> None:
        """Write the status of a Deployment in the namespace ``shop`` as if all its replicas were ready."""
        with dynkube.sync.connect(kubeconfig=self.server.endpoint.kubeconfig(namespace="shop")) as k:
            deployment = k["deployments"].get(name)
            replicas = deployment["spec"]["replicas"]
            counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
            status = {"observedGeneration": deployment["metadata"]["generation"], **dict.fromkeys(counts, replicas)}
            k["deployments"].subresource("status").patch(
                name, {"status": status}, field_manager="kube-controller-manager"
            )

    def _steps(self, app: App, image: str) -> Iterator[Unstructured]:
        with dynkube.sync.connect(kubeconfig=self.server.endpoint.kubeconfig()) as k:
            yield from Rollout(k, Controllers(k, self._clock, self._chance), self._clock, app, image).steps()


def start() -> DemoCluster:
    """Start a demo cluster that looks 90 days old. It is stopped when the kernel ends."""
    clock = Clock(behind=timedelta(days=90))
    server = APIServer(
        now=clock.now, random=random.Random(_SEED), rbac=True, users={_ADA: User("ada", groups=("developers",))}
    )
    running = ExitStack()
    cluster = DemoCluster(running.enter_context(serve_in_thread(server, token=_ADMIN)), clock, running)
    atexit.register(running.close)
    cluster.fill()
    return cluster
