"""Conversion of a kubernetes.client.Configuration, with its special cases of credentials."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
import trustme
from kubernetes import client
from kubernetes import config as kubernetes_config

from dynkube.config import TLSSettings, from_kubernetes_configuration
from dynkube.errors import ConfigError, CredentialError, InvalidInput


def configuration(**fields: object) -> Any:
    configuration = client.Configuration(host="https://api.example:6443")
    for name, value in fields.items():
        setattr(configuration, name, value)
    return configuration


@pytest.mark.parametrize(
    ("fields", "authorization"),
    [
        ({"api_key": {"BearerToken": "Bearer t\n"}}, "Bearer t"),
        ({"api_key": {"BearerToken": "bearer t"}}, "Bearer t"),
        ({"api_key": {"authorization": "t"}, "api_key_prefix": {"authorization": "Bearer"}}, "Bearer t"),
        ({"api_key": {"authorization": "t"}}, "Bearer t"),
        ({"api_key": {"authorization": "Basic ZGV2OnB3\n"}}, "Basic ZGV2OnB3"),
        ({"username": "dev", "password": "pw"}, "Basic ZGV2OnB3"),
    ],
)
async def test_its_token_is_sent_as_a_header(fields: dict[str, object], authorization: str) -> None:
    config = from_kubernetes_configuration(configuration(**fields))

    first = await config.credentials.current()
    assert first.headers == {"Authorization": authorization}
    assert await config.credentials.current() is first
    assert await config.credentials.refresh(first) is first


async def test_without_a_token_it_is_anonymous() -> None:
    assert (await from_kubernetes_configuration(configuration()).credentials.current()).headers == {}


@pytest.mark.real_time
async def test_its_refresh_hook_runs_in_a_thread_and_never_concurrently() -> None:
    calls = []
    running = 0

    def hook(configuration: Any) -> None:
        nonlocal running
        running += 1
        trio.from_thread.run(trio.testing.wait_all_tasks_blocked)  # only from a thread; others may get this far
        calls.append(running)
        configuration.api_key["BearerToken"] = f"Bearer t{len(calls)}"
        running -= 1

    theirs = configuration(api_key={"BearerToken": "Bearer t0"}, refresh_api_key_hook=hook)
    credentials = from_kubernetes_configuration(theirs).credentials
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(credentials.current)

    assert (await credentials.current()).headers == {"Authorization": "Bearer t4"}
    assert calls == [1, 1, 1, 1]


@pytest.mark.real_time
async def test_a_hook_that_raises_is_a_credential_error() -> None:
    def hook(configuration: object) -> None:
        raise OSError("no network")

    theirs = configuration(api_key={"BearerToken": "Bearer t"}, refresh_api_key_hook=hook)

    with pytest.raises(CredentialError, match="refresh_api_key_hook failed: OSError"):
        await from_kubernetes_configuration(theirs).credentials.current()


def test_tls_settings_server_and_proxy_are_converted(
    authority: trustme.CA, write: Callable[[str, object], str]
) -> None:
    ca = write("ca.pem", authority.cert_pem.bytes().decode())
    theirs = configuration(ssl_ca_cert=ca, tls_server_name="kubernetes", proxy="http://proxy:3128")

    config = from_kubernetes_configuration(theirs, namespace="shop")

    assert config.tls == TLSSettings(ca_file=ca, server_name="kubernetes")
    assert (config.server, config.namespace) == ("https://api.example:6443", "shop")
    assert config.proxy_url == "http://proxy:3128"


def test_verify_ssl_false_wins_over_a_ca_as_in_that_package() -> None:
    theirs = configuration(verify_ssl=False, ssl_ca_cert="/nowhere", assert_hostname=False)

    assert from_kubernetes_configuration(theirs).tls.verify is False


@pytest.mark.parametrize("exceptions", ["api.example", ".example", "*.example", "x, EXAMPLE", "*"])
def test_a_host_matched_by_no_proxy_is_reached_without_the_proxy(exceptions: str) -> None:
    theirs = configuration(proxy="http://proxy:3128", no_proxy=exceptions)

    assert from_kubernetes_configuration(theirs).proxy_url is None


@pytest.mark.parametrize("exceptions", [None, "", "ample", "example.org", "i.example"])
def test_a_host_not_matched_by_no_proxy_is_reached_through_the_proxy(exceptions: str | None) -> None:
    theirs = configuration(proxy="http://proxy:3128", no_proxy=exceptions)

    assert from_kubernetes_configuration(theirs).proxy_url == "http://proxy:3128"


def test_a_proxy_of_the_environment_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://env:3128")

    assert from_kubernetes_configuration(client.Configuration(host="https://api")).proxy_url is None


async def test_a_certificate_is_converted(issue: Any, clock: Any, tmp_path: Path) -> None:
    pair = issue(clock() + timedelta(hours=1))
    (tmp_path / "both.pem").write_bytes(pair.certificate_pem + pair.key_pem)
    theirs = configuration(cert_file=str(tmp_path / "both.pem"), api_key={"BearerToken": "Bearer t"})

    credential = await from_kubernetes_configuration(theirs, now=clock).credentials.current()

    assert credential.headers == {"Authorization": "Bearer t"}
    assert credential.certificate is not None
    TLSSettings().ssl_context(credential.certificate)


async def _asyncio_hook(configuration: object) -> None: ...


@pytest.mark.parametrize(
    ("argument", "error", "message"),
    [
        (configuration(assert_hostname=False), ConfigError, "assert_hostname=False is not supported"),
        (configuration(refresh_api_key_hook=_asyncio_hook), ConfigError, "asyncio refresh hook"),
        (configuration(host="api"), ConfigError, "configuration=: server"),
        (object(), InvalidInput, r"must be a kubernetes\.client\.Configuration, not object"),
    ],
)
def test_settings_without_an_equivalent_are_rejected(argument: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_kubernetes_configuration(argument)


async def test_a_configuration_loaded_by_the_package_is_converted(document: Callable[..., dict[str, object]]) -> None:
    theirs = client.Configuration()
    kubernetes_config.load_kube_config_from_dict(document({"token": "t"}), client_configuration=theirs)  # type: ignore[no-untyped-call]  # the function has no annotations
    theirs.refresh_api_key_hook = None  # it would start a thread per request, and this test runs in virtual time

    config = from_kubernetes_configuration(theirs)

    assert config.server == "https://api.example:6443"
    assert (await config.credentials.current()).headers == {"Authorization": "Bearer t"}
