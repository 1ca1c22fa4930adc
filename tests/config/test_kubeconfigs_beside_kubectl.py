"""Each kubeconfig ends as with kubectl, but for the differences of ``docs/kubeconfig.md``."""

from __future__ import annotations

import ipaddress
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme

from dynkube.config import ClientConfig, Credential, load_config
from dynkube.errors import ConfigError, CredentialError
from tests.config.kubeconfigs import Case, Place, cases
from tests.config.record_kubectl import OUTCOMES, place

RECORDED: dict[str, Any] = json.loads(OUTCOMES.read_text(encoding="utf-8"))
DIFFERENT = {
    "kubectl asks for a user name": (
        "entries: a context with an empty user",
        "entries: a context without a user",
        "entries: a user that is null",
        "entries: a user without content",
        "entries: an empty user",
        "entries: an unnamed cluster and no context",
        "entries: the field Token",
        "entries: users null",
        "users: {token: ''}",
        "users: {token: null}",
        "users: {username: '', password: ''}",
        "certificates: an empty path",
        "certificates: empty data",
        "certificates: null data",
    ),
    "YAML that go-yaml does not read": (
        "encodings: a byte order mark in the middle",
        "encodings: JSON with a solidus escaped",
        "documents: a directive of YAML 1.2",
    ),
    "tags are rejected": ("documents: a local tag", "documents: a non-specific tag"),
    "data is text": ("types: user.client-key-data [5]", "types: user.client-key-data [null]"),
    "an address with more than a path is a mistake": (
        "clusters: a server with a fragment",
        "clusters: a server with a path and a query",
        "clusters: a server with a query",
        "clusters: a server with user and password",
    ),
    "blanks around an address or token": (
        "answers: a token with a line break",
        "clusters: a server with blanks around it",
        'users: {token: " secret"}',
        r'users: {token: "secret\n"}',
    ),
    "a server without a scheme": ("clusters: a server without a scheme",),
    "data takes precedence over a file": (
        "authorities: data and a file",
        "authorities: data and a missing file",
        "certificates: data and files",
    ),
    "text around a certificate": ("authorities: data with a byte order mark",),
    "credentials that no server accepts": (
        "answers: a token with a blank",
        'users: {token: "secrët"}',
        "users: {username: 'a:b', password: pw}",
        "users: a token file with a byte order mark",
    ),
    "a key without a certificate": ("certificates: a key without a certificate, and a token",),
    "an unused provider": ("users: {token: secret, auth-provider: {name: gcp, config: null}}",),
    "a path below a file": ("merges: a file below a file",),
}
GROUPS = tuple(dict.fromkeys(name.partition(":")[0] for name in RECORDED if name != "kubectl"))


@pytest.fixture(scope="module")
def where(authority: trustme.CA) -> Place:
    return place(authority, "https://127.0.0.1:6443")


@pytest.mark.real_time
@pytest.mark.parametrize("group", GROUPS)
async def test_kubeconfigs_end_as_with_kubectl(
    group: str, where: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    different = {}
    for index, (name, case) in enumerate(cases(where).items()):
        if name.startswith(f"{group}:"):
            ends = await outcome(case, tmp_path / str(index), monkeypatch)
            if ends != RECORDED[name]:
                different[name] = f"{ends} instead of {RECORDED[name]}"

    explained = {name for names in DIFFERENT.values() for name in names if name.startswith(f"{group}:")}
    assert set(different) == explained, different


async def outcome(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any] | str:
    monkeypatch.setenv("KUBECONFIG", case.write(folder))
    monkeypatch.setenv("HOME", str(folder))
    try:
        config = load_config()
        credential = await config.credentials.current()
        config.tls.ssl_context(credential.certificate)
    except (ConfigError, CredentialError):
        return "error"
    return {name: value for name, value in carried(config, credential).items() if value}


def carried(config: ClientConfig, credential: Credential) -> dict[str, Any]:
    """Return what a request carries, as the server of the recorder reports it."""
    parts = urlsplit(config.server)
    pairs = config.impersonate.headers() if config.impersonate else ()
    return {
        "namespace": config.namespace,
        "path": parts.path,
        "authorization": credential.headers.get("Authorization", ""),
        "impersonation": sorted([name.title(), value] for name, value in pairs),
        "certificate": credential.certificate is not None,
        "server_name": config.tls.server_name or ("" if is_address(parts.hostname or "") else parts.hostname),
    }


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
