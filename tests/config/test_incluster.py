"""The configuration of a pod."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
import trustme

from dynkube.config import load_config, load_incluster
from dynkube.errors import ConfigError, CredentialError


@pytest.fixture
def pod(authority: trustme.CA, write: Callable[[str, object], str], monkeypatch: pytest.MonkeyPatch) -> Path:
    write("sa/token", "t1\n")
    write("sa/namespace", "shop\n")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    return Path(write("sa/ca.crt", authority.cert_pem.bytes().decode())).parent


async def test_server_namespace_and_token_come_from_the_pod(pod: Path) -> None:
    config = load_incluster(directory=pod)

    assert config.server == "https://10.0.0.1:443"
    assert config.namespace == "shop"
    assert config.tls.ca_file == str(pod / "ca.crt")
    assert (await config.credentials.current()).headers == {"Authorization": "Bearer t1"}


def test_an_ipv6_address_is_bracketed(pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")

    assert load_incluster(directory=pod).server == "https://[fd00::1]:443"


def test_the_namespace_of_the_environment_takes_precedence(pod: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (pod / "namespace").unlink()
    assert load_incluster(directory=pod).namespace == "default"

    monkeypatch.setenv("POD_NAMESPACE", "mine")

    assert load_incluster(directory=pod).namespace == "mine"


def test_outside_a_pod_it_raises() -> None:
    with pytest.raises(ConfigError, match="KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set"):
        load_incluster()


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("token", CredentialError, "automountServiceAccountToken"),
        ("ca.crt", ConfigError, r"in-cluster: the certificate authority .*/ca\.crt cannot be read"),
    ],
)
def test_the_error_for_a_file_that_is_not_mounted_names_it(
    pod: Path, name: str, error: type[Exception], message: str
) -> None:
    (pod / name).unlink()

    with pytest.raises(error, match=message):
        load_incluster(directory=pod)


def test_the_error_for_an_expired_ca_names_it(pod: Path) -> None:
    with pytest.raises(ConfigError, match=r"in-cluster: .*ca\.crt expired at"):
        load_incluster(directory=pod, now=lambda: datetime(9000, 1, 1, tzinfo=UTC))


def test_without_a_kubeconfig_the_in_cluster_configuration_is_used(pod: Path) -> None:
    with pytest.raises(CredentialError, match="in-cluster"):  # this machine has no service account
        load_config()


def test_a_kubeconfig_takes_precedence_over_the_pod(
    pod: Path, write: Callable[[str, object], str], document: Callable[[], object]
) -> None:
    write("home/.kube/config", document())

    assert load_config().server == "https://api.example:6443"
