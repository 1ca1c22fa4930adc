"""A configuration made from arguments only."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import trustme

from dynkube.config import ClientCertificate, explicit_config
from dynkube.errors import ConfigError, CredentialError, InvalidInput


async def test_a_token_becomes_a_bearer_header() -> None:
    config = explicit_config("https://api.example:6443/prefix/", token=" s3cret\n")

    credential = await config.credentials.current()

    assert config.server == "https://api.example:6443/prefix"
    assert credential.headers == {"Authorization": "Bearer s3cret"}


async def test_basic_authentication_is_encoded_as_utf_8() -> None:
    config = explicit_config("https://api", basic_auth=("dev", "pä:ss"))

    assert (await config.credentials.current()).headers == {"Authorization": "Basic ZGV2OnDDpDpzcw=="}


async def test_a_token_and_a_certificate_are_sent_together(issue: Callable[[datetime], ClientCertificate]) -> None:
    certificate = issue(datetime(2999, 1, 1, tzinfo=UTC))

    config = explicit_config("https://api", token="t", certificate=certificate)

    credential = await config.credentials.current()
    assert credential.headers == {"Authorization": "Bearer t"}
    assert credential.certificate is certificate
    assert await config.credentials.current() is credential
    assert await config.credentials.refresh(credential) is credential


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("api.example:6443", "https://HOST:PORT"),
        ("https://", "https://HOST:PORT"),
        (
            "127.0.0.1:6443",
            "server '127.0.0.1:6443' is not a valid URL, it has no scheme: expected for example https://HOST:PORT",
        ),
        ("dev:s3cret@api:6443", "server as given is not a valid URL, it has no scheme"),
        ("api?token=s3cret", "server 'api' is not a valid URL"),
        ("https://api example", "server 'https://api example' is not a valid URL: expected"),
        ("https://[::1", "https://HOST:PORT"),
        ("https://api:port", "https://HOST:PORT"),
        ("ftp://api", "must start with https://"),
        ("https://api?x=1", "must not have a query or fragment"),
        ("https://dev:s3cret@api", "must not contain a user or password"),
    ],
)
def test_the_error_for_an_invalid_url_has_the_fix(url: str, hint: str) -> None:
    with pytest.raises(ConfigError, match="server") as caught:
        explicit_config(url)

    assert hint in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"url": 5}, "url is an int: pass a string like 'https://HOST:PORT'"),
        ({"token": b"t"}, "token is bytes: pass the bearer token as a string"),
        ({"verify": None}, "verify is None: pass True, False, the path of a PEM file"),
    ],
)
def test_the_error_for_an_argument_of_the_wrong_type_names_it(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        explicit_config(**{"url": "https://api"} | arguments)


@pytest.mark.parametrize("token", ["", " \n", "two words", "line\nbreak", "ünïcode"])
def test_an_invalid_token_is_rejected_without_showing_it(token: str) -> None:
    with pytest.raises(CredentialError, match="token=") as caught:
        explicit_config("https://api", token=token)

    assert not token.strip() or token.strip() not in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [
        {"token": "t", "basic_auth": ("u", "p")},
        {"token": "t", "token_file": "f"},
        {"certificate": ClientCertificate(b"", b""), "verify": ssl.create_default_context()},
    ],
)
def test_the_error_for_mutually_exclusive_arguments_names_them(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        explicit_config("https://api", **arguments)

    assert all(name in str(caught.value) for name in arguments)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"token_file": "nowhere"}, "token_file="),
        ({"verify": "nowhere"}, "nowhere"),
        ({"certificate": ("nowhere", "nokey")}, "certificate="),
        ({"proxy_url": "gopher://p"}, "proxy-url"),
    ],
)
def test_a_missing_file_is_an_error_at_once(arguments: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError, match=field):
        explicit_config("https://api", **arguments)


def test_the_scheme_of_an_address_may_be_in_upper_case() -> None:
    config = explicit_config("HTTPS://Api.example:6443/Prefix/", proxy_url=" HTTP://proxy:3128\n")

    assert (config.server, config.proxy_url) == ("https://Api.example:6443/Prefix", "http://proxy:3128")


def test_verify_takes_a_path_or_a_context(authority: trustme.CA, write: Callable[[str, object], str]) -> None:
    path = write("ca.pem", authority.cert_pem.bytes().decode())
    ready = ssl.create_default_context()

    assert explicit_config("https://api", verify=path).tls.ca_file == path
    assert explicit_config("https://api", verify=ready).tls.ssl_context() is ready


def test_the_default_namespace_can_be_given() -> None:
    assert explicit_config("https://api", namespace="shop").namespace == "shop"
    assert explicit_config("https://api").namespace == "default"
