"""Secrets are hidden in reprs, and so in tracebacks, logs and notebooks."""

from __future__ import annotations

import pytest

from dynkube.config import (
    BasicAuth,
    BearerToken,
    ClientCertificate,
    Credential,
    ExecCommand,
    TLSSettings,
    explicit_config,
)

SECRET = "s3cret"


@pytest.mark.parametrize(
    "shown",
    [
        Credential({"Authorization": f"Bearer {SECRET}"}, ClientCertificate(SECRET.encode(), SECRET.encode())),
        ClientCertificate(SECRET.encode(), SECRET.encode()),
        TLSSettings(certificate=ClientCertificate(SECRET.encode(), SECRET.encode())),
        BearerToken(SECRET),
        BasicAuth("dev", SECRET),
        ExecCommand(command="x", api_version="v1", args=(f"--secret={SECRET}",), env={"PASSWORD": SECRET}),
        explicit_config("https://api", token=SECRET, proxy_url=f"http://me:{SECRET}@proxy:3128"),
    ],
    ids=lambda shown: type(shown).__name__,
)
def test_a_repr_hides_secrets(shown: object) -> None:
    assert SECRET not in repr(shown)


def test_the_repr_of_a_config_has_server_and_source() -> None:
    shown = repr(explicit_config("https://api", token=SECRET, proxy_url=f"http://me:{SECRET}@proxy:3128"))

    for part in ("https://api", "BearerToken", "http://<hidden>@proxy:3128", "url="):
        assert part in shown
