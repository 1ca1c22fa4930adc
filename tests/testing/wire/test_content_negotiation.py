"""Content negotiation by the Accept header."""

from __future__ import annotations

import pytest

from dynkube.errors import NotAcceptable
from dynkube_testing._wire.http import HTTPRequest
from dynkube_testing._wire.layouts import JSON, YAML, Pretty
from dynkube_testing._wire.negotiate import (
    DISCOVERY_V2,
    accepts_aggregated_discovery,
    negotiate,
    negotiate_error,
)

_V2BETA1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_METADATA = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_PROTOBUF = "application/vnd.kubernetes.protobuf"


def request(accept: str | None = None, *, user_agent: str = "", **params: str) -> HTTPRequest:
    headers = {"user-agent": user_agent}
    if accept is not None:
        headers["accept"] = accept
    return HTTPRequest(
        method="GET", path="/api/v1/pods", segments=("api", "v1", "pods"), params=params, headers=headers
    )


@pytest.mark.parametrize("accept", ["text/html", "application/*", "APPLICATION/JSON", "application/cbor", _PROTOBUF])
def test_built_in_resources_require_an_exact_media_type(accept: str) -> None:
    with pytest.raises(NotAcceptable) as caught:
        negotiate(request(accept))

    assert caught.value.status.message == (
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"
    )


@pytest.mark.parametrize(
    ("accept", "layout"),
    [("application/yaml", YAML), (f"{_TABLE},application/json", JSON), (_TABLE, Pretty), ("text/html", Pretty)],
)
def test_an_error_response_never_fails_content_negotiation(accept: str, layout: type) -> None:
    assert isinstance(negotiate_error(request(accept)), layout)


@pytest.mark.parametrize(
    ("accept", "aggregated"),
    [
        (f"{DISCOVERY_V2},{_V2BETA1},application/json", True),
        (f"{_V2BETA1},{DISCOVERY_V2},application/json", True),
        (f"application/json,{DISCOVERY_V2}", True),
        (f"{_V2BETA1},application/json", False),
        ("application/json", False),
        ("*/*", False),
        (None, False),
    ],
)
def test_aggregated_discovery_is_sent_if_version_v2_is_accepted(accept: str | None, aggregated: bool) -> None:
    assert accepts_aggregated_discovery(accept) is aggregated
