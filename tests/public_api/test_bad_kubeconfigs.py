"""Errors for kubeconfigs that are missing, malformed or without valid credentials name file, field and fix."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from contextlib import aclosing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trio
import trustme

import dynkube
from dynkube.errors import ConfigError, CredentialError, DiscoveryFailed
from dynkube_testing import APIServer

pytestmark = pytest.mark.real_time  # files are read in a thread, plugins are processes

Write = Callable[[str | dict[str, Any]], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    def write(content: str | dict[str, Any]) -> Path:
        path = tmp_path / "kubeconfig"
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return write


def kubeconfig(user: Any = None, **cluster: Any) -> dict[str, Any]:
    """Return a kubeconfig with one context and these fields of user and cluster; no server listens at its address."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "dev",
        "contexts": [{"name": "dev", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1", **cluster}}],
        "users": [{"name": "u", "user": user or {}}],
    }


def plugin(source: str, **fields: object) -> dict[str, Any]:
    """Return a user whose exec plugin is this Python program."""
    command = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": sys.executable}
    return {"exec": {**command, "args": ["-I", "-S", "-c", source], **fields}}


async def enter(path: Path, **options: Any) -> None:
    async with dynkube.connect(kubeconfig=path, **options):
        pass


async def test_the_error_for_a_missing_file_names_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere does not exist: check the path given as kubeconfig="):
        await enter(tmp_path / "nowhere")


@pytest.mark.parametrize("text", ["apiVersion: v1\nkind: Config\n" + "users: []\n" * 500, "~nosuchuser/config"])
async def test_a_string_that_is_not_a_path_is_rejected(text: str) -> None:
    with pytest.raises(ConfigError, match=r"kubeconfig= is not a valid path .*: pass the path of a file, or a decoded"):
        async with dynkube.connect(kubeconfig=text):
            pass


async def test_without_a_configuration_the_error_names_the_places_searched(write: Write) -> None:
    with pytest.raises(
        ConfigError,
        match=r"\$KUBECONFIG is not set, so ~/.kube/config .*not running in a pod .*: pass kubeconfig= or url=",
    ):
        async with dynkube.connect():
            pass


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{a: [b", r"kubeconfig is not valid YAML: .*\(line 2, column"),
        ("", "kubeconfig is empty: it defines no cluster"),
        ("hello", "must be a mapping with clusters, contexts, users and current-context"),
        (kubeconfig(server=""), r"clusters\[name=c\]\.cluster\.server is missing: set it to the address"),
        (kubeconfig(server="not a url"), "server .*not a url.* is not a valid URL"),
        (kubeconfig(**{"certificate-authority": "/nowhere.pem"}), "authority /nowhere.pem cannot be read"),
        (kubeconfig(**{"certificate-authority-data": "***"}), "certificate-authority-data is not valid base64"),
        (kubeconfig({"tokenFile": "/nowhere"}), r"users\[name=u\]\.user\.tokenFile: /nowhere cannot be read"),
        (kubeconfig({"auth-provider": {"name": "gcp"}}), r"auth-provider\.name 'gcp' .*: install gke-gcloud-auth"),
    ],
)
async def test_the_error_for_a_malformed_file_names_file_and_field(write: Write, content: str, message: str) -> None:
    path = write(content)

    with pytest.raises(ConfigError, match=message) as caught:
        await enter(path)

    assert str(path) in str(caught.value) or "authority" in message


async def test_the_error_for_an_unknown_context_lists_the_known_ones(write: Write) -> None:
    path = write(kubeconfig())

    with pytest.raises(ConfigError, match=r"has no context 'prod' \(there are 'dev'\)"):
        await enter(path, context="prod")


async def test_an_expired_client_certificate_is_rejected_before_any_request(write: Write) -> None:
    leaf = trustme.CA().issue_cert(
        "dev@example.org", not_before=datetime(2020, 1, 1, tzinfo=UTC), not_after=datetime(2021, 1, 1, tzinfo=UTC)
    )
    pem, key = leaf.cert_chain_pems[0].bytes(), leaf.private_key_pem.bytes()
    user = {f"client-{n}-data": base64.b64encode(v).decode() for n, v in {"certificate": pem, "key": key}.items()}

    with pytest.raises(
        CredentialError, match=r"users\[name=u\]\.user\.client-certificate-data: .*expired .*2021-01-01"
    ):
        await enter(write(kubeconfig(user)))


@pytest.mark.parametrize(
    ("user", "message"),
    [
        (plugin("raise SystemExit('please log in')"), r"failed with exit code 1\nlast output:\n  please log in"),
        (plugin("print('hi')"), "printed 3 bytes that are not JSON: it must print an ExecCredential"),
        (
            plugin("", command="no-such-plugin", installHint="get it at example.org"),
            "'no-such-plugin' was not found or is not executable: install it or correct the path\nget it at",
        ),
    ],
)
async def test_a_failing_plugin_is_reported_by_calls_and_informers(
    write: Write, user: dict[str, Any], message: str
) -> None:
    async with dynkube.connect(kubeconfig=write(kubeconfig(user))) as client:
        with pytest.raises(CredentialError, match=message) as caught:
            await client.resource("pods").list()
        async with client.informer("pods.v1") as pods:
            with trio.fail_after(30):
                state = await wait_for_reason(pods, "DiscoveryFailed")

    assert isinstance(caught.value.__cause__, DiscoveryFailed)
    assert "users[name=u].user.exec: plugin" in str(caught.value)
    assert state.phase is dynkube.UNKNOWN
    assert "users[name=u].user.exec: plugin" in state.message


@pytest.mark.scenario("F24", "F26")
async def test_the_timeout_error_names_a_hanging_plugin(write: Write) -> None:
    user = plugin("import time; time.sleep(600)")

    async with dynkube.connect(kubeconfig=write(kubeconfig(user))) as client:
        with pytest.raises(
            dynkube.DynkubeError, match=r"within 1 s, while waiting for .*plugin .*users\[name=u\]"
        ) as caught:
            await client.raw("GET", "/version", timeout=1.0)

    assert "log in manually first" in str(caught.value)


@pytest.mark.scenario("F30")
async def test_failing_credentials_of_one_client_do_not_affect_others(write: Write, server: APIServer) -> None:
    broken = kubeconfig(plugin("raise SystemExit('please log in')"))
    async with (
        dynkube.connect(kubeconfig=write(broken)) as bad,
        dynkube.connect(transport=server.transport()) as good,
        bad.informer("pods.v1") as nothing,
        good.informer("pods.v1") as pods,
    ):
        with trio.fail_after(30):
            await wait_for_reason(nothing, "DiscoveryFailed")
            await pods.wait_state(dynkube.LIVE)


async def wait_for_reason(informer: dynkube.Informer, reason: str) -> dynkube.State:
    async with aclosing(informer.states()) as states:
        async for state in states:
            if state.reason == reason:
                return state
    raise AssertionError(f"never {reason}")
