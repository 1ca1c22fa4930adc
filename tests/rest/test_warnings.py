"""Warnings of the server."""

from __future__ import annotations

import logging

import httpx2
import pytest

from dynkube.rest._messages import Request
from dynkube.rest._warnings import parse_warnings
from tests.rest.wire import MakeClient, Wire

GET = Request(method="GET", path="/api/v1/pods")


@pytest.mark.parametrize(
    ("fields", "texts"),
    [
        ([], ()),
        (['299 - "v1beta1 is deprecated"'], ("v1beta1 is deprecated",)),
        (['299 - "a, \\"b\\" \\\\ c"'], ('a, "b" \\ c',)),
        (['299 - "one", 299 kube "two" "Sat, 21 Nov 2026 12:00:00 GMT"'], ("one", "two")),
        (['299 - "one"', '299 - "one"', '299 - "two"'], ("one", "two")),
        (['110 - "response is stale", 299 - "two"'], ("two",)),
        (['299 - "one", 299 - "cut'], ("one",)),
        (["nonsense"], ()),
    ],
)
def test_warnings_with_code_299_are_read_from_all_header_fields(fields: list[str], texts: tuple[str, ...]) -> None:
    assert parse_warnings(fields) == texts


async def test_warnings_are_part_of_the_response_and_passed_to_the_callback(make_client: MakeClient) -> None:
    warnings: list[str] = []
    headers = [("Warning", '299 - "old"'), ("Warning", '299 - "older"')]
    client = make_client(Wire(httpx2.Response(200, headers=headers)), on_warning=warnings.append)

    response = await client.request(GET)

    assert response.warnings == ("old", "older")
    assert warnings == ["old", "older"]


async def test_without_a_callback_warnings_are_logged(
    make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    wire = Wire(httpx2.Response(200, headers={"Warning": '299 - "old"'}))

    await make_client(wire).request(GET)

    assert ("dynkube.rest", logging.WARNING, "API server warning: old") in caplog.record_tuples


async def test_logged_warnings_contain_no_control_characters(
    make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    wire = Wire(httpx2.Response(200, headers=[(b"Warning", b'299 - "ol\x9b31md"')]))

    await make_client(wire).request(GET)

    assert "API server warning: ol\\x9b31md" in caplog.messages


async def test_an_exception_in_the_callback_is_logged_and_the_response_returned(
    make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(text: str) -> None:
        raise RuntimeError(text)

    wire = Wire(httpx2.Response(201, headers={"Warning": '299 - "old"'}))

    response = await make_client(wire, on_warning=broken).request(Request(method="POST", path="/api/v1/pods", body=b""))

    assert response.status == 201
    assert "on_warning raised" in caplog.text
