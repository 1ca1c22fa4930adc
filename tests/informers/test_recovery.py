"""The next state of a reflector after each kind of failure."""

from __future__ import annotations

import pytest

from dynkube.errors import (
    APIError,
    ConnectFailed,
    CredentialError,
    DynkubeError,
    EndlessList,
    Status,
    StatusCause,
    UnreadableEvent,
)
from dynkube.informers._reflector.recovery import MOST_RECENT, Recovery, reason_of, recover
from dynkube.informers._reflector.transitions import (
    Confirming,
    Listing,
    ReflectorState,
    ResourceVersionRegressed,
    StreamCutShort,
    Streaming,
    StreamSilent,
    Watching,
)
from dynkube.meta import Added, Unstructured

STREAM, LIST, RELIST, WATCH = Streaming(), Listing(), Listing("7"), Watching("7")
CONFIRM = Confirming("7")


def api_error(code: int, reason: str = "", cause: str = "", message: str = "") -> APIError:
    causes = (StatusCause(reason=cause),) if cause else ()
    return APIError.from_status(Status(code, reason, message, causes=causes))


TOO_LARGE = api_error(504, "Timeout", cause="ResourceVersionTooLarge")
TOO_LARGE_BY_MESSAGE = api_error(504, "Timeout", message="Too large resource version: 9, current: 5")


@pytest.mark.parametrize(
    ("state", "exc", "streak", "expected"),
    [
        (WATCH, api_error(410, "Expired"), 0, Recovery(RELIST, immediate=True)),
        (WATCH, api_error(410, "Gone"), 1, Recovery(MOST_RECENT)),
        (RELIST, api_error(410, "Expired"), 0, Recovery(MOST_RECENT, immediate=True)),
        (RELIST, TOO_LARGE, 0, Recovery(MOST_RECENT, immediate=True)),
        (RELIST, TOO_LARGE_BY_MESSAGE, 2, Recovery(MOST_RECENT)),
        (STREAM, api_error(422, "Invalid"), 0, Recovery(LIST, immediate=True, stop_streaming=True)),
        (STREAM, api_error(400, "BadRequest"), 0, Recovery(LIST, immediate=True, stop_streaming=True)),
        (STREAM, StreamSilent("quiet"), 0, Recovery(LIST, immediate=True, stop_streaming=True)),
        (WATCH, StreamSilent("quiet"), 0, Recovery(WATCH, immediate=True)),
        (WATCH, StreamSilent("quiet"), 1, Recovery(MOST_RECENT)),
        (WATCH, StreamSilent("perhaps quiet", certain=False), 0, Recovery(CONFIRM, immediate=True)),
        (WATCH, StreamSilent("perhaps quiet", certain=False), 1, Recovery(CONFIRM)),
        (CONFIRM, ResourceVersionRegressed("5 after 7"), 0, Recovery(MOST_RECENT, immediate=True)),
        (CONFIRM, ConnectFailed("refused"), 9, Recovery(CONFIRM)),
        (CONFIRM, api_error(403, "Forbidden"), 0, Recovery(WATCH)),
        (CONFIRM, api_error(401, "Unauthorized"), 0, Recovery(RELIST)),
        (CONFIRM, api_error(404, "NotFound"), 0, Recovery(RELIST, missing=True)),
        (LIST, api_error(404, "NotFound"), 0, Recovery(LIST, missing=True)),
        (WATCH, api_error(404, "NotFound"), 3, Recovery(RELIST, missing=True)),
        (LIST, api_error(403, "Forbidden"), 0, Recovery(STREAM, forbidden=True)),
        (WATCH, api_error(403, "Forbidden"), 5, Recovery(RELIST)),
        (RELIST, api_error(401, "Unauthorized"), 0, Recovery(RELIST)),
        (STREAM, api_error(403, "Forbidden"), 0, Recovery(LIST, immediate=True)),
        (STREAM, api_error(403, "Forbidden"), 1, Recovery(LIST, known=True)),
        (STREAM, api_error(405, "MethodNotAllowed"), 1, Recovery(LIST)),
        (STREAM, api_error(404, "NotFound"), 5, Recovery(STREAM, missing=True)),
        (STREAM, api_error(500, "InternalError"), 2, Recovery(LIST)),
        (STREAM, ConnectFailed("refused"), 1, Recovery(STREAM)),
        (STREAM, ConnectFailed("refused"), 2, Recovery(LIST)),
        (WATCH, ConnectFailed("refused"), 9, Recovery(WATCH)),
        (LIST, ConnectFailed("refused"), 9, Recovery(LIST)),
        (WATCH, api_error(429, "TooManyRequests"), 0, Recovery(WATCH)),
        (WATCH, api_error(500, "InternalError"), 1, Recovery(WATCH)),
        (WATCH, api_error(500, "InternalError"), 2, Recovery(RELIST)),
        (WATCH, StreamCutShort("at once"), 0, Recovery(WATCH)),
        (WATCH, StreamCutShort("at once"), 1, Recovery(MOST_RECENT)),
        (WATCH, UnreadableEvent("not JSON"), 0, Recovery(MOST_RECENT)),
        (STREAM, UnreadableEvent("not JSON"), 1, Recovery(MOST_RECENT)),
        (WATCH, ResourceVersionRegressed("5 after 9"), 0, Recovery(MOST_RECENT, immediate=True)),
        (RELIST, ResourceVersionRegressed("5 after 9"), 1, Recovery(MOST_RECENT)),
        (LIST, EndlessList("the same token"), 0, Recovery(MOST_RECENT, immediate=True)),
        (LIST, EndlessList("too many pages"), 1, Recovery(MOST_RECENT)),
        (MOST_RECENT, EndlessList("too many bytes"), 1, Recovery(Listing(""))),
        (LIST, CredentialError("plugin failed"), 0, Recovery(LIST)),
        (MOST_RECENT, ConnectFailed("refused"), 0, Recovery(Listing(""))),
        (Streaming(Listing("")), api_error(403, "Forbidden"), 0, Recovery(Listing(""), immediate=True)),
        (Watching(""), api_error(410, "Expired"), 0, Recovery(LIST, immediate=True)),
    ],
)
def test_each_failure_leads_to_one_next_state(
    state: ReflectorState, exc: DynkubeError, streak: int, expected: Recovery
) -> None:
    assert recover(state, exc, streak) == expected


def test_a_stream_that_failed_starts_again_without_its_objects() -> None:
    state = Streaming()
    state.receive([Added(Unstructured({"metadata": {"name": "a"}}))])

    again = recover(state, ConnectFailed("reset"), 0).state

    assert isinstance(again, Streaming)
    assert (len(state.objects), len(again.objects)) == (1, 0)


@pytest.mark.parametrize("state", [STREAM, LIST, RELIST, WATCH, CONFIRM, MOST_RECENT], ids=repr)
@pytest.mark.parametrize("streak", [1, 2, 10])
@pytest.mark.parametrize("code", [400, 403, 404, 410, 422, 429, 500, 503, 504])
def test_after_repeated_failures_only_the_end_of_streaming_lists_has_no_pause(
    state: ReflectorState, streak: int, code: int
) -> None:
    recovery = recover(state, api_error(code), streak)

    assert not recovery.immediate or recovery.stop_streaming


@pytest.mark.parametrize(
    ("exc", "reason"),
    [(api_error(403, "Forbidden"), "Forbidden"), (api_error(418), "APIError"), (ConnectFailed("x"), "ConnectFailed")],
)
def test_a_failure_has_a_one_word_reason(exc: DynkubeError, reason: str) -> None:
    assert reason_of(exc) == reason
