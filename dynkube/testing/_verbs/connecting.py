"""Subresources that lead to what runs behind an object: logs, exec, attach, port forwarding, proxies.

Nothing runs behind the objects of this server, so each request is answered as by a kube-apiserver that cannot reach
the kubelet: what is wrong with the request first, then why there is nobody to pass it to.
"""

from __future__ import annotations

from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import Call, JSONObject, Result
from dynkube.testing._kinds.kinds import Registry
from dynkube.testing._store.documents import NoDocument
from dynkube.testing._store.storage import Storage

_CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
_WITH_CONTAINER = {"log", "exec", "attach"}


class Connections:
    """Answers for one storage; ``registry`` knows the kind of nodes."""

    def __init__(self, storage: Storage, registry: Registry) -> None:
        self._storage = storage
        self._registry = registry

    def answer(self, call: Call) -> Result:
        """Answer a request to a connecting subresource of a pod, a node or a service.

        Raises:
            NotFound: There is no such object, or nothing behind it.
            BadRequest: The pod has no such container, or no node yet.
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
                # What a service without endpoints answers; behind the services here there are never any.
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
            raise refuse.not_found(call.kind, node)  # named a pod, and that is how the real server words it
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
