"""The effect of the fields of a context, a cluster and a user."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trio.testing
import trustme

from dynkube.config import Anonymous, ClientCertificate, ExecPlugin, Impersonation, load_config
from dynkube.errors import CredentialError

Document = Callable[..., dict[str, object]]
EXEC = {"command": "p", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}


async def headers(user: object, document: Document) -> dict[str, str]:
    config = load_config(kubeconfig=document(user))
    return dict((await config.credentials.current()).headers)


@pytest.mark.parametrize(
    ("user", "authorization"),
    [
        ({"token": "t"}, "Bearer t"),
        ({"token": "t\n"}, "Bearer t"),
        ({"username": "dev", "password": "pw"}, "Basic ZGV2OnB3"),
        ({"token": "t", "exec": EXEC}, "Bearer t"),  # client-go: a token takes precedence over a plugin
        ({"auth-provider": {"name": "oidc", "config": {"id-token": "opaque"}}}, "Bearer opaque"),
    ],
)
async def test_a_user_gives_one_authorization_header(user: object, authorization: str, document: Document) -> None:
    assert await headers(user, document) == {"Authorization": authorization}


@pytest.mark.parametrize("user", [None, {}, {"token": ""}])
async def test_a_user_without_credentials_is_anonymous(user: object, document: Document) -> None:
    assert await headers(user, document) == {}


def test_a_context_may_have_no_user(document: Document) -> None:
    merged = {**document(), "contexts": [{"name": "ctx", "context": {"cluster": "c", "namespace": "shop"}}]}

    config = load_config(kubeconfig=merged)

    assert isinstance(config.credentials, Anonymous)
    assert config.namespace == "shop"


async def test_a_token_file_takes_precedence_over_a_token(document: Document, write: Callable[..., str]) -> None:
    assert await headers({"token": "old", "tokenFile": write("token", "new\n")}, document) == {
        "Authorization": "Bearer new"
    }
    assert await headers({"token": "old", "tokenFile": "/nowhere"}, document) == {"Authorization": "Bearer old"}


async def test_a_certificate_is_used_together_with_a_token(
    document: Document, issue: Callable[[datetime], ClientCertificate], clock: Any
) -> None:
    pair = issue(clock() + timedelta(hours=1))
    data = {"client-certificate": pair.certificate_pem, "client-key": pair.key_pem}
    user = {f"{name}-data": base64.b64encode(pem).decode() for name, pem in data.items()}

    credentials = load_config(kubeconfig=document({**user, "token": "t"}), now=clock).credentials

    credential = await credentials.current()
    assert credential.certificate == pair
    assert credential.headers == {"Authorization": "Bearer t"}
    clock.advance(hours=1)
    with pytest.raises(CredentialError, match=r"client-certificate-data: the client certificate expired"):
        await credentials.current()


async def test_certificate_data_may_be_combined_with_a_key_file(
    document: Document, issue: Callable[[datetime], ClientCertificate], clock: Any, write: Callable[..., str]
) -> None:
    pair = issue(clock() + timedelta(hours=1))
    user = {
        "client-certificate-data": base64.encodebytes(pair.certificate_pem).decode(),
        "client-key": write("key.pem", pair.key_pem.decode()),
    }

    credentials = load_config(kubeconfig=document(user), now=clock).credentials

    assert (await credentials.current()).certificate == pair


def test_impersonation_is_read(document: Document) -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["dev"], "as-user-extra": {"scopes": ["a", "b"]}}

    assert load_config(kubeconfig=document(user)).impersonate == Impersonation(
        user="jane", uid="7", groups=["dev"], extra={"scopes": ["a", "b"]}
    )


def test_server_name_proxy_and_verification_are_read(document: Document) -> None:
    fields = {"tls-server-name": "kubernetes", "proxy-url": "socks5://proxy:1080", "insecure-skip-tls-verify": True}

    config = load_config(kubeconfig=document(**fields))

    assert config.tls.server_name == "kubernetes"
    assert config.proxy_url == "socks5://proxy:1080"
    assert config.tls.verify is False


@pytest.mark.parametrize(
    ("fields", "server"), [({}, "http://h:1"), ({"insecure-skip-tls-verify": True}, "https://h:1")]
)
def test_a_server_without_scheme_gets_the_same_one_as_in_client_go(
    fields: dict[str, object], server: str, document: Document
) -> None:
    assert load_config(kubeconfig=document(server="h:1", **fields)).server == server


@pytest.mark.real_time
async def test_a_plugin_is_found_relative_to_the_file_and_gets_the_cluster(
    document: Document, write: Callable[..., str], authority: trustme.CA
) -> None:
    plugin = write(
        "bin/plugin",
        f"#!{sys.executable} -IS\nimport json, os\n"
        "info = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "info['status'] = {'token': json.dumps(info['spec']).encode().hex()}\nprint(json.dumps(info))\n",
    )
    os.chmod(plugin, 0o755)  # noqa: PTH101 - a Path's chmod counts as blocking
    write("ca.pem", authority.cert_pem.bytes().decode())
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    user = {"exec": {**EXEC, "command": "./bin/plugin", "provideClusterInfo": True}}
    cluster = {"certificate-authority": "ca.pem", "extensions": [extension], "tls-server-name": "kubernetes"}

    config = load_config(kubeconfig=write("config", document(user, **cluster)))

    assert isinstance(config.credentials, ExecPlugin)
    token = (await config.credentials.current()).headers["Authorization"].removeprefix("Bearer ")
    assert json.loads(bytes.fromhex(token))["cluster"] == {
        "server": "https://api.example:6443",
        "tls-server-name": "kubernetes",
        "certificate-authority-data": base64.b64encode(authority.cert_pem.bytes()).decode(),
        "config": {"audience": "x"},
    }


@pytest.mark.parametrize("flags", [{}, {"insecure-skip-tls-verify": True}, {"disable-compression": True}])
def test_a_plugin_gets_the_flags_of_the_cluster_that_are_set(flags: dict[str, bool], document: Document) -> None:
    unset = {"insecure-skip-tls-verify": False, "disable-compression": False}
    user = {"exec": {**EXEC, "command": "p", "provideClusterInfo": True}}

    plugin = load_config(kubeconfig=document(user, **{**unset, **flags})).credentials

    assert isinstance(plugin, ExecPlugin)
    assert plugin._command.cluster == {"server": "https://api.example:6443", **flags}


@pytest.mark.parametrize(("command", "found"), [("p", "p"), ("bin/p", "{folder}/bin/p"), ("/p", "/p")])
def test_only_a_command_with_a_slash_is_relative_to_the_file(
    command: str, found: str, document: Document, write: Callable[..., str]
) -> None:
    file = write("config", document({"exec": {**EXEC, "command": command}}))

    plugin = load_config(kubeconfig=file).credentials

    assert isinstance(plugin, ExecPlugin)
    assert plugin._command.command == found.format(folder=Path(file).parent)


async def test_an_id_token_is_used_until_it_expires(document: Document, clock: Any) -> None:
    claims = json.dumps({"exp": int((clock() + timedelta(minutes=5)).timestamp())}).encode()
    token = f"e30.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.sig"
    user = {"auth-provider": {"name": "oidc", "config": {"id-token": token}}}
    credentials = load_config(kubeconfig=document(user), now=clock).credentials

    with trio.testing.assert_checkpoints():
        first = await credentials.current()
    assert first.headers == {"Authorization": f"Bearer {token}"}
    with trio.testing.assert_checkpoints():
        assert await credentials.refresh(first) is first

    clock.advance(minutes=5)
    with pytest.raises(CredentialError, match=r"config\.id-token expired at .*run any kubectl command"):
        await credentials.current()
