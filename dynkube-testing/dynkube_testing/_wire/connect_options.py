"""The options of requests that connect to a pod, a service or a node, as admission plugins see them."""

from __future__ import annotations

from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._wire.http import HTTPRequest

#: The subresources for which admission plugins are asked.
CONNECTIONS = frozenset({"attach", "exec", "portforward", "proxy"})
_FLAGS = ("stdin", "stdout", "stderr", "tty")


def connect_options(request: HTTPRequest, call: Call) -> JSONObject:
    """Return the options of a request, such as PodExecOptions, without those that are false or empty."""
    subresource = call.kind.subresource(call.subresource)
    assert subresource is not None, "routed only where the kind has it"
    options: JSONObject = {"kind": subresource.gvk.kind, "apiVersion": "v1"}
    match call.subresource:
        case "exec" | "attach":
            options |= {name: True for name in _FLAGS if call.params.get(name, "").lower() in {"1", "t", "true"}}
            options |= {"container": call.params["container"]} if call.params.get("container") else {}
            command = request.values("command") if call.subresource == "exec" else ()
            options |= {"command": list(command)} if command else {}
        case "portforward":
            ports = [int(port) for port in request.values("ports") if port.isdecimal()]
            options |= {"ports": ports} if ports else {}
        case "proxy":
            options |= {"path": call.params["path"]} if call.params.get("path") else {}
    return options
