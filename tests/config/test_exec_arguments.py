"""Arguments of plugins that the operating system cannot pass."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from dynkube.config import ExecCommand, ExecPlugin
from dynkube.errors import ConfigError, CredentialError

API = "client.authentication.k8s.io/v1"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"command": "a\0b"}, "command"),
        ({"command": "a", "args": ("x", "a\0b")}, "args"),
        ({"command": "a", "env": {"A": "a\0b"}}, "env"),
        ({"command": "a", "env": {"a\0b": "A"}}, "env"),
    ],
)
def test_a_nul_character_is_a_config_error(given: dict[str, Any], field: str) -> None:
    with pytest.raises(ConfigError, match=f"users.u.exec: {field} contains a NUL character"):
        ExecCommand(**given, api_version=API, where="users.u.exec")


@pytest.mark.real_time
async def test_an_argument_that_cannot_be_encoded_is_a_credential_error() -> None:
    plugin = ExecPlugin(ExecCommand(command=sys.executable, args=("\ud800",), api_version=API))

    with pytest.raises(CredentialError, match=r"failed to start: .*surrogates not allowed"):
        await plugin.current()


def cyclic() -> dict[str, Any]:
    config: dict[str, Any] = {}
    config["itself"] = config
    return config


@pytest.mark.parametrize("config", [{(1, 2): "a key of YAML"}, cyclic()], ids=["key", "cyclic"])
async def test_cluster_info_that_is_not_json_is_a_credential_error(config: dict[Any, Any]) -> None:
    plugin = ExecPlugin(ExecCommand(command=sys.executable, api_version=API, cluster={"config": config}))

    with pytest.raises(CredentialError, match=r"cannot receive the cluster info: .* cannot be encoded as JSON"):
        await plugin.current()
