"""Webhooks that tests play: over TLS on loopback for a real server, in the process for the embedded one."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

import trustme

from dynkube_testing import APIServer
from tests.contract.objects import JSONObject

#: From an AdmissionRequest to an AdmissionResponse without a UID.
Play: TypeAlias = Callable[[JSONObject], JSONObject]

_EMBEDDED = "https://webhooks.example.com"


class Webhooks:
    """Webhooks by path. A path without one responds with 404.

    Attributes:
        url: their common URL.
        ca_bundle: the CA of their certificate, in base64.
        requests: the AdmissionRequests received, by path.
    """

    def __init__(self, url: str, ca_bundle: str, server: APIServer | None) -> None:
        self.url = url
        self.ca_bundle = ca_bundle
        self.requests: dict[str, list[JSONObject]] = {}
        self._server = server
        self._plays: dict[str, Callable[[JSONObject], JSONObject]] = {}

    def play(self, path: str, function: Play) -> None:
        """Let a function play the webhook at ``path``."""

        def answer(review: JSONObject) -> JSONObject:
            self.requests.setdefault(path, []).append(review["request"])
            response = {"uid": review["request"]["uid"], **function(review["request"])}
            return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}

        self.answer(path, answer)

    def answer(self, path: str, function: Callable[[JSONObject], Any]) -> None:
        """Let a function return the whole response to a review, which may be wrong."""
        self._plays[path] = function
        if self._server is not None:
            self._server.on_webhook(self.url + path, function)

    def client_config(self, path: str) -> JSONObject:
        return {"url": self.url + path, "caBundle": self.ca_bundle}

    def respond(self, path: str, body: bytes) -> bytes | None:
        """Return the response to a request over HTTP; ``None`` if no webhook is played at ``path``."""
        function = self._plays.get(path)
        return None if function is None else json.dumps(function(json.loads(body))).encode()


@contextmanager
def open_webhooks(server: APIServer | None) -> Iterator[Webhooks]:
    """Yield webhooks for the embedded server, or for a real one if it is ``None``."""
    if server is not None:
        yield Webhooks(_EMBEDDED, "", server)
        return
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", "hooks.shop.svc").configure_cert(context)
    played: list[Webhooks] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = played[0].respond(self.path.partition("?")[0], body)
            self.send_response(404 if answer is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer or b"")))
            self.end_headers()
            self.wfile.write(answer or b"")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        listener.socket = context.wrap_socket(listener.socket, server_side=True)
        bundle = base64.b64encode(authority.cert_pem.bytes()).decode()
        played.append(Webhooks(f"https://127.0.0.1:{listener.server_address[1]}", bundle, None))
        thread = threading.Thread(target=listener.serve_forever)
        thread.start()
        try:
            yield played[0]
        finally:
            listener.shutdown()
            thread.join()


def patch(*operations: JSONObject) -> JSONObject:
    """Return a response that patches the object."""
    encoded = base64.b64encode(json.dumps(operations).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}


def labelled(name: str, value: str = "yes") -> Play:
    """Return a webhook that adds a label."""

    def play(request: JSONObject) -> JSONObject:
        present = request["object"]["metadata"].get("labels") or {}
        return patch({"op": "add", "path": "/metadata/labels", "value": {**present, name: value}})

    return play


def allow(_: JSONObject) -> JSONObject:
    return {"allowed": True}


def deny(message: str = "", **status: Any) -> Play:
    """Return a webhook that rejects everything."""
    return lambda _: {"allowed": False, "status": {**({"message": message} if message else {}), **status}}
