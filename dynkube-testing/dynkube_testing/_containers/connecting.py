"""Subresources that connect to a workload: logs, exec, port forwarding, proxies.

No containers run here. Requests to containers that a test plays are answered; all others get the response of a
kube-apiserver that cannot reach the kubelet: first the errors of the request itself, then the failure to connect.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, JSONObject, Result
from dynkube_testing._containers.containers import CONTAINER_LISTS
from dynkube_testing._containers.logs import LogOptions, LogStream
from dynkube_testing._containers.played import PlayedPods, Playing
from dynkube_testing._containers.sessions import PortFunction, SessionFunction
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._store.documents import NoDocument
from dynkube_testing._store.storage import Storage

_WITH_CONTAINER = {"log", "exec", "attach"}


class Connections:
    """Handles requests to connecting subresources.

    Args:
        storage: The pods, nodes and services.
        registry: The served kinds, to find the kind Node.
        played: The pods that a test plays.
        now: The server's clock.
    """

    def __init__(self, storage: Storage, registry: Registry, played: PlayedPods, now: Callable[[], datetime]) -> None:
        self._storage = storage
        self._registry = registry
        self._played = played
        self._now = now

    def open_log(self, call: Call) -> LogStream | None:
        """Return the requested part of a container's log; ``None`` if the pod has no node yet (204).

        Raises:
            NotFound: The pod or its node does not exist.
            BadRequest: A parameter cannot be parsed, the pod has no such container, the container has not started, or
                there is no previous run of it.
            Invalid: Parameters are out of range.
            APIError: The pod is not played, and its node has no address.
        """
        options = LogOptions.read(call, self._now())
        version = self._storage.get(call.kind, call.namespace, call.name)
        containers = None if version is None else self._played.runs_of(version.uid)
        if version is None or containers is None:
            self.answer(call)
            return None
        name = _container_of(version.decode(call.kind), call)
        runs, where = containers.get(name), f'container "{name}" in pod "{call.name}"'
        if runs is None:
            raise refuse.bad_request(f"{where} is waiting to start: ContainerCreating")
        log = runs.previous if options.previous else runs.current
        if log is None:
            raise refuse.bad_request(f"previous terminated {where} not found")
        return LogStream(log, options)

    def open_session(self, call: Call) -> Playing[SessionFunction] | None:
        """Return the function that plays a command (exec, attach) in a container; ``None`` if there is none.

        Raises:
            NotFound: The pod does not exist.
            BadRequest: The pod has no such container, or several and none is named.
        """
        functions = self._played.functions
        function = functions.exec if call.subresource == "exec" else functions.attach
        if function is None:
            return None
        pod = self._existing(call)
        return Playing(function=function, pod=pod, container=_container_of(pod, call))

    def open_ports(self, call: Call) -> Playing[PortFunction] | None:
        """Return the function that plays the ports of a pod; ``None`` if there is none.

        Raises:
            NotFound: The pod does not exist.
        """
        function = self._played.functions.portforward
        return None if function is None else Playing(function=function, pod=self._existing(call))

    def _existing(self, call: Call) -> JSONObject:
        version = self._storage.get(call.kind, call.namespace, call.name)
        if version is None:
            raise refuse.not_found(call.kind, call.name)
        return version.decode(call.kind)

    def answer(self, call: Call) -> Result:
        """Handle a request to a connecting subresource of a pod, a node or a service.

        It returns only for the log of a pod without a node (204); all other requests fail.

        Raises:
            NotFound: The object does not exist, or is a service, which never has endpoints here.
            BadRequest: The pod has no such container, has no node yet, or cannot be connected to by a proxy.
            APIError: The node has no address.
        """
        name = call.name
        if call.subresource == "proxy":
            name = name.removeprefix("https:").removeprefix("http:").partition(":")[0]
        version = self._storage.get(call.kind, call.namespace, name)
        if version is None:
            raise refuse.not_found(call.kind, name)
        match call.kind.gvr.resource:
            case "nodes":
                raise _no_address()
            case "services":
                # The response of a real server for a service without endpoints; services never have endpoints here.
                raise refuse.not_found(call.kind, name)
        return self._pod(call, version.decode(call.kind))

    def _pod(self, call: Call, pod: JSONObject) -> Result:
        if call.subresource == "proxy":
            raise refuse.bad_request("address not allowed")
        if call.subresource in _WITH_CONTAINER:
            _container_of(pod, call)
        node = pod["spec"].get("nodeName")
        if not node and call.subresource == "log":
            return Result(document=NoDocument(), status=204)
        if not node:
            raise refuse.bad_request(f"pod {call.name} does not have a host assigned")
        nodes = self._registry.find("v1", "Node")
        if nodes is None or self._storage.get(nodes, "", node) is None:
            raise refuse.not_found(call.kind, node)  # the real server names the kind Pod, too
        raise _no_address()


def _no_address() -> Exception:
    return refuse.failed("no preferred addresses found; known addresses: []")


def _container_of(pod: JSONObject, call: Call) -> str:
    """Return the name of the requested container.

    Raises:
        BadRequest: The pod has no such container, or several and none is named.
    """
    name, spec = call.params.get("container", ""), pod["spec"]
    if not name:
        candidates: list[str] = [container["name"] for container in spec.get("containers") or ()]
        if len(candidates) > 1:
            listed = " ".join(candidates)
            raise refuse.bad_request(
                f"a container name must be specified for pod {call.name}, choose one of: [{listed}]"
            )
        return candidates[0]
    known = {container["name"] for field in CONTAINER_LISTS for container in spec.get(field) or ()}
    if name not in known:
        raise refuse.bad_request(f"container {name} is not valid for pod {call.name}")
    return name
