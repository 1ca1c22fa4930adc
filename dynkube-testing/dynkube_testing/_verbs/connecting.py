"""Subresources that connect to a workload: logs, exec, port forwarding, proxies.

No containers run here, so each request gets the response of a kube-apiserver that cannot reach the kubelet: first the
errors of the request itself, then the failure to connect.
"""

from __future__ import annotations

from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, JSONObject, Result
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._store.documents import NoDocument
from dynkube_testing._store.storage import Storage

_CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
_WITH_CONTAINER = {"log", "exec", "attach"}


class Connections:
    """Handles requests to connecting subresources.

    Args:
        storage: The pods, nodes and services.
        registry: The served kinds, to find the kind Node.
    """

    def __init__(self, storage: Storage, registry: Registry) -> None:
        self._storage = storage
        self._registry = registry

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
            _check_container(pod, call)
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


def _check_container(pod: JSONObject, call: Call) -> None:
    name, spec = call.params.get("container", ""), pod["spec"]
    if not name:
        candidates = [container["name"] for container in spec.get("containers") or ()]
        if len(candidates) > 1 and call.subresource == "log":
            listed = " ".join(candidates)
            raise refuse.bad_request(
                f"a container name must be specified for pod {call.name}, choose one of: [{listed}]"
            )
        return
    known = {container["name"] for field in _CONTAINER_LISTS for container in spec.get(field) or ()}
    if name not in known:
        raise refuse.bad_request(f"container {name} is not valid for pod {call.name}")
