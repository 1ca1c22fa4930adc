"""A simulated slow rollout of a Deployment, one change of a pod at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

from demo_cluster._apps import App
from demo_cluster._controllers import Clock, Controllers
from dynkube import Unstructured
from dynkube.sync import Client

LASTS = timedelta(minutes=45)
_WARM_UP = (timedelta(minutes=6), timedelta(minutes=9), timedelta(minutes=13))  # of the first, second and third pod
_PROBE = "Readiness probe failed: HTTP probe failed with statuscode: 503"


class Rollout:
    """Replaces the pods of an app one by one, with ``maxSurge: 1`` and ``maxUnavailable: 0``.

    Args:
        k: a client of the cluster.
        controllers: makes the changes.
        clock: the cluster's clock, set back by :data:`LASTS`; it shows the current time at the end.
        app: the app as it runs now.
        image: the new image.
    """

    def __init__(self, k: Client, controllers: Controllers, clock: Clock, app: App, image: str) -> None:
        self._k = k
        self._controllers = controllers
        self._clock = clock
        self._app = replace(app, image=image)

    def steps(self) -> Iterator[Unstructured]:
        """Make the changes, one pod at a time; yield the pod after each."""
        app, controllers = self._app, self._controllers
        old = self._k["pods"].list(namespace=app.namespace, label_selector={"app": app.name})
        (before,) = self._k["replicasets"].list(namespace=app.namespace, label_selector={"app": app.name})
        deployment = controllers.change_image(app)
        after = controllers.replica_set(app, replicas=0, revision=2)
        for place, (leaving, warm_up) in enumerate(zip(old, _WARM_UP, strict=True)):
            controllers.scale(deployment, after, place + 1)
            yield from self._arrival(after, warm_up)
            controllers.scale(deployment, before, len(old) - place - 1)
            yield self._leave(leaving)
            self._wait(minutes=1)
        controllers.report(app)
        self._clock.behind = timedelta()

    def _arrival(self, replica_set: Unstructured, warm_up: timedelta) -> Iterator[Unstructured]:
        app, controllers = self._app, self._controllers
        pod = controllers.pod(app, replica_set)
        yield pod
        self._wait(seconds=2)
        yield controllers.schedule(pod)
        self._wait(seconds=20)
        controllers.event(pod, "Pulled", f'Successfully pulled image "{app.image}" in 18.2s', "kubelet")
        yield controllers.run(pod, app, ready=False)
        for _ in range(int(warm_up / timedelta(minutes=2))):
            self._wait(minutes=2)
            controllers.event(pod, "Unhealthy", _PROBE, "kubelet", "Warning")
        self._wait(seconds=(warm_up % timedelta(minutes=2)).seconds)
        yield controllers.run(pod, app)
        controllers.report(app)

    def _leave(self, pod: Unstructured) -> Unstructured:
        self._controllers.event(pod, "Killing", f"Stopping container {self._app.name}", "kubelet")
        self._k["pods"].delete(pod.name, namespace=pod.namespace, grace_period_seconds=0)
        return pod

    def _wait(self, *, minutes: int = 0, seconds: int = 0) -> None:
        self._clock.behind -= timedelta(minutes=minutes, seconds=seconds)
