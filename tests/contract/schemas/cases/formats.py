"""The formats that are checked. Causes are those of kube-apiserver 1.36."""

from __future__ import annotations

import pytest

from tests.contract.schemas.kit import INVALID, TYPE_INVALID

CASES = [
    pytest.param(
        {"type": "string", "format": "date-time"},
        "2026-01-02T03:04:05Z",
        "tomorrow",
        [("spec.f", TYPE_INVALID, 'Invalid value: "tomorrow": spec.f in body must be of type date-time: "tomorrow"')],
        id="format date-time",
    ),
    pytest.param(
        {"type": "string", "format": "date"},
        "2026-01-02",
        "2026-13-02",
        [("spec.f", TYPE_INVALID, 'Invalid value: "2026-13-02": spec.f in body must be of type date: "2026-13-02"')],
        id="format date",
    ),
    pytest.param(
        {"type": "string", "format": "ipv4"},
        "10.0.0.1",
        "10.0.0",
        [("spec.f", TYPE_INVALID, 'Invalid value: "10.0.0": spec.f in body must be of type ipv4: "10.0.0"')],
        id="format ipv4",
    ),
    pytest.param(
        {"type": "string", "format": "ipv6"},
        "::1",
        "10.0.0.1",
        [("spec.f", TYPE_INVALID, 'Invalid value: "10.0.0.1": spec.f in body must be of type ipv6: "10.0.0.1"')],
        id="format ipv6",
    ),
    pytest.param(
        {"type": "string", "format": "cidr"},
        "10.0.0.0/8",
        "10.0.0.0",
        [("spec.f", TYPE_INVALID, 'Invalid value: "10.0.0.0": spec.f in body must be of type cidr: "10.0.0.0"')],
        id="format cidr",
    ),
    pytest.param(
        {"type": "string", "format": "mac"},
        "01:23:45:67:89:ab",
        "01:23",
        [("spec.f", TYPE_INVALID, 'Invalid value: "01:23": spec.f in body must be of type mac: "01:23"')],
        id="format mac",
    ),
    pytest.param(
        {"type": "string", "format": "uuid"},
        "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "6ba7",
        [("spec.f", TYPE_INVALID, 'Invalid value: "6ba7": spec.f in body must be of type uuid: "6ba7"')],
        id="format uuid",
    ),
    pytest.param(
        {"type": "string", "format": "uuid4"},
        "1b4e28ba-2fa1-4d3b-a3f5-ef19b5a7633b",
        "6ba7b810-9dad",
        [
            (
                "spec.f",
                TYPE_INVALID,
                'Invalid value: "6ba7b810-9dad": spec.f in body must be of type uuid4: "6ba7b810-9dad"',
            )
        ],
        id="format uuid4",
    ),
    pytest.param(
        {"type": "string", "format": "email"},
        "a@example.com",
        "a.example.com",
        [
            (
                "spec.f",
                TYPE_INVALID,
                'Invalid value: "a.example.com": spec.f in body must be of type email: "a.example.com"',
            )
        ],
        id="format email",
    ),
    pytest.param(
        {"type": "string", "format": "uri"},
        "https://example.com/a",
        "not a uri",
        [("spec.f", TYPE_INVALID, 'Invalid value: "not a uri": spec.f in body must be of type uri: "not a uri"')],
        id="format uri",
    ),
    pytest.param(
        {"type": "string", "format": "hostname"},
        "a.example.com",
        "a_b",
        [("spec.f", TYPE_INVALID, 'Invalid value: "a_b": spec.f in body must be of type hostname: "a_b"')],
        id="format hostname",
    ),
    pytest.param(
        {"type": "string", "format": "byte"},
        "YQ==",
        "YQ",
        [("spec.f", TYPE_INVALID, 'Invalid value: "YQ": spec.f in body must be of type byte: "YQ"')],
        id="format byte",
    ),
    pytest.param(
        {"type": "string", "format": "duration"},
        "1h30m",
        "soon",
        [("spec.f", TYPE_INVALID, 'Invalid value: "soon": spec.f in body must be of type duration: "soon"')],
        id="format duration",
    ),
    pytest.param(
        {"type": "string", "format": "password"},
        "x",
        1,
        [("spec.f", TYPE_INVALID, 'Invalid value: "int64": spec.f in body must be of type password: "int64"')],
        id="format password",
    ),
    pytest.param(
        {"type": "string", "format": "hexcolor"},
        "#fff",
        "#ggg",
        [("spec.f", TYPE_INVALID, 'Invalid value: "#ggg": spec.f in body must be of type hexcolor: "#ggg"')],
        id="format hexcolor",
    ),
    pytest.param(
        {"type": "string", "format": "rgbcolor"},
        "rgb(1,2,3)",
        "rgb(1,2)",
        [("spec.f", TYPE_INVALID, 'Invalid value: "rgb(1,2)": spec.f in body must be of type rgbcolor: "rgb(1,2)"')],
        id="format rgbcolor",
    ),
    pytest.param(
        {"type": "string", "format": "creditcard"},
        "4111111111111111",
        "4111111111111112",
        [
            (
                "spec.f",
                TYPE_INVALID,
                'Invalid value: "4111111111111112": spec.f in body must be of type creditcard: "4111111111111112"',
            )
        ],
        id="format creditcard",
    ),
    pytest.param(
        {"type": "string", "format": "isbn"},
        "0321751043",
        "0321751044",
        [("spec.f", TYPE_INVALID, 'Invalid value: "0321751044": spec.f in body must be of type isbn: "0321751044"')],
        id="format isbn",
    ),
    pytest.param(
        {"type": "string", "format": "isbn10"},
        "0321751043",
        "0321751044",
        [("spec.f", TYPE_INVALID, 'Invalid value: "0321751044": spec.f in body must be of type isbn10: "0321751044"')],
        id="format isbn10",
    ),
    pytest.param(
        {"type": "string", "format": "isbn13"},
        "978-0321751041",
        "978-0321751042",
        [
            (
                "spec.f",
                TYPE_INVALID,
                'Invalid value: "978-0321751042": spec.f in body must be of type isbn13: "978-0321751042"',
            )
        ],
        id="format isbn13",
    ),
    pytest.param(
        {"type": "string", "format": "ssn"},
        "111-22-3333",
        "1112233",
        [("spec.f", TYPE_INVALID, 'Invalid value: "1112233": spec.f in body must be of type ssn: "1112233"')],
        id="format ssn",
    ),
    pytest.param(
        {"type": "string", "format": "bsonobjectid"},
        "507f1f77bcf86cd799439011",
        "507f",
        [("spec.f", TYPE_INVALID, 'Invalid value: "507f": spec.f in body must be of type bsonobjectid: "507f"')],
        id="format bsonobjectid",
    ),
    pytest.param(
        {"type": "string", "format": "k8s-short-name"},
        "a-b",
        "A",
        [("spec.f", TYPE_INVALID, 'Invalid value: "A": spec.f in body must be of type k8s-short-name: "A"')],
        id="format k8s-short-name",
        marks=pytest.mark.since("1.25", "the format was not checked"),
    ),
    pytest.param(
        {"type": "string", "format": "k8s-long-name"},
        "a.b",
        "a..b",
        [("spec.f", TYPE_INVALID, 'Invalid value: "a..b": spec.f in body must be of type k8s-long-name: "a..b"')],
        id="format k8s-long-name",
        marks=pytest.mark.since("1.25", "the format was not checked"),
    ),
    pytest.param(
        {"type": "integer", "format": "int32"},
        2147483647,
        2147483648,
        [("<nil>", INVALID, 'Invalid value: "": Checked value must be of type integer with format int32 in spec.f')],
        id="format int32",
        marks=pytest.mark.since("1.25", "the format was not checked"),
    ),
    pytest.param(
        {"type": "integer", "format": "int32"},
        1,
        "a",
        [("spec.f", TYPE_INVALID, 'Invalid value: "string": spec.f in body must be of type integer: "string"')],
        id="format int32 string",
    ),
    pytest.param(
        {"type": "integer", "format": "int32"},
        1,
        True,
        [("spec.f", TYPE_INVALID, 'Invalid value: "": spec.f in body must be of type int32: ""')],
        id="format int32 bool",
    ),
    pytest.param(
        {"type": "integer", "format": "int64"},
        9223372036854775807,
        "a",
        [("spec.f", TYPE_INVALID, 'Invalid value: "string": spec.f in body must be of type integer: "string"')],
        id="format int64",
    ),
    pytest.param(
        {"type": "number", "format": "float"},
        1.5,
        1e300,
        [("<nil>", INVALID, 'Invalid value: "": Checked value must be of type number with format float in spec.f')],
        id="format float",
        marks=pytest.mark.since("1.25", "the format was not checked"),
    ),
    pytest.param(
        {"type": "number", "format": "double"},
        1.5,
        "a",
        [("spec.f", TYPE_INVALID, 'Invalid value: "string": spec.f in body must be of type number: "string"')],
        id="format double",
    ),
    pytest.param(
        {"type": "string", "format": "date"},
        "2026-01-02",
        1,
        [("spec.f", TYPE_INVALID, 'Invalid value: "int64": spec.f in body must be of type date: "int64"')],
        id="format date int",
    ),
]
