"""The Accept header decides the form of an answer and how it is written."""

from __future__ import annotations

import pytest

from dynkube.errors import NotAcceptable
from dynkube.testing._wire.http import HTTPRequest
from dynkube.testing._wire.layouts import JSON, YAML, Pretty
from dynkube.testing._wire.negotiate import (
    DISCOVERY_V2,
    accepts_aggregated_discovery,
    accepts_gzip,
    negotiate,
    negotiate_error,
    negotiate_stream,
)

_V2BETA1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_METADATA = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_PROTOBUF = "application/vnd.kubernetes.protobuf"


def asking(accept: str | None = None, *, user_agent: str = "", **params: str) -> HTTPRequest:
    headers = {"user-agent": user_agent}
    if accept is not None:
        headers["accept"] = accept
    return HTTPRequest(
        method="GET", path="/api/v1/pods", segments=("api", "v1", "pods"), params=params, headers=headers
    )


@pytest.mark.parametrize(
    ("accept", "layout", "conversion"),
    [
        (None, JSON, None),
        ("", JSON, None),
        ("*/*", JSON, None),
        ("application/json", JSON, None),
        ("application/json; charset=utf-8", JSON, None),
        ("application/json;stream=watch", JSON, None),
        ("application/json;q=0", JSON, None),
        ("application/json;as=", JSON, None),
        ("application/yaml", YAML, None),
        ("application/json;q=0.5, application/yaml", YAML, None),
        ("*/*, application/yaml", YAML, None),
        ("application/yaml;q=0.1, */*", JSON, None),
        ("text/html, */*;q=0.1", JSON, None),
        (f"{_PROTOBUF},application/json", JSON, None),
        (f"{_TABLE},application/json", JSON, "Table"),
        (f"application/json,{_TABLE}", JSON, None),
        (f"{_TABLE};q=0.5,application/yaml", YAML, None),
        ("application/yaml;as=Table;v=v1;g=meta.k8s.io", YAML, "Table"),
        ("*/*;as=Table;v=v1beta1;g=meta.k8s.io", JSON, "Table"),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", JSON, None),
        (f"{_PROTOBUF};{_METADATA},application/json;{_METADATA},application/json", JSON, "PartialObjectMetadata"),
    ],
)
def test_the_best_form_that_can_be_produced_is_chosen(accept: str | None, layout: type, conversion: str | None) -> None:
    wanted = negotiate(asking(accept))

    assert (type(wanted.layout), wanted.conversion) == (layout, conversion)


@pytest.mark.parametrize(
    "accept",
    [
        "application/json;as=Foo;v=v1;g=meta.k8s.io",
        "application/json;as=Table",
        "application/json;as=Table;v=v2;g=meta.k8s.io",
        "application/json;stream=foo",
    ],
)
def test_a_form_that_nobody_has_is_a_406_naming_what_can_be_had(accept: str) -> None:
    with pytest.raises(NotAcceptable) as caught:
        negotiate(asking(accept))

    assert caught.value.status.message == (
        "only the following media types are accepted: application/json, application/yaml"
    )


@pytest.mark.parametrize("accept", ["text/html", "application/*", "APPLICATION/JSON", "application/cbor", _PROTOBUF])
def test_a_built_in_resource_is_had_only_by_the_exact_media_type(accept: str) -> None:
    with pytest.raises(NotAcceptable) as caught:
        negotiate(asking(accept))

    assert caught.value.status.message == (
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"
    )


def test_a_custom_resource_is_found_by_a_wildcard_too() -> None:
    assert isinstance(negotiate(asking("application/*"), custom=True).layout, JSON)
    with pytest.raises(NotAcceptable, match="only the following media types are accepted"):
        negotiate(asking("text/html"), custom=True)


def test_only_json_can_be_streamed() -> None:
    assert negotiate_stream(asking(_TABLE)).conversion == "Table"
    with pytest.raises(NotAcceptable, match=r"media types are accepted: application/json;stream=watch$"):
        negotiate_stream(asking("application/yaml,application/json", watch="1"))


@pytest.mark.parametrize(
    ("request_", "pretty"),
    [
        (asking(), False),
        (asking(pretty="true"), True),
        (asking("application/json;pretty=1"), True),
        (asking(user_agent="curl/8.1"), True),
        (asking(user_agent="curl/8.1", pretty="false"), False),
        (asking("application/yaml", pretty="true"), False),
    ],
)
def test_json_is_indented_for_people(request_: HTTPRequest, pretty: bool) -> None:
    assert isinstance(negotiate(request_).layout, Pretty) is pretty


@pytest.mark.parametrize(
    ("accept", "layout"),
    [("application/yaml", YAML), (f"{_TABLE},application/json", JSON), (_TABLE, Pretty), ("text/html", Pretty)],
)
def test_a_status_is_written_in_any_case(accept: str, layout: type) -> None:
    assert isinstance(negotiate_error(asking(accept)), layout)


@pytest.mark.parametrize(("header", "expected"), [("deflate, gzip", True), ("gzip;q=1.0", False), ("", False)])
def test_gzip_is_taken_by_those_who_name_it(header: str, expected: bool) -> None:
    request = HTTPRequest(method="GET", path="/", segments=(), headers={"accept-encoding": header})

    assert accepts_gzip(request) is expected


@pytest.mark.parametrize(
    ("accept", "aggregated"),
    [
        (f"{DISCOVERY_V2},{_V2BETA1},application/json", True),
        (f"{_V2BETA1},{DISCOVERY_V2},application/json", True),
        (f"application/json,{DISCOVERY_V2}", False),
        (f"{_V2BETA1},application/json", False),
        ("application/json", False),
        ("*/*", False),
        (None, False),
    ],
)
def test_aggregated_discovery_is_for_those_who_ask_for_it_first(accept: str | None, aggregated: bool) -> None:
    assert accepts_aggregated_discovery(accept) is aggregated
