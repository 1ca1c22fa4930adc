"""Parsing of a plugin's ``ExecCredential``.

Errors never quote the output, which may be a token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NoReturn

from dynkube.config._credentials import Credential, bearer
from dynkube.config._tls import ClientCertificate
from dynkube.errors import CredentialError

_NO_JSON = object()
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)")
_ZERO_TIME = datetime(1, 1, 1, tzinfo=UTC)
_WORDS = 1000  # output with more words is not a credential


@dataclass(frozen=True, slots=True)
class ExecAnswer:
    """A credential and its expiry.

    The expiry is that of the ExecCredential or of its certificate, whichever is earlier; ``None`` if unknown.
    """

    credential: Credential
    expires_at: datetime | None


def parse_answer(stdout: bytes, *, api_version: str, now: datetime) -> ExecAnswer:
    """Parse the output of a plugin.

    As in client-go a token is used also after its expiry, by which the plugin only runs again: the clock of this
    machine may be wrong.

    Raises:
        ValueError: the output is not a credential of ``api_version``, or its certificate has expired. The message is
            the end of a sentence that begins with "the plugin".
    """
    status = _status(stdout, api_version)
    token = _text(status, "token")
    certificate = _text(status, "clientCertificateData")
    key = _text(status, "clientKeyData")
    if not token and not certificate and not key:
        raise ValueError("printed neither status.token nor status.clientCertificateData with clientKeyData")
    if bool(certificate) != bool(key):
        raise ValueError("printed only one of status.clientCertificateData and status.clientKeyData")
    pair = ClientCertificate(certificate.encode(), key.encode()) if certificate else None
    expires_at = _certificate_expiry(pair)
    if expires_at is not None and expires_at <= now:
        raise ValueError(  # the TLS alert would not say so
            f"printed a certificate that expired at {expires_at.isoformat()} (it is "
            f"{now.isoformat(timespec='seconds')} now): log in again, or check the clock of this machine"
        )
    stated = _stated_expiry(status)
    expires_at = min((end for end in (expires_at, stated) if end is not None), default=None)
    try:
        headers = bearer(token, where="status.token").headers if token else {}
    except CredentialError as error:
        raise ValueError(f"printed an invalid token: {error}") from error
    return ExecAnswer(Credential(headers, pair), expires_at)


def printed_texts(stdout: bytes) -> tuple[str, ...]:
    """Return the words of a plugin's stdout, to be redacted from messages.

    One of them is the credential.
    """
    return tuple(re.findall(r"[^\s\"{}\[\],]+", stdout.decode("utf-8", "replace").replace("\\n", "\n"))[:_WORDS])


def _status(stdout: bytes, api_version: str) -> Mapping[str, object]:
    if not stdout.strip():
        raise ValueError("printed nothing: it must print an ExecCredential as JSON on standard output")
    answer = _decoded(stdout)
    if answer is _NO_JSON:
        raise ValueError(f"printed {len(stdout)} bytes that are not JSON: it must print an ExecCredential")
    if not isinstance(answer, dict) or answer.get("kind") not in (None, "", "ExecCredential"):
        raise ValueError("printed JSON that is not of kind ExecCredential")
    if answer.get("apiVersion") != api_version:
        raise ValueError(
            f"printed an ExecCredential of another apiVersion than {api_version}, which the kubeconfig requests: "
            "set exec.apiVersion to the version that the plugin supports"
        )
    status = answer.get("status")
    if not isinstance(status, dict):
        raise ValueError("printed an ExecCredential without a status")  # noqa: TRY004 - one type for all complaints
    return status


def _decoded(stdout: bytes) -> object:
    """Decode JSON or, as client-go does, YAML; return ``_NO_JSON`` on error.

    The decoder's exception contains the input, so it must not become the context of an error raised here.
    """
    try:
        if stdout.lstrip().startswith((b"{", b"[")):
            return json.loads(stdout, parse_constant=_not_json)
        from dynkube.meta._yaml.loading import load_first  # lazy: PyYAML is rarely needed

        first = load_first(stdout, any_tag=False)
        return first.data if first is not None and isinstance(first.data, dict) else _NO_JSON
    except (ValueError, RecursionError):
        return _NO_JSON


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"JSON has no {constant}")


def _text(status: Mapping[str, object], name: str) -> str:
    value = status.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"printed a status.{name} that is not a string")
    return value or ""


def _stated_expiry(status: Mapping[str, object]) -> datetime | None:
    """Return ``status.expirationTimestamp``; ``None`` for Go's zero time, which never expires."""
    if status.get("expirationTimestamp") is None:
        return None
    text = _text(status, "expirationTimestamp")
    try:
        end = datetime.fromisoformat(text) if _RFC_3339.fullmatch(text) else None
    except ValueError:
        end = None
    if end is None:
        raise ValueError(f"printed a status.expirationTimestamp that is not an RFC 3339 time: {text[:40]!r}")
    return None if end == _ZERO_TIME else end


def _certificate_expiry(pair: ClientCertificate | None) -> datetime | None:
    if pair is None:
        return None
    try:
        return pair.expires_at()
    except CredentialError as error:
        raise ValueError(f"printed an invalid status.clientCertificateData: {error}") from error
