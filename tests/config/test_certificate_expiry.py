"""Reading the expiry of a certificate."""

from __future__ import annotations

import base64
import contextlib
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from dynkube.config._certificates import expiries

KEY = ec.generate_private_key(ec.SECP256R1())


def certificate(not_after: datetime, common_name: str = "dev") -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])
    builder = x509.CertificateBuilder(name, name, KEY.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(datetime(1950, 1, 1, tzinfo=UTC)).not_valid_after(not_after)
    return builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


# UTCTime (1950-2049) has two digits of the year, GeneralizedTime four.
SECONDS = st.integers(
    int(datetime(1951, 1, 1, tzinfo=UTC).timestamp()), int(datetime(9999, 12, 31, tzinfo=UTC).timestamp())
)


@given(SECONDS.map(lambda seconds: datetime.fromtimestamp(seconds, tz=UTC)), st.text("abc", min_size=1, max_size=64))
def test_the_expiry_is_read_as_written(not_after: datetime, common_name: str) -> None:
    assert expiries(certificate(not_after, common_name)) == [not_after]


def test_all_expiries_of_a_bundle_are_read_in_order_and_other_text_skipped() -> None:
    first, second = datetime(2049, 12, 31, tzinfo=UTC), datetime(2050, 1, 1, tzinfo=UTC)

    assert expiries(b"# mine\n" + certificate(first) + b"\nsubject=dev\n" + certificate(second)) == [first, second]


def test_text_without_a_certificate_is_rejected() -> None:
    with pytest.raises(ValueError, match="no PEM certificate"):
        expiries(b"-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----")


@given(st.integers(min_value=0, max_value=60))
def test_a_certificate_truncated_before_its_validity_is_an_error(length: int) -> None:
    whole = x509.load_pem_x509_certificate(certificate(datetime(2030, 1, 1, tzinfo=UTC)))
    cut = base64.encodebytes(whole.public_bytes(serialization.Encoding.DER)[:length])

    with pytest.raises(ValueError, match="cannot be decoded"):
        expiries(b"-----BEGIN CERTIFICATE-----\n" + cut + b"-----END CERTIFICATE-----\n")


@given(st.binary(max_size=80))
def test_arbitrary_bytes_raise_nothing_but_value_errors(noise: bytes) -> None:
    with contextlib.suppress(ValueError):
        expiries(b"-----BEGIN CERTIFICATE-----\n" + base64.encodebytes(noise) + b"-----END CERTIFICATE-----\n")


def test_an_expiry_that_is_not_a_time_is_an_error() -> None:
    whole = x509.load_pem_x509_certificate(certificate(datetime(2060, 1, 1, tzinfo=UTC)))
    time, text = b"\x18\x0f20600101000000Z", b"\x0c\x0f20600101000000Z"
    changed = base64.encodebytes(whole.public_bytes(serialization.Encoding.DER).replace(time, text))

    with pytest.raises(ValueError, match="cannot be decoded"):
        expiries(b"-----BEGIN CERTIFICATE-----\n" + changed + b"-----END CERTIFICATE-----\n")
