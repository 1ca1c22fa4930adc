"""Each client warns once about an insecure configuration, with its source; secure ones cause no warning."""

from __future__ import annotations

import ssl
import warnings

import pytest

import dynkube
from dynkube.config import BearerToken, ClientConfig, InsecureTLSWarning, TLSSettings
from dynkube.rest._client import RESTClient

TOKEN = BearerToken("t")
SOURCE = "kubeconfig /home/me/config, context 'kind'"


def unchecked() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (ClientConfig(server="https://a", tls=TLSSettings(verify=False), source=SOURCE), "insecure-skip-tls-verify"),
        (ClientConfig(server="https://a", tls=TLSSettings(context=unchecked()), source=SOURCE), "CERT_NONE"),
        (ClientConfig(server="http://a", credentials=TOKEN, source=SOURCE), "without TLS"),
    ],
)
def test_an_insecure_configuration_is_warned_about_with_its_source(config: ClientConfig, message: str) -> None:
    with pytest.warns(InsecureTLSWarning, match=message) as caught:
        RESTClient(config)

    (warning,) = caught
    assert "kubeconfig /home/me/config, context 'kind'" in str(warning.message)
    assert warning.filename == __file__  # and not within the library


@pytest.mark.parametrize(
    "config",
    [
        ClientConfig(server="https://a", credentials=TOKEN),
        ClientConfig(server="https://a", credentials=TOKEN, tls=TLSSettings(context=ssl.create_default_context())),
        ClientConfig(server="http://a"),
        ClientConfig(server="http://127.0.0.1:8001", credentials=TOKEN),
        ClientConfig(server="http://[::1]:8001", credentials=TOKEN),
        ClientConfig(server="http://localhost:8001", credentials=TOKEN),
    ],
)
def test_a_secure_or_local_configuration_causes_no_warning(config: ClientConfig) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RESTClient(config)


async def test_each_client_warns_once_on_entering_with_file_and_context(tmp_path: object) -> None:
    cluster = {"server": "https://api.example", "insecure-skip-tls-verify": True}
    kubeconfig = {
        "current-context": "dev",
        "contexts": [{"name": "dev", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
    }

    for _ in range(2):
        with pytest.warns(dynkube.InsecureTLSWarning, match="context 'dev'") as caught:
            async with dynkube.connect(kubeconfig=kubeconfig):
                pass
        assert [warning.filename for warning in caught] == [__file__]


async def test_the_warning_may_be_turned_into_an_error() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", InsecureTLSWarning)
        with pytest.raises(InsecureTLSWarning):
            async with dynkube.connect(url="https://api.example", verify=False):
                pass
