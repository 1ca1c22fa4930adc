"""A simulated release that fails: the new pods of ``web`` crash, and wait for somebody to undo it."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from demo_cluster._apps import App
from demo_cluster._controllers import Clock, Controllers, container_status
from dynkube import Unstructured
from dynkube.errors import NotFound
from dynkube.sync import Client
from dynkube_testing import APIServer, ContainerSession, ServerThread

_LASTS = timedelta(minutes=12, seconds=38)
_BACK_OFFS = (10, 20, 40, 80, 160, 300)  # seconds, as a kubelet waits before the next start of a container
_RUN = 20  # seconds that the container runs before it gives up
_REVISION = "deployment.kubernetes.io/revision"
_ENV = [{"name": "PRODUCTS_URL", "value": "http://catalog.search"}]  # there is no such Service: it is index.search
_METRICS: dict[str, Any] = {
    "name": "metrics",
    "image": "shop/metrics:0.4.1",
    "ports": [{"name": "metrics", "containerPort": 9090}],
}
_REFUSED = "cannot resolve catalog.search: no such host"


class Release:
    """A release of ``web`` with another image, a wrong address and a second container.

    Args:
        k: a client of the cluster, which may do everything.
        server: plays the logs.
        controllers: makes the changes.
        clock: the cluster's clock.
        app: the app as it runs now.
        image: the new image.
    """

    def __init__(
        self, k: Client, server: ServerThread, controllers: Controllers, clock: Clock, app: App, image: str
    ) -> None:
        self._k = k
        self._server = server
        self._controllers = controllers
        self._clock = clock
        self._app = replace(app, image=image, env=_ENV, sidecars=[_METRICS])

    def make(self) -> None:
        """Change the Deployment, with its times in the past, until its progress deadline is over.

        Its pod has just been started once more.
        """
        self._clock.behind = _LASTS
        app, controllers = self._app, self._controllers
        deployment = controllers.change_image(app)
        after = controllers.replica_set(app, replicas=0, revision=2)
        controllers.scale(deployment, after, 1)
        self._wait(1)  # events are shown in the order of their times, which are in seconds
        pod = controllers.pod(app, after)
        controllers.event(after, "SuccessfulCreate", f"Created pod: {pod.name}", "replicaset-controller")
        self._wait(1)
        pod = controllers.schedule(pod)
        self._wait(21)
        controllers.event(pod, "Pulled", f'Successfully pulled image "{app.image}" in 18.2s', "kubelet")
        self._write_log(pod, "metrics", "level=INFO msg=listening port=9090")
        for back_off in _BACK_OFFS:
            self._crash(pod)
            self._wait(back_off)
        self._start(pod)
        self._wait(5)
        message = f'ReplicaSet "{after.name}" has timed out progressing.'
        controllers.report(app, _progressing("False", "ProgressDeadlineExceeded", message, self._clock))
        self._clock.behind = timedelta()

    def _crash(self, pod: Unstructured) -> None:
        self._write_log(pod, self._app.name, *self._first_lines())
        for attempt in (2, 3):
            self._wait(_RUN // 2)
            self._write_log(pod, self._app.name, f"WARN  attempt {attempt} of 3: {_REFUSED}")
        self._write_log(pod, self._app.name, "FATAL no products, so there is nothing to sell: exit 1")
        self._server.run(
            self._server.server.containers.end_log, pod.name, namespace=pod.namespace, container=self._app.name
        )
        where = f"{pod.name}_{pod.namespace}({pod.uid})"
        message = f"Back-off restarting failed container {self._app.name} in pod {where}"
        self._controllers.event(pod, "BackOff", message, "kubelet", "Warning")

    def _start(self, pod: Unstructured) -> None:
        self._write_log(pod, self._app.name, *self._first_lines())
        now = self._clock.text()
        web = container_status(self._app.name, self._app.image, now, ready=False, restarts=len(_BACK_OFFS))
        times = {"startedAt": _BACK_OFFS[-1] + _RUN, "finishedAt": _BACK_OFFS[-1]}
        ended = {"exitCode": 1, "reason": "Error"} | {
            name: self._clock.text(seconds_ago=ago) for name, ago in times.items()
        }
        web["lastState"] = {"terminated": ended}
        metrics = container_status(_METRICS["name"], _METRICS["image"], now, ready=True, restarts=0)
        status = {"phase": "Running", "startTime": now, "podIP": "10.42.1.40", "containerStatuses": [web, metrics]}
        reason = f"containers with unready status: [{self._app.name}]"
        self._controllers.status(pod, status, ready=False, reason=reason)

    def _first_lines(self) -> tuple[str, ...]:
        version = self._app.image.partition(":")[2]
        address = self._app.env[0]["value"]
        return (
            f"INFO  {self._app.name} {version} starts",
            f"INFO  reading the products from {address}",
            f"WARN  attempt 1 of 3: {_REFUSED}",
        )

    def _write_log(self, pod: Unstructured, container: str, *lines: str) -> None:
        text = "".join(f"{line}\n" for line in lines)
        write = self._server.server.containers.write_log
        self._server.run(write, pod.name, text, namespace=pod.namespace, container=container)

    def _wait(self, seconds: int) -> None:
        self._clock.behind -= timedelta(seconds=seconds)


class Undoing:
    """What the Deployment controller does after ``rollout.undo()``; a handler of an informer.

    Args:
        k: a client of the cluster, which may do everything.
        controllers: makes the changes.
        clock: the cluster's clock.
        app: the app as it was before the release.
        pause: seconds between two changes, so that one can see the progress.
    """

    def __init__(self, k: Client, controllers: Controllers, clock: Clock, app: App, *, pause: float) -> None:
        self._k = k
        self._controllers = controllers
        self._clock = clock
        self._app = app
        self._pause = pause

    def __call__(self, old: Unstructured, new: Unstructured) -> None:
        """Remove the pods of the release once the Deployment has the image of before; ignore all other changes."""
        if _image(old) == _image(new) or _image(new) != self._app.image:
            return
        app, controllers = self._app, self._controllers
        found = self._k["replicasets"].list(namespace=app.namespace, label_selector={"app": app.name})
        before = next(each for each in found if _image(each) == app.image)
        message = f'ReplicaSet "{before.name}" is progressing.'
        self._k["replicasets"].annotate(before.name, {_REVISION: "3"}, overwrite=True, namespace=app.namespace)
        controllers.report(app, _progressing("True", "ReplicaSetUpdated", message, self._clock))
        for released in (each for each in found if each.uid != before.uid):
            time.sleep(self._pause)
            self._remove(new, released)
        time.sleep(self._pause)
        message = f'ReplicaSet "{before.name}" has successfully progressed.'
        controllers.report(app, _progressing("True", "NewReplicaSetAvailable", message, self._clock))

    def _remove(self, deployment: Unstructured, replica_set: Unstructured) -> None:
        self._controllers.scale(deployment, replica_set, 0)
        pods = self._k["pods"].list(namespace=self._app.namespace, label_selector=dict(replica_set.labels))
        for pod in pods:
            for container in pod["spec"]["containers"]:
                self._controllers.event(pod, "Killing", f"Stopping container {container['name']}", "kubelet")
            self._k["pods"].delete(pod.name, namespace=pod.namespace, grace_period_seconds=0)


class Commands:
    """The commands that can be run in containers: ``wget`` of a Service of the cluster.

    Args:
        server: the API server, to look up the Services.
    """

    def __init__(self, server: APIServer) -> None:
        self._server = server

    async def __call__(self, session: ContainerSession) -> int:
        """Play a command; called in the server's thread."""
        if session.command[0] != "wget":
            await session.stderr.send_all(f"the demo cluster has no {session.command[0]}: only wget\n".encode())
            return 127
        host = urlsplit(session.command[-1]).hostname or ""
        name, _, namespace = host.partition(".")
        try:
            self._server.get("services", name, namespace or session.pod["metadata"]["namespace"])
        except NotFound:
            await session.stderr.send_all(f"wget: bad address '{host}'\n".encode())
            return 1
        await session.stdout.send_all(b'{"status": "ok", "products": 18204}')
        return 0


def _image(workload: Unstructured) -> str:
    image: str = workload["spec"]["template"]["spec"]["containers"][0]["image"]
    return image


def _progressing(status: str, reason: str, message: str, clock: Clock) -> dict[str, Any]:
    now = clock.text()
    texts = {"reason": reason, "message": message}
    return {"type": "Progressing", "status": status, **texts, "lastTransitionTime": now, "lastUpdateTime": now}
