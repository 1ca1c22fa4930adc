"""Decoding of watch lines, and removal of managedFields on arrival."""

import json
from typing import Any

import pytest

from dynkube.errors import Gone, ProtocolError
from dynkube.meta import Added, Bookmark, Deleted, Modified
from dynkube.meta._wire.events import decode_watch_line
from dynkube.meta._wire.objects import ObjectDecoder, cut_managed_fields

POD: dict[str, Any] = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "web", "resourceVersion": "7"}}


def line(kind: str, obj: object, **layout: Any) -> bytes:
    return json.dumps({"type": kind, "object": obj}, **layout).encode()


@pytest.mark.parametrize(("kind", "event"), [("ADDED", Added), ("MODIFIED", Modified), ("DELETED", Deleted)])
@pytest.mark.parametrize("layout", [{"separators": (",", ":")}, {}, {"sort_keys": True}])
def test_an_event_is_decoded_in_any_json_layout(kind: str, event: type, layout: dict[str, Any]) -> None:
    got = decode_watch_line(line(kind, POD, **layout), ObjectDecoder())

    assert isinstance(got, event)
    assert not isinstance(got, Bookmark)
    assert got.object == POD


def test_the_object_keeps_the_bytes_of_the_line() -> None:
    raw = b'{"kind":"Pod","metadata":{"name":"a"},"zero":1.50,"apiVersion":"v1"}'

    got = decode_watch_line(b'{"type":"ADDED","object":' + raw + b"}", ObjectDecoder())

    assert isinstance(got, Added)
    assert got.object.json == raw


@pytest.mark.parametrize(("annotations", "end"), [({}, False), ({"k8s.io/initial-events-end": "true"}, True)])
def test_a_bookmark_has_its_version_and_whether_it_ends_the_initial_events(
    annotations: dict[str, str], end: bool
) -> None:
    obj = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "12", "annotations": annotations}}

    assert decode_watch_line(line("BOOKMARK", obj), ObjectDecoder()) == Bookmark("12", end)


def test_an_error_event_is_raised_as_its_status() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 1 (5)"}

    with pytest.raises(Gone, match="too old resource version"):
        decode_watch_line(line("ERROR", status), ObjectDecoder())


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"<html>gateway timeout</html>", "not a watch event"),
        (b'{"type":"ADDED","object":{"kind":"Pod","metadata":{"na}}', "cannot be decoded|not a watch event"),
        (line("ADDED", {"kind": "Pod", "apiVersion": "v1"}), "no metadata.name"),
        (line("ADDED", {"kind": "Pod", "metadata": {"name": 3}}), r"Expected `str.*metadata.name"),
        (line("RENAMED", POD), "unknown type 'RENAMED'"),
        (line("ERROR", POD), "with a Pod instead of a Status"),
        (line("BOOKMARK", {"metadata": {}}), "without metadata.resourceVersion"),
    ],
)
def test_the_error_for_an_invalid_watch_line_has_its_cause(raw: bytes, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        decode_watch_line(raw, ObjectDecoder())


MANAGED = [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {}}}]


@pytest.mark.parametrize(
    "metadata",
    [
        {"managedFields": MANAGED, "name": "a"},
        {"name": "a", "managedFields": MANAGED},
        {"name": "a", "managedFields": MANAGED, "uid": "u"},
        {"name": "a", "annotations": {"last": '{"managedFields":[]}'}, "managedFields": MANAGED},
        {"name": "a"},
    ],
)
@pytest.mark.parametrize("spec", [{}, {"template": {"metadata": {"managedFields": MANAGED}}}])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_only_the_managed_fields_of_the_object_itself_are_removed(
    metadata: dict[str, Any], spec: dict[str, Any], separators: tuple[str, str]
) -> None:
    raw = json.dumps({"spec": spec, "metadata": metadata}, separators=separators).encode()

    got = json.loads(cut_managed_fields(raw))

    assert got == {"spec": spec, "metadata": {k: v for k, v in metadata.items() if k != "managedFields"}}


def test_managed_fields_are_removed_on_arrival_on_request() -> None:
    pod = {**POD, "metadata": {**POD["metadata"], "managedFields": MANAGED}}

    got = decode_watch_line(line("ADDED", pod, separators=(",", ":")), ObjectDecoder(drop_managed_fields=True))

    assert isinstance(got, Added)
    assert got.object == POD
