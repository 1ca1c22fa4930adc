"""The SSL context: trusted CAs, client certificates, and error messages."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from dynkube.config import ClientCertificate, TLSSettings
from dynkube.errors import ConfigError, CredentialError, InvalidInput

FAR = datetime(2999, 1, 1, tzinfo=UTC)


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext, name: str) -> ssl.SSLObject:
    """Do a complete handshake in memory, and return the server's side; errors of both sides are raised."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=name)
    theirs = server.wrap_bio(to_server, to_client, server_side=True)
    waiting = [ours, theirs]
    for _ in range(10):
        for side in list(waiting):
            try:
                side.do_handshake()
                waiting.remove(side)
            except ssl.SSLWantReadError:
                pass
    assert not waiting
    return theirs


def serving(authority: trustme.CA, name: str = "api.example") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


def test_a_given_ca_is_trusted_and_the_name_checked(authority: trustme.CA) -> None:
    context = TLSSettings(ca_data=authority.cert_pem.bytes()).ssl_context()

    shake_hands(context, serving(authority), "api.example")
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        shake_hands(context, serving(authority), "other.example")


def test_the_system_does_not_trust_that_ca(authority: trustme.CA) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(TLSSettings().ssl_context(), serving(authority), "api.example")


def test_a_ca_file_is_read_again_for_every_context(authority: trustme.CA, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_bytes(trustme.CA().cert_pem.bytes())
    settings = TLSSettings(ca_file=str(path))
    settings.ssl_context()

    path.write_bytes(authority.cert_pem.bytes())

    shake_hands(settings.ssl_context(), serving(authority), "api.example")


def test_a_ca_without_key_identifiers_is_accepted_as_on_python_3_12(monkeypatch: pytest.MonkeyPatch) -> None:
    ca, server = _bare_authority("api.example")
    make = ssl.create_default_context

    def strict(cadata: str) -> ssl.SSLContext:
        context = make(cadata=cadata)
        context.verify_flags |= ssl.VERIFY_X509_STRICT  # Python 3.13 sets it
        return context

    monkeypatch.setattr(ssl, "create_default_context", strict)

    shake_hands(TLSSettings(ca_data=ca).ssl_context(), server, "api.example")
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(strict(ca.decode()), server, "api.example")


def test_an_intermediate_suffices_as_trust_anchor_as_in_go(authority: trustme.CA) -> None:
    intermediate = authority.create_child_ca()

    context = TLSSettings(ca_data=intermediate.cert_pem.bytes()).ssl_context()

    shake_hands(context, serving(intermediate), "api.example")


def test_the_client_certificate_is_sent_and_leaves_no_file(
    authority: trustme.CA,
    issue: Callable[[datetime], ClientCertificate],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    server = serving(authority)
    server.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(server)
    settings = TLSSettings(ca_data=authority.cert_pem.bytes())

    end = shake_hands(settings.ssl_context(issue(FAR)), server, "api.example")

    assert end.getpeercert()
    assert list(tmp_path.iterdir()) == []


def test_the_certificate_of_the_settings_is_sent_unless_another_is_passed(
    authority: trustme.CA, issue: Callable[[datetime], ClientCertificate]
) -> None:
    server = serving(authority)
    server.verify_mode = ssl.CERT_REQUIRED
    authority.configure_trust(server)
    own, other = issue(FAR), issue(FAR)
    settings = TLSSettings(ca_data=authority.cert_pem.bytes(), certificate=own)

    contexts = settings.ssl_context(), settings.ssl_context(other)
    shown = [shake_hands(context, server, "api.example").getpeercert(binary_form=True) for context in contexts]

    assert shown == [ssl.PEM_cert_to_DER_cert(each.certificate_pem.decode()) for each in (own, other)]


def test_key_files_are_readable_by_the_owner_only(
    issue: Callable[[datetime], ClientCertificate], monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []

    class Spy(ssl.SSLContext):
        def load_cert_chain(self, certfile: str, keyfile: str, password: object) -> None:  # type: ignore[override]  # narrower
            modes.extend(Path(path).stat().st_mode & 0o777 for path in (certfile, keyfile))
            modes.append(Path(keyfile).parent.stat().st_mode & 0o777)

    monkeypatch.setattr("httpx2.create_ssl_context", lambda: Spy(ssl.PROTOCOL_TLS_CLIENT))

    TLSSettings().ssl_context(issue(FAR))

    assert modes == [0o600, 0o600, 0o700]


def test_without_verification_any_certificate_is_accepted(authority: trustme.CA) -> None:
    context = TLSSettings(verify=False).ssl_context()

    shake_hands(context, serving(authority), "other.example")


def test_the_error_for_an_expired_ca_has_its_path_and_the_time(authority: trustme.CA, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_bytes(authority.cert_pem.bytes())

    with pytest.raises(ConfigError, match=r"ca\.pem expired at .*it is 9000-01-01") as caught:
        TLSSettings(ca_file=str(path)).ssl_context(now=datetime(9000, 1, 1, tzinfo=UTC))

    assert "current CA" in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"junk", b"\xff\xfe", b"-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----"]
)
def test_a_ca_that_is_not_pem_is_rejected(content: bytes) -> None:
    with pytest.raises(ConfigError, match=r"certificate-authority-data .*must contain the cluster's CA as PEM"):
        TLSSettings(ca_data=content).ssl_context()


def test_comments_between_the_authorities_may_be_in_any_encoding(authority: trustme.CA) -> None:
    pem = authority.cert_pem.bytes()
    bundle = "# F\u0151tan\u00fas\u00edtv\u00e1ny\n".encode() + pem + b"# caf\xe9\n" + trustme.CA().cert_pem.bytes()

    assert len(TLSSettings(ca_data=bundle).ssl_context().get_ca_certs()) == 2


@pytest.mark.parametrize("given", ["/etc/ca.crt", "-----BEGIN CERTIFICATE-----"])
def test_pem_as_a_string_is_rejected_with_advice(given: Any) -> None:
    with pytest.raises(InvalidInput, match="ca_data is a str: pass PEM as bytes"):
        TLSSettings(ca_data=given)
    with pytest.raises(InvalidInput, match="key_pem is a str: pass PEM as bytes"):
        ClientCertificate(b"", given)


def test_a_certificate_without_a_directory_for_temporary_files_is_an_error_that_says_so(
    issue: Callable[[datetime], ClientCertificate], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))

    with pytest.raises(CredentialError, match=r"temporary files, .* set TMPDIR to a directory that is writable"):
        TLSSettings().ssl_context(issue(FAR))


def test_a_key_that_does_not_match_is_rejected(issue: Callable[[datetime], ClientCertificate]) -> None:
    mixed = ClientCertificate(issue(FAR).certificate_pem, issue(FAR).key_pem)

    with pytest.raises(CredentialError, match="do not match"):
        TLSSettings().ssl_context(mixed)


def test_an_encrypted_key_is_rejected_without_a_prompt(
    issue: Callable[[datetime], ClientCertificate],
) -> None:
    good = issue(FAR)
    key = serialization.load_pem_private_key(good.key_pem, password=None)
    encrypted = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
    )

    with pytest.raises(CredentialError, match="is encrypted: decrypt it"):
        TLSSettings().ssl_context(ClientCertificate(good.certificate_pem, encrypted))


def test_a_given_context_cannot_be_combined_with_a_certificate(issue: Callable[[datetime], ClientCertificate]) -> None:
    with pytest.raises(ConfigError, match="are mutually exclusive"):
        TLSSettings(context=ssl.create_default_context()).ssl_context(issue(FAR))


def _bare_authority(name: str) -> tuple[bytes, ssl.SSLContext]:
    """A CA and a server's context whose certificates lack subject and authority key identifiers (as EKS's do)."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kubernetes")])
    now = datetime.now(UTC)

    def build(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        builder = x509.CertificateBuilder(issuer, subject, public, x509.random_serial_number())
        return builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))

    ca = build(issuer, ca_key.public_key()).add_extension(x509.BasicConstraints(True, None), critical=True)
    leaf = build(x509.Name([]), key.public_key()).add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), True)
    encoding = serialization.Encoding.PEM
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    blob = leaf.sign(ca_key, hashes.SHA256()).public_bytes(encoding) + key.private_bytes(
        encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with trustme.Blob(blob).tempfile() as path:
        context.load_cert_chain(path)
    return ca.sign(ca_key, hashes.SHA256()).public_bytes(encoding), context
