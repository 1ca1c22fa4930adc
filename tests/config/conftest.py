"""A clean environment, a settable clock, certificates, kubeconfig files and plugins for the configuration tests."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme

from dynkube.config import ClientCertificate, ExecCommand


class Clock:
    """A wall clock that stands still until it is moved."""

    def __init__(self, time: datetime) -> None:
        self.time = time

    def __call__(self) -> datetime:
        return self.time

    def advance(self, **delta: float) -> None:
        self.time += timedelta(**delta)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "POD_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def clock() -> Clock:
    return Clock(datetime(2030, 1, 1, 12, tzinfo=UTC))


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def issue(authority: trustme.CA) -> Callable[[datetime], ClientCertificate]:
    def issue(not_after: datetime) -> ClientCertificate:
        leaf = authority.issue_cert("dev@example.org", not_before=datetime(2020, 1, 1, tzinfo=UTC), not_after=not_after)
        return ClientCertificate(leaf.cert_chain_pems[0].bytes(), leaf.private_key_pem.bytes())

    return issue


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, object], str]:
    """Write a file below tmp_path, creating directories; content that is not a string is written as JSON."""

    def write(name: str, content: object) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def document() -> Callable[..., dict[str, object]]:
    """A kubeconfig with one context, whose user and cluster have the given fields."""

    def document(user: object = None, **cluster: object) -> dict[str, object]:
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "ctx",
            "contexts": [{"name": "ctx", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": "https://api.example:6443", **cluster}}],
            "users": [{"name": "u", "user": user}],
        }

    return document


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[..., ExecCommand]:
    """A plugin with this source. It may call ``respond(token=..., expirationTimestamp=...)``; each run adds a line to
    ``runs``.
    """

    def plugin(source: str, **options: object) -> ExecCommand:
        script = tmp_path / "plugin.py"
        script.write_text(
            "import json, os, sys, time\n"
            f"directory = {str(tmp_path)!r}\n"
            "with open(directory + '/runs', 'a+') as runs:\n"
            "    runs.write('run\\n')\n"
            "    runs.seek(0)\n"
            "    run = len(runs.readlines())\n"
            "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
            "def respond(**status):\n"
            "    print(json.dumps({'apiVersion': info['apiVersion'], 'kind': 'ExecCredential', 'status': status}))\n"
            + source
        )
        (tmp_path / "runs").touch()
        defaults = {
            "command": sys.executable,
            "args": ("-I", "-S", str(script)),
            "api_version": "client.authentication.k8s.io/v1",
            "interactive_mode": "Never",
            "where": "kubeconfig: users[name=u].user.exec",
        }
        return ExecCommand(**{**defaults, **options})  # type: ignore[arg-type]  # options of many types

    return plugin


@pytest.fixture
def runs(tmp_path: Path) -> Callable[[], int]:
    return lambda: len((tmp_path / "runs").read_text().splitlines())
