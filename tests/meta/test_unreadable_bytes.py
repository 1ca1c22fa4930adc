"""Bytes that only a broken or hostile server sends raise an error of this package, and never end a task otherwise."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dynkube.errors import InvalidObject, ProtocolError, TooManyRequests
from dynkube.meta import JSONPath, Unstructured
from dynkube.meta._partial import partial_reader
from dynkube.meta._wire.events import decode_watch_line
from dynkube.meta._wire.lists import ListDecoder
from dynkube.meta._wire.objects import ObjectDecoder

DEEP = b"[" * 1_000_000 + b"]" * 1_000_000  # more levels than the some 300,000 that Python 3.14 decodes


def document(spec: bytes = b"{}", name: bytes = b"a") -> bytes:
    return b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s"},"spec":%s}' % (name, spec)


def line(kind: bytes, obj: bytes) -> bytes:
    return b'{"type":"%s","object":%s}' % (kind, obj)


@pytest.mark.parametrize(
    "line",
    [
        line(b"ADDED", document(DEEP)),
        b" " + line(b"ADDED", document(DEEP)),
        line(b"ERROR", document(DEEP)),
        line(b"BOOKMARK", document(DEEP)),
        line(b"ADDED", document(name=b"\xff")),
        line(b"\xff", document()),
        b"\xff",
    ],
    ids=["deep", "deep-and-spaced", "deep-error", "deep-bookmark", "name", "type", "line"],
)
def test_an_unreadable_watch_line_is_a_protocol_error(line: bytes) -> None:
    with pytest.raises(ProtocolError, match="event"):
        decode_watch_line(line, ObjectDecoder())


@pytest.mark.parametrize("last", [document(DEEP), document(name=b"\xff")], ids=["deep", "name"])
@pytest.mark.parametrize("size", [1 << 30, 1000], ids=["whole", "in pieces"])
def test_an_unreadable_list_is_a_protocol_error(last: bytes, size: int) -> None:
    listing = ListDecoder(ObjectDecoder())
    body = b'{"apiVersion":"v1","kind":"PodList","metadata":{},"items":[' + b",".join([document(), last, last]) + b"]}"

    for start in range(0, len(body), size):
        listing.feed(body[start : start + size])

    with pytest.raises(ProtocolError, match="not a Kubernetes list"):
        listing.finish()


@pytest.mark.parametrize("source", [document(DEEP), document(name=b"\xff")], ids=["deep", "name"])
def test_an_unreadable_object_is_an_invalid_object(source: bytes) -> None:
    with pytest.raises(InvalidObject, match="not a Kubernetes object"):
        Unstructured(source)


@pytest.mark.parametrize("seconds", [b"9" * 400, b"1e308", b"true", b"-1", b'"soon"', b"null"])
def test_a_status_with_invalid_numbers_is_a_status(seconds: bytes) -> None:
    status = b'{"kind":"Status","code":429,"details":{"retryAfterSeconds":%s}}' % seconds

    with pytest.raises(TooManyRequests):
        decode_watch_line(line(b"ERROR", status), ObjectDecoder())


@pytest.mark.parametrize(
    "read",
    [
        lambda obj: obj["spec"],
        lambda obj: obj.to_dict(),
        lambda obj: obj.jsonpath("{.spec.*}"),
        lambda obj: JSONPath.compile("{.spec.*}").find_json(obj.json),
        lambda obj: partial_reader(("spec", "image"))(obj.json),
    ],
)
def test_a_body_that_is_not_utf_8_raises_when_it_is_read(read: Callable[[Unstructured], object]) -> None:
    obj = decode_watch_line(line(b"ADDED", document(b'{"image":"\xff"}')), ObjectDecoder()).object  # type: ignore[union-attr]  # not a bookmark

    assert obj.name == "a"
    with pytest.raises(InvalidObject, match=r"(?i)utf-8"):
        read(obj)
