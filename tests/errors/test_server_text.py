"""Text from servers in errors, states and logs: length is limited, control characters are escaped."""

from __future__ import annotations

import json
import logging

import httpx2
import pytest
import trio

import dynkube
from dynkube._logs import get_logger
from dynkube._server_text import sanitized
from dynkube.errors import APIError, ProtocolError, Status, StatusCause

EVIL = "x\r\n2026-01-01 CRITICAL forged \x1b[31m\x1b]0;pwn\x07\u202e"
SHOWN = r"x\r\n2026-01-01 CRITICAL forged \x1b[31m\x1b]0;pwn\x07\u202e"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (EVIL, SHOWN),
        ("größe\xa0\u2003\tx", r"größe  \tx"),
        ("\ud800\x00\x85\u2028", r"\ud800\x00\x85\u2028"),
        ("x" * 2001, "x" * 2000 + "… (1 characters more)"),
    ],
)
def test_text_becomes_one_line_of_limited_length_with_visible_escapes(text: str, expected: str) -> None:
    assert sanitized(text) == expected
    assert sanitized("a\nb\tc\r", lines=True) == "a\nb\tc\\r"


def test_an_error_shortens_a_long_message_and_its_status_keeps_all_of_it() -> None:
    error = APIError.from_status(Status(403, "R" * 1000, "m" * 100_000, causes=(StatusCause("f", "r", "c"),) * 1000))

    assert len(str(error)) < 10_000
    assert "… (92,000 characters more)" in str(error)
    assert "and 950 more" in str(error)
    assert len(error.status.message) == 100_000


def test_a_status_keeps_a_million_characters_of_a_message() -> None:
    status = Status.from_mapping({"message": "word " * 1_000_000})

    assert len(status.message) < 1.1 * (1 << 20)
    assert status.message.endswith("word … (truncated, 5,000,000 characters)")


def test_log_records_are_single_lines_of_limited_length(caplog: pytest.LogCaptureFixture) -> None:
    get_logger("dynkube.rest").warning("it said %s, %d times", ProtocolError(EVIL), 3)
    get_logger("dynkube.rest").warning("%s", "x" * 100_000)

    assert caplog.messages[0] == f"it said {SHOWN}, 3 times"
    assert len(caplog.messages[1]) < 2100


class Refusing(httpx2.AsyncBaseTransport):
    """Responds to every request with a 403 and a long message."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = {"kind": "Status", "status": "Failure", "code": 403, "reason": EVIL, "message": EVIL * 1000}
        return httpx2.Response(403, headers={"Warning": '299 - "w\x1b[31m"'}, content=json.dumps(body).encode())


async def test_the_message_of_a_server_is_one_line_in_a_state_and_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="dynkube")
    async with (
        dynkube.connect(url="https://api.example", transport=Refusing()) as client,
        client.informer("pods.v1") as pods,
    ):
        await trio.sleep(60)
        state, last_error = pods.state, client.statistics().last_error

    assert SHOWN in state.message
    assert len(state.message) < 2100
    texts = [state.message, state.reason, last_error]
    messages = [record.getMessage() for record in caplog.records if record.name.startswith("dynkube")]
    assert not [text for text in [*texts, *messages] if not text.isprintable()]
