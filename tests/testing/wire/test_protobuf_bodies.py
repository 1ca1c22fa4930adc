"""Protobuf bodies are decoded to the same objects as their JSON."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube_testing._wire.protobuf import decode


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def body(api_version: str, kind: str, *fields: bytes) -> bytes:
    type_meta = field(1, api_version) + field(2, kind)
    return b"k8s\x00" + field(1, type_meta) + field(2, b"".join(fields)) + field(3, "") + field(4, "")


def metadata(name: str, *more: bytes) -> bytes:
    return field(1, field(1, name) + b"".join(more))


def test_empty_fields_are_left_out_as_in_json() -> None:
    empty = field(2, "") + field(3, "") + field(7, 0) + field(8, b"")

    assert decode(body("v1", "Namespace", metadata("shop", empty), field(2, b""), field(3, field(1, "")))) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "shop"},
    }


@pytest.mark.parametrize(
    ("api_version", "kind", "fields", "read"),
    [
        (
            "authentication.k8s.io/v1",
            "TokenRequest",
            field(1, "shop") + field(4, 600) + field(3, field(1, "Pod") + field(3, "web")),
            {"audiences": ["shop"], "expirationSeconds": 600, "boundObjectRef": {"kind": "Pod", "name": "web"}},
        ),
        ("v1", "Binding", field(1, "Node") + field(3, "n1"), {"kind": "Node", "name": "n1"}),
        ("policy/v1", "Eviction", field(1, 5), {"gracePeriodSeconds": 5}),
    ],
)
def test_bodies_of_subresources_are_decoded(
    api_version: str, kind: str, fields: bytes, read: dict[str, object]
) -> None:
    read_body = decode(body(api_version, kind, metadata("a"), field(2, fields)))

    place = {"TokenRequest": "spec", "Binding": "target", "Eviction": "deleteOptions"}[kind]
    assert read_body == {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, place: read}


def test_maps_and_bytes_are_decoded() -> None:
    entry = field(1, "password") + field(2, b"\x00secret")
    label = field(11, field(1, "tier") + field(2, "front"))

    secret = decode(body("v1", "Secret", metadata("s", label), field(2, entry), field(3, "Opaque")))

    assert secret["data"] == {"password": "AHNlY3JldA=="}
    assert secret["metadata"]["labels"] == {"tier": "front"}
    assert secret["type"] == "Opaque"


def test_explicit_zero_values_of_optional_fields_are_kept() -> None:
    deployment = decode(body("apps/v1", "Deployment", metadata("d"), field(2, field(1, 0))))

    assert deployment["spec"]["replicas"] == 0


def test_embedded_messages_are_inlined_as_in_json() -> None:
    empty_dir = field(2, field(2, b""))
    volume = field(1, "cache") + empty_dir

    pod = decode(body("v1", "Pod", metadata("p"), field(2, field(1, volume))))

    assert pod["spec"]["volumes"] == [{"name": "cache", "emptyDir": {}}]


def test_int_or_string_is_decoded() -> None:
    port = field(3, 80) + field(4, field(1, 1) + field(3, "http"))
    other = field(3, 81) + field(4, field(1, 0) + field(2, 8081))

    service = decode(body("v1", "Service", metadata("s"), field(2, field(1, port) + field(1, other))))

    assert [(p["port"], p["targetPort"]) for p in service["spec"]["ports"]] == [(80, "http"), (81, 8081)]


def test_times_are_decoded_to_strings() -> None:
    created = field(8, field(1, 1_700_000_000) + field(2, 0))
    renewed = field(4, field(1, 1_700_000_000) + field(2, 1_000))

    namespace = decode(body("v1", "Namespace", metadata("n", created)))
    lease = decode(body("coordination.k8s.io/v1", "Lease", metadata("l"), field(2, renewed)))

    assert namespace["metadata"]["creationTimestamp"] == "2023-11-14T22:13:20Z"
    assert lease["spec"]["renewTime"] == "2023-11-14T22:13:20.000001Z"


@given(st.integers(-(2**31), 2**31 - 1))
def test_positive_and_negative_numbers_are_decoded(replicas: int) -> None:
    deployment = decode(body("apps/v1", "Deployment", metadata("d"), field(2, field(1, replicas))))

    assert deployment["spec"]["replicas"] == replicas


def test_fields_of_later_versions_are_dropped() -> None:
    fixed64 = varint(901 << 3 | 1) + struct.pack("<d", 1.5)

    assert "spec" not in decode(body("v1", "ConfigMap", metadata("c"), field(900, "new"), fixed64))


def test_the_error_for_an_unknown_kind_names_it() -> None:
    with pytest.raises(LookupError, match=r"acme\.example/v1 Widget"):
        decode(body("acme.example/v1", "Widget"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{}", "does not begin with the protobuf prefix"),
        (b"k8s\x00\x0a\xff", "has no end"),
        (b"k8s\x00\x0a\x05ab", "ends in the middle of field 1"),
        (b"k8s\x00\x0b", "wire type 3"),
        (body("v1", "Namespace", field(1, 7)), "is encoded as a number, expected length-delimited"),
        (body("apps/v1", "Deployment", field(2, field(1, "x"))), "int32 is encoded as length-delimited data"),
    ],
)
def test_the_error_for_a_malformed_message_has_its_cause(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode(data)


@given(st.binary())
def test_random_bytes_are_decoded_or_rejected(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        decode(b"k8s\x00" + field(1, field(1, "v1") + field(2, "Pod")) + field(2, data))
