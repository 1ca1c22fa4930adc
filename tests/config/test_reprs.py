"""Nothing secret is shown by repr, and so by no traceback, log or notebook."""

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
def test_a_repr_shows_no_secret(shown: object) -> None:
    assert SECRET not in repr(shown)


def test_a_config_shows_where_it_leads_and_where_it_comes_from() -> None:
    shown = repr(explicit_config("https://api", token=SECRET, proxy_url=f"http://me:{SECRET}@proxy:3128"))

    for part in ("https://api", "BearerToken", "http://<hidden>@proxy:3128", "url="):
        assert part in shown
