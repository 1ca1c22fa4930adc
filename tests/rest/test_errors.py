"""Each error response becomes an exception of its class."""

from __future__ import annotations

import json

import httpx2
import pytest

from dynkube.config import BearerToken, ClientConfig
from dynkube.errors import (
    AlreadyExists,
    APIError,
    ApplyConflict,
    BadRequest,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerError,
    ServiceUnavailable,
    TooManyRequests,
)
from dynkube.rest._messages import Request
from tests.rest.wire import MakeClient, Wire, chunks, status

GET = Request(method="GET", path="/api/v1/pods/web")


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", BadRequest),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Gone),
        (410, "Gone", Gone),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (507, "", ServerError),
        (418, "", APIError),
    ],
)
async def test_a_status_is_raised_as_the_class_of_its_reason(
    make_client: MakeClient, code: int, reason: str, expected: type[APIError]
) -> None:
    wire = Wire(httpx2.Response(code, content=status(code, reason, "the message")))

    with pytest.raises(expected, match=r"the message.*\[GET /api/v1/pods/web\]") as caught:
        await make_client(wire).request(GET)

    assert type(caught.value) is expected
    assert caught.value.code == code


async def test_causes_of_a_status_are_kept(make_client: MakeClient) -> None:
    causes = [{"reason": "FieldManagerConflict", "field": ".spec.replicas", "message": "owned by kubectl"}]
    wire = Wire(httpx2.Response(409, content=status(409, "Conflict", "conflict", details={"causes": causes})))

    with pytest.raises(ApplyConflict, match=r"\.spec\.replicas: owned by kubectl") as caught:
        await make_client(wire).request(GET)

    assert caught.value.causes[0].field == ".spec.replicas"


@pytest.mark.parametrize(
    ("code", "content_type", "body", "expected", "message"),
    [
        (404, "text/plain", b"404 page not found\n", NotFound, "404 page not found"),
        (502, "text/html", b"<html><head><title>502 Bad Gateway</title></head><body><h1>Oh</h1>nginx</body></html>",
         ServerError, "an HTML page instead of a Status, probably from a proxy .*'502 Bad Gateway: Oh nginx'"),
        (503, "", b"", ServiceUnavailable, "the response has no body"),
        (403, "application/json", b'{"error": "denied by gateway"}', Forbidden, "denied by gateway"),
        (500, "text/plain", b"a\x1b[31mb\x00\r\nc\xff", APIError, r"a\\x1b\[31mb\\x00 c\ufffd"),
        (500, "application/json", b"[" * 100_000, APIError, r"\[{200}… \(65,336 characters more\)"),
        (500, "application/json", b'{"kind":"Status"', APIError, '{"kind":"Status"'),
        (500, "text/plain", "é".encode() * 300, APIError, r"é{200}… \(100 characters more\)"),
    ],
)  # fmt: skip
async def test_a_body_that_is_not_a_status_gives_the_class_of_the_code_and_an_excerpt(
    make_client: MakeClient, code: int, content_type: str, body: bytes, expected: type[APIError], message: str
) -> None:
    wire = Wire(httpx2.Response(code, headers={"Content-Type": content_type}, content=body))

    with pytest.raises(expected, match=message) as caught:
        await make_client(wire).request(GET)

    assert caught.value.code == code
    assert len(str(caught.value)) < 500


async def test_a_token_in_the_body_is_removed_from_the_excerpt(make_client: MakeClient) -> None:
    config = ClientConfig(server="https://api.example", credentials=BearerToken("t0k3n-s3cret"))
    wire = Wire(httpx2.Response(400, content=b"bad request: Authorization: Bearer t0k3n-s3cret"))

    with pytest.raises(BadRequest, match="Bearer <hidden>") as caught:
        await make_client(wire, config=config).request(GET)

    assert "s3cret" not in repr(caught.value)


@pytest.mark.scenario("F23")
async def test_retry_after_comes_from_the_header_if_the_status_has_none(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(500, headers={"Retry-After": "7"}, content=status(500, "InternalError")))

    with pytest.raises(APIError) as caught:
        await make_client(wire).request(Request(method="POST", path="/api", body=b""))

    assert caught.value.retry_after == 7


async def test_an_error_whose_body_is_truncated_is_still_raised(make_client: MakeClient) -> None:
    wire = Wire(httpx2.Response(403, content=chunks(b"no entr", httpx2.ReadError(""))))

    with pytest.raises(Forbidden, match="no entr"):
        await make_client(wire).request(GET)


async def test_a_status_with_thousands_of_causes_is_read_to_its_end(make_client: MakeClient) -> None:
    causes = [
        {"reason": "FieldManagerConflict", "message": 'conflict with "other"', "field": f".data.key-number-{index}"}
        for index in range(12_000)
    ]
    conflict = {"kind": "Status", "reason": "Conflict", "code": 409, "details": {"causes": causes}}
    content = json.dumps(conflict).encode()
    assert len(content) > 1 << 20
    wire = Wire(httpx2.Response(409, headers={"content-type": "application/json"}, content=content))

    with pytest.raises(ApplyConflict) as caught:
        await make_client(wire).request(GET)

    assert len(caught.value.conflicts) == 12_000


async def test_at_most_a_megabyte_of_an_endless_error_page_is_read(make_client: MakeClient) -> None:
    read = 0

    async def endless() -> object:
        nonlocal read
        while True:
            read += 1
            yield b"x" * 65536

    wire = Wire(httpx2.Response(500, content=endless()))  # type: ignore[arg-type]  # an async generator is one

    with pytest.raises(APIError, match=r"x{200}… \("):
        await make_client(wire).request(GET)

    assert read <= 17
