"""A server that sends pre-rendered API responses over plain HTTP on loopback, at almost no cost.

    python -m benchmarks.byteserver [--objects 20000] [--size 4096] [--events 0] [--rate 0]

Prints its URL, and runs until its standard input is closed.

Benchmarks against it measure the client alone. It is not an API server: it validates nothing, supports only GET, and a
watch sends the rendered events and then stays open. It serves discovery (aggregated and legacy), a CRD, 50 namespaces
and N custom objects; the first segment of the path selects how the custom objects are listed::

    http://127.0.0.1:PORT            one response, whatever the limit, as the watch cache does for resourceVersion=0
    http://127.0.0.1:PORT/pages      pages, by limit and continue

A watch with sendInitialEvents gets the objects and the bookmark that ends them. With ``--events M``, a watch of the
custom objects then gets M MODIFIED events, of one object after the other, as fast as the client reads, and a bookmark.
With ``--rate R`` they are sent at R events per second, from the requested resourceVersion on, and each object has the
annotation ``example.com/sent``, the time in nanoseconds since the epoch. An event that is late, because the client did
not read the events before it, has the time at which it was due. When all were sent, a bookmark follows every 30
seconds. ``--changed C`` lets the events change only the first C objects. With ``--metadata``, clients that accept
PartialObjectMetadata get that, as JSON, and no events.

Bodies use the chunked coding, with one chunk for each object, as kube-apiserver does for lists since 1.33 and has
always done for watches; ``--framing length`` sends lists with a Content-Length instead. Nothing is compressed.
"""

from __future__ import annotations

import argparse
import socket
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import chain, islice
from urllib.parse import parse_qs, urlsplit

import msgspec

from benchmarks import discovery, objects

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
_LAST_CHUNK = b"0\r\n\r\n"
_FIRST_VERSION = 1_000_000
_PIECE = 4096  # events
_BOOKMARKS = 30.0  # seconds between two


class _Metadata(msgspec.Struct):
    metadata: msgspec.Raw


class Collection:
    """The objects of one resource, and the responses that contain them."""

    def __init__(
        self,
        api_version: str,
        kind: str,
        items: Sequence[bytes],
        framing: str,
        events: Sequence[bytes] = (),
        rate: float = 0,
    ) -> None:
        self._api_version = api_version
        self._kind = kind
        self._items = items
        self._framing = framing
        self._version = _FIRST_VERSION + len(items)
        self._rate = rate
        self._events = [_chunks([b'{"type":"MODIFIED","object":%s}\n' % event]) for event in events]
        if events:
            self._events.append(_chunks([self._bookmark(self._version + len(events), initial=False)]))

    @cached_property
    def whole(self) -> bytes:
        """The response to a list without pages."""
        return self._list(self._items, "")

    @cached_property
    def initial(self) -> list[bytes]:
        """The initial events of a streaming list, in large pieces: joining a million of them needs 13 GB."""
        added = (b'{"type":"ADDED","object":%s}\n' % item for item in self._items)
        events = chain(added, [self._bookmark(self._version, initial=True)])
        return list(iter(lambda: _chunks(islice(events, _PIECE)), b""))

    def page(self, limit: int, token: str) -> bytes:
        """Return a page of a list; the continue token is the index of its first object."""
        start = int(token or 0)
        end = start + limit
        return self._list(self._items[start:end], str(end) if end < len(self._items) else "")

    def watch(self, connection: socket.socket, version: str, *, streaming: bool) -> None:
        """Send all events, then wait until the client closes the connection."""
        connection.sendall(_HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        if streaming:
            for piece in self.initial:
                connection.sendall(piece)
        if self._rate:
            self._send_slowly(connection, 0 if streaming else max(0, int(version or 0) - self._version))
        else:
            connection.sendall(b"".join(self._events))
        connection.settimeout(_BOOKMARKS if self._rate else None)
        while self._is_open(connection):
            connection.sendall(_chunks([self._bookmark(self._version + max(0, len(self._events) - 1), initial=False)]))

    def _is_open(self, connection: socket.socket) -> bool:
        try:
            while connection.recv(4096):
                pass
        except TimeoutError:
            return True
        return False

    def _send_slowly(self, connection: socket.socket, first: int) -> None:
        placeholder, pause = objects.SENT.encode(), 10**9 / self._rate
        began = time.time_ns()
        for number, event in enumerate(self._events[first:], start=1):
            sent = due = began + int(number * pause)
            if (early := due - time.time_ns()) > 0:
                time.sleep(early / 10**9)
                sent = time.time_ns()
            connection.sendall(event.replace(placeholder, b"%019d" % sent, 1))

    def _list(self, items: Sequence[bytes], token: str) -> bytes:
        rest = f',"remainingItemCount":{len(self._items) - int(token)}' if token else ""
        metadata = f'{{"continue":"{token}"{rest},"resourceVersion":"{self._version}"}}'
        tail = f'],"kind":"{self._kind}List","metadata":{metadata}}}\n'.encode()
        head = f'{{"apiVersion":"{self._api_version}","items":['.encode()
        parts = [head, *items[:1], *(b"," + item for item in items[1:]), tail]
        if self._framing == "length":
            body = b"".join(parts)
            return _HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
        return _HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + _chunks(parts) + _LAST_CHUNK

    def _bookmark(self, version: int, *, initial: bool) -> bytes:
        mark = '"annotations":{"k8s.io/initial-events-end":"true"},' if initial else ""
        metadata = f'{{{mark}"creationTimestamp":null,"resourceVersion":"{version}"}}'
        bookmark = f'{{"apiVersion":"{self._api_version}","kind":"{self._kind}","metadata":{metadata}}}'
        return f'{{"type":"BOOKMARK","object":{bookmark}}}\n'.encode()


def _chunks(parts: Iterable[bytes]) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


class ByteServer:
    """A server with one response for each path, and one thread for each connection."""

    def __init__(self, options: argparse.Namespace) -> None:
        count, framing = options.objects, options.framing
        widgets = [objects.widget(i, size=options.size, resource_version=_FIRST_VERSION + i) for i in range(count)]
        changed = min(count, options.changed or count)
        events = [
            objects.widget(
                i % changed,
                size=options.event_size,
                resource_version=_FIRST_VERSION + count + 1 + i,
                revision=1 + i // changed,
                sent=objects.SENT if options.rate else "",
            )
            for i in range(options.events)
        ]
        spaces = [objects.namespace(i) for i in range(objects.NAMESPACES)]
        partial = [_metadata_only(widget) for widget in widgets] if options.metadata else []
        group_version = f"{objects.GROUP}/{objects.VERSION}"
        crd_path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        self._metadata = options.metadata
        self._widgets = f"/apis/{group_version}/{objects.PLURAL}"
        self._collections = {
            self._widgets: Collection(group_version, objects.KIND, widgets, framing, events, options.rate),
            crd_path: Collection("apiextensions.k8s.io/v1", "CustomResourceDefinition", [objects.crd()], framing),
            "/api/v1/namespaces": Collection("v1", "Namespace", spaces, framing),
        }
        self._partial = Collection("meta.k8s.io/v1", "PartialObjectMetadata", partial, framing)

    def render(self, response: str) -> None:
        """Render a response before it is requested, as the client would wait for a large one."""
        getattr(self._collections[self._widgets], response)

    def serve(self, listener: socket.socket) -> None:
        """Accept connections until the process exits."""
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve_connection, args=(connection,), daemon=True).start()

    def _serve_connection(self, connection: socket.socket) -> None:
        buffer = b""
        with connection:
            try:
                while True:
                    while b"\r\n\r\n" not in buffer:
                        data = connection.recv(65536)
                        if not data:
                            return
                        buffer += data
                    head, _, buffer = buffer.partition(b"\r\n\r\n")
                    self._respond(connection, head.decode("latin-1"))
                    if b"\r\nConnection: close" in head:
                        return
            except (ConnectionError, TimeoutError):
                return  # the client has closed the connection

    def _respond(self, connection: socket.socket, head: str) -> None:
        url = urlsplit(head.split(" ", 2)[1])
        paged = url.path.startswith("/pages/")
        path = url.path.removeprefix("/pages")
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        collection = self._collections.get(path)
        if path == self._widgets and self._metadata and "as=PartialObjectMetadata" in head:
            collection = self._partial
        if collection is None:
            connection.sendall(
                _document(discovery.document(path.rstrip("/"), aggregated="g=apidiscovery.k8s.io" in head))
            )
        elif query.get("watch", "").lower() in {"1", "true"}:
            streaming = query.get("sendInitialEvents") == "true"
            collection.watch(connection, query.get("resourceVersion", ""), streaming=streaming)
        elif paged and path == self._widgets and "limit" in query:
            connection.sendall(collection.page(int(query["limit"]), query.get("continue", "")))
        else:
            connection.sendall(collection.whole)


def _metadata_only(obj: bytes) -> bytes:
    metadata = msgspec.json.decode(obj, type=_Metadata).metadata
    return b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":%b}' % bytes(metadata)


def _document(body: bytes | None) -> bytes:
    if body is None:
        body = b'{"apiVersion":"v1","code":404,"kind":"Status","reason":"NotFound","status":"Failure"}'
        return _HEAD.replace(b"200 OK", b"404 Not Found") + b"Content-Length: %d\r\n\r\n" % len(body) + body
    kind = discovery.content_type(body)
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body)


def main() -> None:
    """Render the responses, listen, print the URL, and serve until standard input is closed."""
    parser = argparse.ArgumentParser(description="Serve pre-rendered API responses on loopback.")
    parser.add_argument("--objects", type=int, default=20_000, help="the number of custom objects")
    parser.add_argument("--size", type=int, default=4096, help="the size of each in bytes")
    parser.add_argument("--events", type=int, default=0, help="the number of MODIFIED events in a watch")
    parser.add_argument("--rate", type=float, default=0, help="events per second; 0 for as fast as the client reads")
    parser.add_argument("--changed", type=int, default=0, help="the number of objects that events change; 0 for all")
    parser.add_argument("--event-size", type=int, default=5120, help="the size of the object in each event, in bytes")
    parser.add_argument("--framing", choices=("chunked", "length"), default="chunked", help="how lists are sent")
    parser.add_argument("--metadata", action="store_true", help="send only metadata to clients that accept that")
    parser.add_argument("--render", choices=("whole", "initial"), help="render the list or the initial events at first")
    parser.add_argument("--port", type=int, default=0, help="0 for any free port")
    options = parser.parse_args()
    server = ByteServer(options)
    if options.render:
        server.render(options.render)
    with socket.create_server(("127.0.0.1", options.port), backlog=64) as listener:
        threading.Thread(target=server.serve, args=(listener,), daemon=True).start()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
