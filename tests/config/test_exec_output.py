"""Parsing the output of a plugin."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from dynkube.config import ClientCertificate
from dynkube.config._exec_answer import parse_answer

V1 = "client.authentication.k8s.io/v1"
NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def printed(status: object, **top: object) -> bytes:
    return json.dumps({"apiVersion": V1, "kind": "ExecCredential", "status": status, **top}).encode()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2030-01-01T12:01:00Z", 60),
        ("2030-01-01T14:01:00+02:00", 60),
        ("2030-01-01T12:01:00.5Z", 60.5),
        ("2030-01-01T12:01:00.123456789Z", 60.123456),
    ],
)
def test_an_expiry_is_rfc_3339_in_any_zone_and_precision(text: str, seconds: float) -> None:
    output = parse_answer(printed({"token": "t", "expirationTimestamp": text}), api_version=V1, now=NOW)

    assert output.expires_at == NOW + timedelta(seconds=seconds)
    assert output.credential.headers == {"Authorization": "Bearer t"}


def test_a_credential_expires_with_its_certificate_if_that_is_earlier(
    issue: Callable[[datetime], ClientCertificate],
) -> None:
    pair = issue(NOW + timedelta(hours=1))
    status = {
        "clientCertificateData": pair.certificate_pem.decode(),
        "clientKeyData": pair.key_pem.decode(),
        "expirationTimestamp": "2031-01-01T00:00:00Z",
    }

    output = parse_answer(printed(status), api_version=V1, now=NOW)

    assert output.credential.certificate == pair
    assert output.credential.headers == {}
    assert output.expires_at == NOW + timedelta(hours=1)


@pytest.mark.parametrize(
    ("text", "expires_at"), [("2020-01-01T00:00:00Z", datetime(2020, 1, 1, tzinfo=UTC)), ("0001-01-01T00:00:00Z", None)]
)
def test_an_expired_token_is_used_and_a_zero_time_never_expires(text: str, expires_at: datetime | None) -> None:
    output = parse_answer(printed({"token": "t", "expirationTimestamp": text}), api_version=V1, now=NOW)

    assert output.credential.headers == {"Authorization": "Bearer t"}
    assert output.expires_at == expires_at


def test_an_expired_certificate_is_an_error(issue: Callable[[datetime], ClientCertificate]) -> None:
    pair = issue(NOW)
    status = {"clientCertificateData": pair.certificate_pem.decode(), "clientKeyData": pair.key_pem.decode()}

    with pytest.raises(ValueError, match=r"printed a certificate that expired at .*check the clock"):
        parse_answer(printed(status), api_version=V1, now=NOW)


@pytest.mark.parametrize(
    "stdout",
    [
        printed({"token": "t"}).replace(b'"kind": "ExecCredential", ', b""),
        b"\xef\xbb\xbf" + printed({"token": "t"}),
        f"apiVersion: {V1}\nkind: ExecCredential\nstatus:\n  token: t\n".encode(),
        printed({"token": "t", "expirationTimestamp": None}),
    ],
)
def test_the_kind_may_be_missing_and_the_format_may_be_yaml(stdout: bytes) -> None:
    assert parse_answer(stdout, api_version=V1, now=NOW).credential.headers == {"Authorization": "Bearer t"}


@pytest.mark.parametrize(
    ("stdout", "message"),
    [
        (b" \n", "printed nothing"),
        (b"\xff\xfe", "2 bytes that are not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not of kind ExecCredential"),
        (printed({}, kind="Secret"), "not of kind ExecCredential"),
        (printed({}, apiVersion=V1 + "beta1"), f"another apiVersion than {V1}"),
        (printed(None), "without a status"),
        (printed({}), "neither status.token nor"),
        (printed({"token": ""}), "neither status.token nor"),
        (printed({"token": 5}), "status.token that is not a string"),
        (printed({"token": "two words"}), "an invalid token"),
        (printed({"clientCertificateData": "x"}), "only one of"),
        (printed({"clientKeyData": "x"}), "only one of"),
        (printed({"clientCertificateData": "x", "clientKeyData": "x"}), "clientCertificateData: .* no PEM"),
        (printed({"token": "t", "expirationTimestamp": "soon"}), "not an RFC 3339 time"),
        (printed({"token": "t", "expirationTimestamp": "2030-01-01T12:00:00"}), "not an RFC 3339 time"),
        (printed({"token": "t", "expirationTimestamp": ""}), "not an RFC 3339 time"),
        (printed({"token": "t", "expirationTimestamp": "2030-01-01 12:00:00Z"}), "not an RFC 3339 time"),
        (b"notice: new version\n" + printed({"token": "t"}), "bytes that are not JSON"),
    ],
)
def test_invalid_output_is_explained(stdout: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_answer(stdout, api_version=V1, now=NOW)
