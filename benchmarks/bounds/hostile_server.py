"""A hostile API server in its own process: ``python -m benchmarks.bounds.hostile_server NAME`` prints its port."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Callable
from itertools import count
from typing import Any, Final

_PAGE: Final = 500
_RESOURCES: Final = [
    {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list", "watch"]}
]
_DISCOVERY: Final[dict[str, Any]] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "groups": []},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": _RESOURCES},
}
_numbers = count()


def response(body: object, status: str = "200 OK", *fields: str) -> bytes:
    """Return a response with a JSON body."""
    content = json.dumps(body).encode()
    head = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(content)}", *fields]
    return "\r\n".join([*head, "", ""]).encode() + content


def pod(name: str, size: int = 0) -> dict[str, Any]:
    """Return a pod in the namespace ``default``, with ``size`` bytes of data."""
    metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": "1"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **({"data": "x" * size} if size else {})}


def _page(token: str, size: int = 1000, items: int = _PAGE) -> bytes:
    number = next(_numbers)
    objects = [pod(f"p{number}-{index}", size) for index in range(items)]
    metadata = {"resourceVersion": "1", "continue": token or f"t{number}"}
    return response({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": objects})


def _status(message: str) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "message": message}


def _groups(path: str) -> bytes:
    if path == "/apis":
        groups = [{"name": f"g{n}.example", "versions": [{"version": "v1"}]} for n in range(100_000)]
        return response({"kind": "APIGroupList", "groups": groups})
    return response({"kind": "APIResourceList", "resources": []})


def _echo(path: str, credential: str) -> bytes:
    escaped = json.dumps(_status(credential)).replace("Bearer", "\\u0042earer").encode()
    head = b"HTTP/1.1 403 X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return {
        "/warning": response({}, "200 OK", f'Warning: 299 - "you sent {credential}"'),
        "/location": response({}, "302 X", f"Location: https://login/{credential.split()[1]}"),
        "/line": f"{credential}\r\n\r\n".encode(),
        "/field": f"HTTP/1.1 200 OK\r\n{credential} : x\r\n\r\n".encode(),
        "/status": head % len(escaped) + escaped,
    }[path]


def _smuggled(path: str) -> bytes:
    return response(pod("a")) + response(pod("injected")) if path.endswith("/a") else response(pod("b"))


RESPONSES: Final[dict[str, Callable[[str, str], bytes]]] = {
    "repeated token": lambda path, credential: _page("t"),
    "empty pages": lambda path, credential: _page("", items=0),
    "growing list": lambda path, credential: _page(""),
    "long message": lambda path, credential: response(_status("m" * 15_000_000), "403 X"),
    "many groups": lambda path, credential: _groups(path),
    "echo": _echo,
    "smuggled": lambda path, credential: _smuggled(path),
    "other object": lambda path, credential: response(pod("b")),
    "failed with 200": lambda path, credential: response(_status("no")),
    "status 999": lambda path, credential: response({}, "999 X"),
}


def main() -> None:
    """Print the port, and serve until killed."""
    respond = RESPONSES[sys.argv[1]]
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_serve, args=(connection, respond), daemon=True).start()


def _serve(connection: socket.socket, respond: Callable[[str, str], bytes]) -> None:
    received = b""
    with connection:
        try:
            while True:
                while b"\r\n\r\n" not in received:
                    if not (data := connection.recv(65536)):
                        return
                    received += data
                head, _, received = received.partition(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode().partition("?")[0]
                fields = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:])
                own = path in _DISCOVERY and not (path == "/apis" and respond is RESPONSES["many groups"])
                credential = fields.get("authorization", "")
                connection.sendall(response(_DISCOVERY[path]) if own else respond(path, credential))
        except OSError:
            return


if __name__ == "__main__":
    main()
