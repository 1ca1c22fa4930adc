"""Which pod stands for a workload, and which of its ports for that of a Service, as with kubectl 1.37.

kubectl: ``polymorphichelpers/attachablepodforobject.go`` and ``helpers.go``, ``util/podutils/podutils.go`` (the reverse
of ``ActivePods``), ``util/service_port.go`` and ``pod_port.go``. All but :class:`AttachablePod` is pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import trio

from dynkube.client import ResourceClient
from dynkube.client._client import APIClient
from dynkube.errors import InvalidInput, PodError
from dynkube.meta import GVR, Added, LabelSelector, Modified, Unstructured
from dynkube.meta._arguments import brief

_PODS: Final = GVR("", "v1", "pods")
_SELECTING: Final = frozenset(
    {("apps", kind) for kind in ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")}
    | {("batch", "Job"), ("", "ReplicationController"), ("", "Service")}
)
_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}
_PATIENCE: Final = 60.0  # seconds to wait for the first pod, as --pod-running-timeout of kubectl


class AttachablePod:
    """The pod that stands for a workload or Service: chosen once, when it is first needed.

    Args:
        api: sends the requests.
        kind: the resource, as kubectl takes it.
        name: the name of the object.
        namespace: its namespace, which is that of its pods.
    """

    def __init__(self, api: APIClient, kind: str, name: str, namespace: str) -> None:
        self._api = api
        self._owner: ResourceClient = api.resource(kind)
        self._given = f"{kind}/{name}"
        self._name = name
        self._namespace = namespace
        self._lock = trio.Lock()
        self._found: tuple[Unstructured, Unstructured] | None = None

    async def name(self, timeout: float | None = None) -> str:
        """Return the name of the pod.

        Args:
            timeout: seconds to wait if no pod exists yet; at most a minute.

        Raises:
            InvalidInput: objects of this kind do not select pods, or this one does not.
            PodError: there is no pod.
            NotFound: there is no such object.
            DynkubeError: any other failure of a request.
        """
        return (await self._find(timeout))[1].name

    async def port(self, port: int | str) -> tuple[int, int]:
        """Return the number of a port of the Service and that in the pod; they are the same for other workloads.

        Raises:
            InvalidInput: there is no such port.
            DynkubeError: as :meth:`name`.
        """
        owner, pod = await self._find(None)
        if owner.kind == "Service":
            return target_port(owner, pod, port)
        number = container_port(pod, port)
        return number, number

    async def _find(self, timeout: float | None) -> tuple[Unstructured, Unstructured]:
        async with self._lock:
            if self._found is None:
                owner = await self._owner.get(self._name, namespace=self._namespace, timeout=timeout)
                labels = pod_labels(owner)
                if labels is None:
                    raise InvalidInput(
                        f"{self._given} does not select pods: pass a pod, or a Deployment, StatefulSet, DaemonSet, "
                        "ReplicaSet, ReplicationController, Job or Service"
                    )
                pods = self._api.resource(_PODS)
                listed = await pods.list(namespace=self._namespace, label_selector=labels, timeout=timeout)
                self._found = owner, preferred(listed) or await self._first(pods, labels, timeout)
            return self._found

    async def _first(self, pods: ResourceClient, labels: LabelSelector, timeout: float | None) -> Unstructured:
        """Wait for the first pod."""
        limit = _PATIENCE if timeout is None else min(timeout, _PATIENCE)
        with trio.move_on_after(limit):
            async with pods.watch(namespace=self._namespace, label_selector=labels) as events:
                async for event in events:
                    if isinstance(event, Added | Modified):
                        return event.object
        raise PodError(f"{self._given} has no pods in namespace {self._namespace!r}: none came within {limit:g} s")


def pod_labels(obj: Unstructured) -> LabelSelector | None:
    """Return what selects the pods of a workload or Service; ``None`` for objects of other kinds.

    Raises:
        InvalidInput: a Service without a selector.
    """
    if (obj.gvk.group, obj.kind) not in _SELECTING:
        return None
    selector = _at(obj, "spec").get("selector")
    labels = LabelSelector.parse(selector) if isinstance(selector, Mapping) else LabelSelector()
    if labels.empty and obj.kind == "Service":
        raise InvalidInput(f"service {obj.name!r} has no selector: pass labels of its pods")
    return labels


def preferred(pods: Iterable[Unstructured]) -> Unstructured | None:
    """Return the pod that kubectl attaches to; ``None`` without pods.

    That is one with a node, then one that runs, is ready, is not being deleted, has been ready for longest, has
    restarted least, and is oldest.
    """
    return max(pods, key=_rank, default=None)


def _rank(pod: Unstructured) -> tuple[object, ...]:
    status, metadata = _at(pod, "status"), _at(pod, "metadata")
    ready = next((each for each in _entries(status, "conditions") if each.get("type") == "Ready"), {})
    is_ready = ready.get("status") == "True"
    deleted = _seconds(metadata.get("deletionTimestamp"))
    return (
        bool(_at(pod, "spec").get("nodeName")),
        _PHASES.get(str(status.get("phase")), 0),
        is_ready,
        deleted is None,
        deleted or 0.0,
        _age(ready.get("lastTransitionTime") if is_ready else None),
        *(-count for count in _restarts(pod)),
        _age(metadata.get("creationTimestamp")),
    )


def _restarts(pod: Unstructured) -> tuple[int, int]:
    """Return the most restarts of a container, and of a sidecar."""
    spec, status = _at(pod, "spec"), _at(pod, "status")
    sidecars = {each.get("name") for each in _entries(spec, "initContainers") if each.get("restartPolicy") == "Always"}
    own = (_count(each) for each in _entries(status, "containerStatuses"))
    other = (_count(each) for each in _entries(status, "initContainerStatuses") if each.get("name") in sidecars)
    return max(own, default=0), max(other, default=0)


def _count(status: Mapping[str, Any]) -> int:
    found = status.get("restartCount")
    return found if isinstance(found, int) else 0


def _age(time: object) -> tuple[bool, float]:
    """Return what orders times: later ones before earlier ones, and none at all first."""
    seconds = _seconds(time)
    return (seconds is not None, -(seconds or 0.0))


def _seconds(time: object) -> float | None:
    try:
        return datetime.fromisoformat(time).timestamp() if isinstance(time, str) else None
    except ValueError:
        return None


def target_port(service: Unstructured, pod: Unstructured, port: int | str) -> tuple[int, int]:
    """Return the number of a port of a Service, and that of the pod's port that it leads to.

    Args:
        service: the Service.
        pod: one of its pods.
        port: the number or name of the Service's port.

    Raises:
        InvalidInput: the Service or the pod has no such port, or not for TCP.
    """
    named = [each for each in _entries(_at(service, "spec"), "ports") if port in (each.get("port"), each.get("name"))]
    found = next((each for each in named if each.get("protocol", "TCP") == "TCP"), None)
    if found is None:
        known = _known(_entries(_at(service, "spec"), "ports"), "port")
        why = "has it not for TCP" if named else f"has {known}"
        raise InvalidInput(f"service {service.name!r} has no port {port!r} to forward: it {why}")
    number, target = int(found["port"]), found.get("targetPort")
    if _at(service, "spec").get("clusterIP") == "None" or target in (None, 0, ""):
        target = number
    return number, container_port(pod, target if isinstance(target, str) else int(target))


def container_port(pod: Unstructured, port: int | str) -> int:
    """Return the number of a port of a pod, which may be given by its name.

    Raises:
        InvalidInput: no container has a port of this name.
    """
    if not isinstance(port, str):
        return port
    containers = [each for field in ("containers", "initContainers") for each in _entries(_at(pod, "spec"), field)]
    ports = [each for container in containers for each in _entries(container, "ports")]
    found = next((each.get("containerPort") for each in ports if each.get("name") == port), None)
    if not isinstance(found, int):
        known = _known(ports, "containerPort")
        raise InvalidInput(f"pod {pod.name!r} has no port {port!r}: it has {known}")
    return found


def _known(ports: Iterable[Mapping[str, Any]], number: str) -> str:
    texts = (f"{each.get('name') or 'unnamed'} ({brief(each.get(number))})" for each in ports)
    return ", ".join(texts) or "none"


def _at(obj: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    found = obj.get(field)
    return found if isinstance(found, Mapping) else {}


def _entries(part: Mapping[str, Any], field: str) -> Iterator[Mapping[str, Any]]:
    found = part.get(field)
    return (each for each in found if isinstance(each, Mapping)) if isinstance(found, list) else iter(())
