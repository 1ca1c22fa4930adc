"""Simulated controllers, scheduler and kubelets: each method makes the writes of one step."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from demo_cluster._apps import NODES, App
from dynkube import Unstructured
from dynkube.sync import Client

Body = dict[str, Any]

_READY = '{.status.conditions[?(@.type=="Ready")].status}'
_EVENTS_LAST = timedelta(hours=1)
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # the alphabet of generated names: no vowels, so that they contain no words


class Clock:
    """The cluster's clock, which can be set back, so that objects are created with times in the past."""

    def __init__(self, *, behind: timedelta) -> None:
        self.behind = behind

    def now(self) -> datetime:
        """Return the time of the cluster."""
        return datetime.now(UTC) - self.behind

    def text(self, *, seconds_ago: int = 0) -> str:
        """Return the time, or one before it, in the format of ``metav1.Time``."""
        return (self.now() - timedelta(seconds=seconds_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")


class Controllers:
    """Creates ReplicaSets of Deployments and pods of ReplicaSets, and writes their status.

    Args:
        k: a client of the cluster.
        clock: the cluster's clock.
        chance: the random generator for names.
    """

    def __init__(self, k: Client, clock: Clock, chance: random.Random) -> None:
        self._k = k
        self._clock = clock
        self._chance = chance
        self._scheduled = 0

    def deploy(self, app: App) -> list[Unstructured]:
        """Create a Deployment with its Service, ReplicaSet and running pods; return the pods."""
        self._k["deployments"].apply(_deployment(app), field_manager="argocd")
        self._k["services"].apply(_service(app), field_manager="argocd")
        replica_set = self.replica_set(app, replicas=app.replicas)
        pods = [self.pod(app, replica_set) for _ in range(app.replicas)]
        for pod in pods:
            self.schedule(pod)
            self.run(pod, app)
        self.report(app)
        return pods

    def replica_set(self, app: App, *, replicas: int, revision: int = 1) -> Unstructured:
        """Create a ReplicaSet with the current pod template of the Deployment."""
        deployment = self._k.get("deployments", app.name, namespace=app.namespace)
        mark = self._letters(9)
        labels = {"app": app.name, "tier": app.tier, "pod-template-hash": mark}
        template = deployment.to_dict()["spec"]["template"]
        template["metadata"]["labels"] = labels
        body: Body = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{app.name}-{mark}",
                "namespace": app.namespace,
                "labels": labels,
                "annotations": {"deployment.kubernetes.io/revision": str(revision)},
                "ownerReferences": [_owner(deployment)],
            },
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        }
        return self._k["replicasets"].create(body, field_manager="kube-controller-manager")

    def scale(self, deployment: Unstructured, replica_set: Unstructured, replicas: int) -> None:
        """Set the number of pods of a ReplicaSet."""
        now = self._k.get("replicasets", replica_set.name, namespace=replica_set.namespace)["spec"]["replicas"]
        self._k["replicasets"].patch(
            replica_set.name,
            {"spec": {"replicas": replicas}},
            namespace=replica_set.namespace,
            field_manager="kube-controller-manager",
        )
        direction = "up" if replicas > now else "down"
        message = f"Scaled {direction} replica set {replica_set.name} from {now} to {replicas}"
        self.event(deployment, "ScalingReplicaSet", message, "deployment-controller")

    def pod(self, app: App, replica_set: Unstructured) -> Unstructured:
        """Create a pod of a ReplicaSet, pending."""
        body: Body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{replica_set.name}-{self._letters(5)}",
                "namespace": app.namespace,
                "labels": dict(replica_set.labels),
                "ownerReferences": [_owner(replica_set)],
            },
            "spec": replica_set.to_dict()["spec"]["template"]["spec"],
        }
        return self._k["pods"].create(body, field_manager="kube-controller-manager")

    def change_image(self, app: App) -> Unstructured:
        """Apply the Deployment with the image of ``app``, as a deployment tool does; return it."""
        return self._k["deployments"].apply(_deployment(app), field_manager="argocd")

    def schedule(self, pod: Unstructured) -> Unstructured:
        """Bind a pod to the next node."""
        node = NODES[self._scheduled % len(NODES)]
        self._scheduled += 1
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        self._k["pods"].subresource("binding").create(pod.name, binding, namespace=pod.namespace)
        self.event(pod, "Scheduled", f"Successfully assigned {pod.namespace}/{pod.name} to {node}", "default-scheduler")
        return self._k.get("pods", pod.name, namespace=pod.namespace)

    def run(self, pod: Unstructured, app: App, *, ready: bool = True) -> Unstructured:
        """Write the status of a pod whose container has started, as a kubelet does; ``ready`` if its probe succeeds."""
        ready = ready and not app.crashes
        image = pod["spec"]["containers"][0]["image"]
        restarts = 36 if app.crashes else 0
        container = container_status(app.name, image, self._clock.text(), ready=ready, restarts=restarts)
        if app.crashes:
            waiting = {"reason": "CrashLoopBackOff", "message": f"back-off 5m0s restarting failed container={app.name}"}
            times = {"startedAt": self._clock.text(seconds_ago=125), "finishedAt": self._clock.text(seconds_ago=120)}
            ended = {"exitCode": 1, "reason": "Error", "message": app.crashes, **times}
            container |= {"started": False, "state": {"waiting": waiting}, "lastState": {"terminated": ended}}
        return self.status(
            pod,
            {
                "phase": "Running",
                "podIP": f"10.42.{self._scheduled % 3}.{20 + self._scheduled}",
                "startTime": self._clock.text(),
                "containerStatuses": [container],
            },
            ready=ready,
            reason="" if ready else f"containers with unready status: [{app.name}]",
        )

    def status(self, pod: Unstructured, status: Mapping[str, object], *, ready: bool, reason: str = "") -> Unstructured:
        """Write a pod's status as its kubelet; ``lastTransitionTime`` moves only when a condition changes."""
        wanted: Body = {"PodScheduled": "True", "Initialized": "True", "ContainersReady": ready, "Ready": ready}
        old = self._k.get("pods", pod.name, namespace=pod.namespace)
        known = _conditions(old)
        conditions = [
            _turned(known.get(kind), kind, str(value), self._clock.text(), reason if value is False else "")
            for kind, value in wanted.items()
        ]
        return self._status("pods", pod, {**status, "conditions": conditions}, "kubelet")

    def report(self, app: App, *conditions: Body) -> None:
        """Write the numbers of ready pods to the status of the Deployment and of its ReplicaSets.

        Args:
            app: the app.
            conditions: further conditions of the Deployment, beside ``Available``.
        """
        selector = {"app": app.name}
        pods = self._k["pods"].list(namespace=app.namespace, label_selector=selector)
        ready = {pod.name for pod in pods if pod.jsonpath(_READY) == ["True"]}
        for replica_set in self._k["replicasets"].list(namespace=app.namespace, label_selector=selector):
            mine = [pod for pod in pods if pod.name.startswith(f"{replica_set.name}-")]
            counts = {"replicas": len(mine), "readyReplicas": sum(pod.name in ready for pod in mine)}
            seen = {"observedGeneration": replica_set["metadata"]["generation"]}
            self._status("replicasets", replica_set, counts | seen, "kube-controller-manager")
        deployment = self._k.get("deployments", app.name, namespace=app.namespace)
        progress = self._progress(deployment, pods, ready)
        progress["conditions"] += conditions
        self._status("deployments", deployment, progress, "kube-controller-manager")

    def event(self, obj: Unstructured, reason: str, message: str, source: str, kind: str = "Normal") -> None:
        """Create an Event, unless it would be older than an hour: clusters delete older ones."""
        if self._clock.behind > _EVENTS_LAST:
            return
        body: Body = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{obj.name}.{self._letters(16)}", "namespace": obj.namespace},
            "involvedObject": {
                "apiVersion": obj.api_version,
                "kind": obj.kind,
                "name": obj.name,
                "namespace": obj.namespace,
                "uid": obj.uid,
            },
            "reason": reason,
            "message": message,
            "type": kind,
            "count": 1,
            "firstTimestamp": self._clock.text(),
            "lastTimestamp": self._clock.text(),
            "source": {"component": source},
        }
        self._k["events.v1"].create(body, field_manager=source)

    def _progress(self, deployment: Unstructured, pods: Sequence[Unstructured], ready: set[str]) -> Body:
        wanted = deployment["spec"]["replicas"]
        image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
        known = _conditions(deployment)
        enough = len(ready) >= wanted
        available = _turned(known.get("Available"), "Available", str(enough), self._clock.text(), "")
        available["reason"] = "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable"
        return {
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": len(pods),
            "updatedReplicas": sum(pod["spec"]["containers"][0]["image"] == image for pod in pods),
            "readyReplicas": len(ready),
            "availableReplicas": len(ready),
            "unavailableReplicas": max(0, wanted - len(ready)),
            "conditions": [available],
        }

    def _status(self, resource: str, obj: Unstructured, status: Mapping[str, object], manager: str) -> Unstructured:
        return (
            self._k[resource]
            .subresource("status")
            .patch(obj.name, {"status": status}, namespace=obj.namespace, field_manager=manager)
        )

    def _letters(self, count: int) -> str:
        return "".join(self._chance.choices(_LETTERS, k=count))


def container_status(name: str, image: str, started: str, *, ready: bool, restarts: int) -> Body:
    """Return the status of a container that runs."""
    return {
        "name": name,
        "image": image,
        "imageID": "",
        "ready": ready,
        "started": True,
        "restartCount": restarts,
        "state": {"running": {"startedAt": started}},
    }


def _conditions(obj: Unstructured) -> dict[str, Body]:
    return {each["type"]: each for each in obj.to_dict().get("status", {}).get("conditions", ())}


def _turned(known: Body | None, kind: str, status: str, now: str, message: str) -> Body:
    since = known["lastTransitionTime"] if known is not None and known["status"] == status else now
    condition = {"type": kind, "status": status, "lastTransitionTime": since}
    return condition | {"message": message} if message else condition


def _owner(obj: Unstructured) -> Body:
    reference = {"apiVersion": obj.api_version, "kind": obj.kind, "name": obj.name, "uid": obj.uid}
    return reference | {"controller": True, "blockOwnerDeletion": True}


def _deployment(app: App) -> Body:
    labels = {"app": app.name, "tier": app.tier}
    container = {
        "name": app.name,
        "image": app.image,
        "ports": [{"name": "http", "containerPort": 8080}],
        "resources": {"requests": {"cpu": "250m", "memory": "128Mi"}},
    }
    if app.env:
        container["env"] = app.env
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": app.name, "namespace": app.namespace, "labels": labels},
        "spec": {
            "replicas": app.replicas,
            "selector": {"matchLabels": {"app": app.name}},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container, *app.sidecars]}},
        },
    }


def _service(app: App) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": app.name, "namespace": app.namespace, "labels": {"app": app.name}},
        "spec": {"selector": {"app": app.name}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    }
